import numpy as np
import pytest

from bagwise import BagKernelSVC, WitnessSVC
from bagwise.plot import BagSizeDisplay, InstanceScoreDisplay


def test_instances_take_the_label_of_their_bag(fitted):
    _, bags, y = fitted
    shown = InstanceScoreDisplay.from_estimator(*fitted)
    assert shown.in_positive.sum() == bags.sizes[y == 1].sum()
    heights = [patch.get_height() for patch in shown.ax_.patches]
    assert max(heights) > 0


def test_a_maximum_grows_with_the_size_of_the_bag():
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(2 ** (1 + i % 8), 2)) for i in range(80)]
    y = np.arange(80) // 8 % 2
    model = WitnessSVC(kernel="linear", C=1e-3).fit(
        [b + 3 * l for b, l in zip(bags, y, strict=True)], y
    )
    assert BagSizeDisplay.from_estimator(model, bags, y).correlation > 0.5


def test_more_than_two_classes_are_refused(fitted):
    _, bags, y = fitted
    model = BagKernelSVC().fit(bags, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="two classes"):
        BagSizeDisplay.from_estimator(model, bags, y)
