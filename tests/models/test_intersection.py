"""The intersection map: error against min(x, y), sparse input, and scikit-learn's contract."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from bagwise.models.intersection import IntersectionMap


@parametrize_with_checks([IntersectionMap(), IntersectionMap(n=1)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("n", "error"), [(1, 0.031), (3, 0.016), (10, 0.007)])
def test_error_against_the_kernel(n, error):
    grid = np.linspace(0, 1, 101)[:, None]
    mapped = IntersectionMap(n=n).fit_transform(grid)
    missed = np.sqrt(np.mean((mapped @ mapped.T - np.minimum(grid, grid.T)) ** 2))
    assert 0.8 * error < missed < error


def test_series_converges_to_the_periodic_kernel():
    x = np.random.default_rng(0).uniform(0.2, 1.0, size=(30, 1))
    series = IntersectionMap(n=4000).fit(x)
    series.period_ = 40.0
    mapped = series.transform(x)
    np.testing.assert_allclose(mapped @ mapped.T, np.minimum(x, x.T), atol=1e-3)


def test_zero_maps_to_zero_and_sparse_stays_sparse():
    dense = np.array([[0.0, 0.5, 0.0], [0.2, 0.0, 1.0]])
    mapped = IntersectionMap(n=2).fit_transform(dense)
    np.testing.assert_array_equal(mapped[0, 0::3], 0.0)
    sparse = IntersectionMap(n=2).fit_transform(sp.csr_array(dense))
    assert sp.issparse(sparse)
    assert sparse.nnz == 3 * 5
    np.testing.assert_allclose(sparse.toarray(), mapped)


def test_names_follow_the_columns():
    names = IntersectionMap(n=1).fit(np.ones((2, 2))).get_feature_names_out(["a", "b"])
    assert names.tolist() == ["a_0", "b_0", "a_cos1", "b_cos1", "a_sin1", "b_sin1"]


def test_negative_values_are_refused():
    with pytest.raises(ValueError, match="Negative values"):
        IntersectionMap().fit([[0.1], [-0.2]])
