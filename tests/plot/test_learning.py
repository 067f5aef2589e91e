import numpy as np

from bagwise import MeanSVC
from bagwise.bags import Bags
from bagwise.plot import LearningCurveDisplay


def test_more_bags_help_and_the_parts_are_nested():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    bags = Bags.from_list([rng.normal(size=(3, 30)) + 0.3 * label for label in y])
    shown = LearningCurveDisplay.from_estimator(MeanSVC(), bags, y, fractions=(0.1, 1.0))
    assert shown.sizes.tolist() == [10.0, 96.0]
    assert shown.values[1].mean() > shown.values[0].mean()
    again = LearningCurveDisplay.from_estimator(MeanSVC(), bags, y, fractions=(0.1, 1.0))
    assert np.array_equal(shown.values, again.values)
