import numpy as np
import pytest
from matplotlib.image import imsave

from bagwise import WitnessSVC
from bagwise.datasets import load_digits_bags
from bagwise.plot import TopInstancesDisplay


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
    assert TopInstancesDisplay.from_estimator(model, bags, files, top=1).pictures[0].shape[:2] == (
        8,
        8,
    )
    asked = []
    TopInstancesDisplay.from_estimator(
        model, bags, lambda row: asked.append(row) or np.ones((2, 2)), top=1
    )
    assert asked == [best]


def test_one_picture_per_instance(fitted):
    model, bags = fitted
    with pytest.raises(ValueError, match="3 images for"):
        TopInstancesDisplay.from_estimator(model, bags, np.zeros((3, 8, 8)))
