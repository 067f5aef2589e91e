"""Pictures of the highest instances, and of patches cut from slides."""

import numpy as np
import pytest
from matplotlib.image import imsave

from bagwise import Bags, WitnessSVC
from bagwise.datasets import load_digits_bags, make_slide_bags
from bagwise.plot import TopInstancesDisplay, slide_tiles


@pytest.fixture(scope="module")
def fitted():
    bags, y = load_digits_bags(n_bags=20)
    return WitnessSVC(kernel="linear").fit(bags, y), bags


def test_the_highest_instance_comes_first(fitted):
    model, bags = fitted
    images = bags.X.reshape(-1, 8, 8)
    shown = TopInstancesDisplay.from_estimator(model, bags, images, top=5)
    best = int(model.instance_decision_function(bags).argmax())
    assert np.array_equal(shown.pictures[0], images[best])
    assert len(shown.ax_.images) == 5


def test_pictures_may_be_files_or_come_from_a_function(fitted, tmp_path):
    model, bags = fitted
    best = int(model.instance_decision_function(bags).argmax())
    imsave(tmp_path / "one.png", bags.X[best].reshape(8, 8))
    files = [str(tmp_path / "one.png")] * bags.n_instances
    shown = TopInstancesDisplay.from_estimator(model, bags, files, top=1)
    assert shown.pictures[0].shape[:2] == (8, 8)
    asked = []
    ask = lambda row: asked.append(row) or np.ones((2, 2))  # noqa: E731
    TopInstancesDisplay.from_estimator(model, bags, ask, top=1)
    assert asked == [best]
    with pytest.raises(ValueError, match="3 images for"):
        TopInstancesDisplay.from_estimator(model, bags, np.zeros((3, 8, 8)))


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
