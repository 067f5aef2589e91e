"""Compiled products with a kernel matrix against NumPy."""

import numpy as np
import pytest

from bagwise.designs._products import add_rows, gather_rows, multiply_symmetric

every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def symmetric(n, dtype):
    K = np.random.default_rng(n).normal(size=(n, n)).astype(dtype)
    return np.tril(K) + np.tril(K, -1).T


@every_dtype
@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 31])
def test_products_are_summed_in_double_precision(n, dtype):
    K, rng = symmetric(n, dtype), np.random.default_rng(0)
    x, wide = rng.normal(size=n), K.astype(np.float64)
    out = np.full(n, np.nan)
    # Nothing above the diagonal is read.
    multiply_symmetric(np.where(np.tri(n, dtype=bool), K, np.nan).astype(dtype), x, out)
    assert np.allclose(out, wide @ x, atol=1e-13)
    rows = np.flatnonzero(rng.random(n) < 0.7)
    scores = np.ones(n)
    add_rows(K, rows, x[rows], scores)
    assert np.allclose(scores, 1 + x[rows] @ wide[rows], atol=1e-13)


@every_dtype
def test_gathering_extends_a_triangle(dtype):
    K, rows = symmetric(9, dtype), np.array([7, 2, 4, 0, 8])
    lower = np.full((6, 6), np.nan, dtype)
    gather_rows(K, rows[:3], 0, lower)
    gather_rows(K, rows, 3, lower)
    below = np.tri(5, dtype=bool)
    assert np.array_equal(lower[:5, :5][below], K[np.ix_(rows, rows)][below])
    assert np.isnan(lower[:5, :5][~below]).all()
