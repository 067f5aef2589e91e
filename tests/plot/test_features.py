import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import WitnessSVC
from bagwise.plot import ImportanceDisplay
from bagwise.plot.features import contributions, mean_instance, name_contributions


@pytest.mark.parametrize("as_sparse", [False, True])
def test_contributions_sum_to_the_difference_from_the_mean(fitted, as_sparse):
    model, bags, _ = fitted
    given = bags.replace(X=sp.csr_array(bags.X)) if as_sparse else bags
    values = contributions(model.coef_[0], given, 3, mean_instance(given))
    expected = model.coef_[0] @ (bags.X[3] - bags.X.mean(axis=0))
    assert values.sum() == pytest.approx(expected)


def test_the_largest_contributions_are_named_and_kernels_have_none(fitted):
    model, bags, y = fitted
    named = name_contributions(model, bags, 3, mean_instance(bags))
    sizes = [abs(value) for _, value in named]
    assert sizes == sorted(sizes, reverse=True)
    kernel = WitnessSVC().fit(bags, y)
    assert name_contributions(kernel, bags, 3, mean_instance(bags)) is None


def test_the_only_feature_that_matters_is_the_first_one_drawn():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    bags = [rng.normal(size=(4, 3)) + [0, 4 * label, 0] for label in y]
    model = WitnessSVC(kernel="linear").fit(bags, y)
    shown = ImportanceDisplay.from_estimator(model, bags, y, top=2)
    assert shown.names[0] == "feature 1"
    assert shown.values[0].mean() > 0.2 > abs(shown.values[1].mean())
