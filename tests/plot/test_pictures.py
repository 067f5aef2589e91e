"""Pictures of the highest instances, and of patches cut from slides."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.image import imsave

from bagwise import Bags
from bagwise.datasets import make_slide_bags
from bagwise.plot import image_bags, slide_tiles
from bagwise.plot.pictures import picture_of


def test_pictures_may_be_files_or_come_from_a_function(tmp_path):
    imsave(tmp_path / "one.png", np.eye(8))
    assert picture_of([str(tmp_path / "one.png")] * 3, 3)(1).shape[:2] == (8, 8)
    assert picture_of(lambda row: [[row]], 3)(2).tolist() == [[2]]
    with pytest.raises(ValueError, match="3 images for"):
        picture_of(np.zeros((3, 8, 8)), 4)


@pytest.fixture
def slides(tmp_path):
    bags, _ = make_slide_bags(n_bags=2, bag_size=(30, 60), n_features=2)
    files = {}
    for i, name in enumerate(bags.ids.tolist()):
        corners = bags.coords[bags.offsets[i] : bags.offsets[i + 1]]
        width, height = corners.max(axis=0) + 256
        image = np.zeros((height // 8, width // 8, 3))  # patches of 32 pixels
        for row, (x, y) in enumerate(corners // 8):
            image[y : y + 32, x : x + 32] = [row / 100, i, 0]
        files[name] = tmp_path / f"{name}.png"
        imsave(files[name], image)
    return bags, files


def test_patches_are_cut_from_the_thumbnail_of_their_slide(slides):
    bags, files = slides
    tile_of = slide_tiles(bags, files)
    for row in (0, 5, bags.offsets[1], bags.n_instances - 1):
        i = int(row >= bags.offsets[1])
        tile = tile_of(int(row))[..., :3]
        assert tile.shape == (32, 32, 3)
        expected = [(row - bags.offsets[i]) / 100, i, 0]
        np.testing.assert_allclose(tile, np.broadcast_to(expected, tile.shape), atol=0.01)


def test_small_patches_are_shown_with_their_surroundings(slides, tmp_path):
    bags, files = slides
    imsave(tmp_path / "small.png", np.ones((40, 40, 3)))
    tile = slide_tiles(bags, {**files, bags.ids[0]: tmp_path / "small.png"})(0)
    assert tile.shape[:2] == (24, 24)


def test_what_is_missing_is_named(slides):
    bags, files = slides
    with pytest.raises(ValueError, match="no slide or thumbnail of bag 'slide-001'"):
        slide_tiles(bags, {"slide-000": files["slide-000"]})(bags.n_instances - 1)
    with pytest.raises(ValueError, match="have no coordinates"):
        slide_tiles(Bags.from_list([[[1.0]]]), files)


LABELS = [0, 1, 0, 1, 1, 0]


@pytest.fixture
def bags() -> Bags:
    X = np.random.default_rng(0).random((6, 12))
    return Bags(X, [0, 3, 4, 6], instance_labels=LABELS, ids=["a", "b", "c"])


def corners_of(figure) -> list[tuple[float, float]]:
    """Return the upper left corner of every image."""
    extents = [image.get_extent() for image in figure.axes[0].images]
    return [(left, top) for left, _, _, top in extents]


def ink_of(figure) -> np.ndarray:
    """Return how dark the pixels of every image are."""
    return np.array([image.get_array()[..., 3].ravel() for image in figure.axes[0].images])


def patches(figure, label: str) -> list[tuple[float, float]]:
    """Return the corners of the marks of one kind; the first of them carries the label."""
    every = figure.axes[0].patches
    first = next(patch for patch in every if patch.get_label() == label)
    alike = [patch for patch in every if patch.get_zorder() == first.get_zorder()]
    return [patch.get_xy() for patch in alike]


def test_a_bag_is_a_row_and_every_instance_has_its_own_pixels(bags):
    figure = image_bags(bags, (3, 4))
    np.testing.assert_allclose(ink_of(figure), (bags.X - bags.X.min()) / np.ptp(bags.X))
    corners = corners_of(figure)
    tops = [top for _, top in corners]
    assert tops[0] == tops[1] == tops[2] < tops[3] < tops[4] == tops[5]
    assert [left for left, _ in corners[:3]] == pytest.approx([0, 1.12, 2.24])
    assert corners[3][0] == corners[4][0] == 0
    np.testing.assert_allclose(ink_of(image_bags(Bags(sp.csr_array(np.eye(4)), [0, 4]))), np.eye(4))
    assert not ink_of(image_bags([np.zeros((2, 9)), np.zeros((1, 9))])).any()


def test_marks_lie_on_the_instances_they_name(bags):
    figure = image_bags(bags, (3, 4), chosen=[2, -1, 0])
    corners = corners_of(figure)
    assert patches(figure, "the model's choice") == [corners[2], corners[4]]
    assert patches(figure, "true witness") == [corners[i] for i in np.flatnonzero(LABELS)]


@pytest.mark.parametrize(
    ("labels", "chosen", "named"),
    [
        (LABELS, [0, 0, 0], ["true witness", "the model's choice"]),
        (LABELS, None, ["true witness"]),
        (None, [0, 0, 0], ["the model's choice"]),
        (None, None, None),
        (None, [-1, -1, -1], None),
    ],
)
def test_the_legend_names_only_what_is_shown(bags, labels, chosen, named):
    figure = image_bags(bags.replace(instance_labels=labels), (3, 4), chosen=chosen)
    legend = figure.axes[0].get_legend()
    assert (legend and [text.get_text() for text in legend.get_texts()]) == named


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "12 features, which do not fill a square image: pass image_shape"),
        ({"image_shape": (3, 5)}, "12 features, which do not fill a 3 x 5 image"),
        ({"image_shape": (3, 4), "captions": ["x"]}, "inconsistent numbers of samples"),
        ({"image_shape": (3, 4), "chosen": [0, 0]}, "one position per bag"),
        ({"image_shape": (3, 4), "chosen": [0, 1, 0]}, "'b'.* has no instance 1"),
    ],
)
def test_bad_input_is_named(bags, arguments, message):
    with pytest.raises(ValueError, match=message):
        image_bags(bags, **arguments)


def test_matplotlib_is_loaded_when_drawing_and_opens_no_window():
    code = (
        "import sys, bagwise.plot; print('matplotlib' in sys.modules); "
        "bagwise.plot.image_bags([[[0.0]], [[1.0]]]); "
        "print('matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True", "False"]
