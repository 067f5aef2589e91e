import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags, WitnessSVC
from bagwise.inspection import permutation_importance


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    bags = Bags.from_list([rng.normal(size=(4, 3)) + [0, 4 * label, 0] for label in y])
    return WitnessSVC(kernel="linear").fit(bags, y), bags, y


def test_shuffling_what_matters_costs_and_the_rest_does_not(fitted):
    found = permutation_importance(*fitted)
    assert found.importances_mean[1] > 0.2
    assert np.abs(found.importances_mean[[0, 2]]).max() < 0.1


def test_sparse_and_dense_bags_agree(fitted):
    model, bags, y = fitted
    sparse = bags.replace(X=sp.csr_array(bags.X))
    one, other = (permutation_importance(model, b, y, n_repeats=2) for b in (bags, sparse))
    assert np.array_equal(one.importances, other.importances)


def test_a_metric_that_is_not_defined_is_named(fitted):
    model, bags, y = fitted
    with pytest.raises(ValueError, match="auc is not defined"):
        permutation_importance(model, bags[y == 1], y[y == 1])
