from collections import Counter

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection

from bagwise.bags import Bags
from bagwise.datasets import make_slide_bags
from bagwise.plot import heatmap
from bagwise.plot.heatmap import color_limits, color_scale, instance_colors, patch_side, place_parts


@pytest.fixture(scope="module")
def slides():
    bags, _ = make_slide_bags(n_bags=3, bag_size=(20, 30), n_features=2)
    return bags, np.linspace(-2, 1, bags.n_instances)


def squares_of(figure):
    return [c for c in figure.axes[0].collections if isinstance(c, PolyCollection)]


def edges_of(figure):
    lines = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
    return {tuple(path.vertices.ravel().tolist()) for line in lines for path in line.get_paths()}


def edges_around(corners, side=256):
    """Return the edges of squares that belong to one of them only."""
    count = Counter()
    for x, y in corners.tolist():
        right, bottom = x + side, y + side
        count.update([(x, y, right, y), (x, bottom, right, bottom)])
        count.update([(x, y, x, bottom), (right, y, right, bottom)])
    return {edge for edge, n in count.items() if n == 1}


def test_every_patch_is_a_square_at_its_place(slides):
    bags, scores = slides
    rows = slice(bags.offsets[1], bags.offsets[2])
    figure = heatmap(bags, scores, "slide-001", top=4)
    (drawn,) = squares_of(figure)
    corners = np.array([path.vertices[0] for path in drawn.get_paths()])
    assert np.array_equal(corners, bags.coords[rows])
    assert np.ptp(drawn.get_paths()[0].vertices[:, 0]) == 256
    assert np.array_equal(drawn.get_array(), scores[rows])
    best = bags.coords[rows][np.argsort(-scores[rows])[:4]]
    assert edges_of(figure) == edges_around(best)


def test_white_is_zero_and_bags_share_their_colors(slides):
    bags, scores = slides
    one, other = (squares_of(heatmap(bags, scores, i))[0] for i in (0, 2))
    assert one.norm(0.0) == 0.5
    assert (one.norm.vmin, one.norm.vmax) == (other.norm.vmin, other.norm.vmax)
    for given in ([-3.0, -1.0], [1.0, 2.0], [0.0, 0.0]):
        low, high = color_limits(np.array(given))
        assert low < 0 < high


def test_the_picture_lies_below_at_its_size(slides):
    bags, scores = slides
    figure = heatmap(bags, scores, 0, image=np.zeros((50, 40, 3)), downsample=100.0)
    assert figure.axes[0].images[0].get_extent() == [0, 4000, 5000, 0]
    figure = heatmap(bags, scores, 0, image=np.zeros((50, 40, 3)))
    _, wide, tall, _ = figure.axes[0].images[0].get_extent()
    room = [wide, tall] - (bags.coords[: bags.offsets[1]].max(axis=0) + 256)
    assert room.min() == pytest.approx(0, abs=1e-6)  # it just holds the patches


def test_the_scale_bar_is_round(slides):
    bags, scores = slides
    axes = heatmap(bags, scores, 0, microns_per_pixel=0.5).axes[0]
    length, unit = axes.texts[0].get_text().split()
    assert unit in ("µm", "mm")
    assert length.replace("0", "").replace(".", "") in ("1", "2", "5")
    (bar,) = [line for line in axes.lines if len(line.get_xdata()) == 2]
    assert np.ptp(bar.get_xdata()) * 0.5 == float(length) * (1000 if unit == "mm" else 1)


def test_without_a_patch_size_neighbors_tell_it():
    bags = Bags.from_list([np.zeros((4, 1))], coords=[[0, 0], [64, 0], [0, 64], [64, 64]])
    assert patch_side(bags, 0) == 64
    alone = Bags.from_list([np.zeros((1, 1))], coords=[[0, 0]])
    with pytest.raises(ValueError, match="give the side of a patch"):
        patch_side(alone, 0)


@pytest.mark.parametrize(
    ("change", "bag", "match"),
    [
        ({"coords": None}, 0, "have no coordinates"),
        ({}, "slide-0001", "no bag 'slide-0001'.*Did you mean"),
        ({}, 7, "no bag 7"),
    ],
)
def test_mistakes_are_named(slides, change, bag, match):
    bags, scores = slides
    with pytest.raises(ValueError, match=match):
        heatmap(bags.replace(**change), scores, bag)
    with pytest.raises(ValueError, match="scores has shape"):
        heatmap(bags, [1.0])


def test_discoveries_are_outlined_and_say_what_they_promise(slides):
    bags, _ = slides
    p = np.linspace(0.01, 1, bags.n_instances)
    figure = heatmap(bags, p, 0, level=0.1, note="exact: at most one")
    own = slice(0, bags.offsets[1])
    assert edges_of(figure) == edges_around(bags.coords[own][p[own] <= 0.1])
    assert figure.axes[0].get_xlabel() == "exact: at most one"
    assert figure.axes[0].get_legend().get_texts()[0].get_text() == "p up to 0.1"
    assert edges_of(heatmap(bags, np.ones_like(p), 0, level=0.1)) == set()


def test_colors_of_p_values_mean_the_same_on_every_slide(slides):
    bags, scores = slides
    one, other = np.full(bags.n_instances, 0.3), np.linspace(0.02, 0.3, bags.n_instances)
    same = [squares_of(heatmap(bags, p, 2, level=0.1))[0].to_rgba([0.3])[0] for p in (one, other)]
    assert np.array_equal(*same)
    assert np.array_equal(instance_colors(scores, one)[0], instance_colors(scores, other)[-1])


def test_smaller_p_values_are_darker_in_even_steps():
    cmap, norm = color_scale(None)
    rgba = cmap(norm(np.geomspace(0.02, 1, 20)))
    on_white = rgba[:, :3] * rgba[:, 3:] + 1 - rgba[:, 3:]
    linear = np.where(on_white > 0.04045, ((on_white + 0.055) / 1.055) ** 2.4, on_white / 12.92)
    lightness = 116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16  # of CIELAB
    steps = np.diff(lightness)
    assert steps.min() > 0
    assert steps.max() < 3 * np.median(steps)
    assert lightness[-1] > 95
    assert lightness[0] < 25


def test_parts_are_drawn_side_by_side():
    places = np.array([[x, y] for x in range(3) for y in range(2)], dtype=float)
    coords = np.concatenate([places, places + 7, places])
    parts = np.repeat(["a", "b", "c"], 6)
    bags = Bags(np.ones((18, 1)), [0, 18], coords=coords, parts=parts)
    placed, begins = place_parts(bags, 0, patch_side(bags, 0))
    assert begins == {"a": (0.0, 0.0), "b": (5.0, 0.0), "c": (0.0, 4.0)}
    assert len(np.unique(placed, axis=0)) == 18
    for name, start in begins.items():
        np.testing.assert_array_equal(placed[parts == name] - start, places)
    one = bags.replace(parts=np.repeat("a", 18))
    np.testing.assert_array_equal(place_parts(one, 0, 1.0)[0], coords)
    texts = [text.get_text() for text in heatmap(bags, np.arange(18.0)).axes[0].texts]
    assert [*begins] == texts[-3:]
