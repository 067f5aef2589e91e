"""The ridge step from its normal equations, and rows to try it on."""

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise.designs import Gram

N, D = 60, 7


def rows(n=N, d=D, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[np.abs(X) < 0.3] = 0
    return X.astype(np.float16).astype(np.float64)  # the same numbers in every precision


MIX = sp.random_array(
    (25, N), density=0.05, random_state=np.random.default_rng(0), format="csr"
) + sp.csr_array((np.full(20, 0.5), (np.arange(20), np.arange(20) + 3)), shape=(25, N))


def ridge_by_hand(X, s, t):
    """Return w, b of min 1/2|w|^2 + 1/2 sum s (x.w + b - t)^2 from its normal equations."""
    wide = np.column_stack([X, np.ones(len(X))])
    penalty = np.append(np.ones(X.shape[1]), 0.0)
    system = np.diag(penalty) + wide.T @ (s[:, None] * wide)
    solution = np.linalg.solve(system, wide.T @ (s * t))
    return solution[:-1], solution[-1]


def curvature_and_target(n, seed, zeros=0.3):
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.1, 5, n) * (rng.random(n) >= zeros)
    return s, rng.normal(size=n)


def check_ridge(design, X, s, t, precision, start=None):
    start = design.start() if start is None else start
    point = design.weighted_ridge(s, t, start, 1e-12)
    coef, intercept = ridge_by_hand(X, s, t)
    w = coef if design.n_coef == X.shape[1] and not isinstance(design, Gram) else None
    if w is not None:
        assert np.allclose(point.coef, w, atol=precision)
    assert np.allclose(point.scores, X @ coef, atol=precision)
    assert np.allclose(design @ point.coef, point.scores, atol=precision)
    assert point.intercept == pytest.approx(intercept, abs=precision)
