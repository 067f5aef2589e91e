"""Hinges with a free intercept by clarabel, on rows centered and scaled beforehand."""

import numpy as np
import scipy.sparse as sp

from reference.program import minimize


def optimum_by_clarabel(X, labels, C):
    """Return the optimal 1/2|w|^2 + C sum_k max(0, 1 - y_k (x_k.w + b))^2; -inf if it fails."""
    return _optimum(X, labels, C, 2.0, 0.0)


def hinge_by_clarabel(X, labels, C):
    """Return the optimal 1/2|w|^2 + C sum_k max(0, 1 - y_k (x_k.w + b)); -inf if it fails."""
    return _optimum(X, labels, C, 0.0, 1.0)


def _optimum(X, labels, C, square, slope):
    """Solve with slacks that cost 1/2 square xi^2 + slope xi.

    The variables are u = w spread / shrink, so that all entries of the program are of order one or
    vanish: features of 1e-150 are then worth nothing, and those of 1e150 cost nothing.
    """
    n, d = X.shape
    unit = 2.0 ** np.floor(np.log2(np.maximum(np.abs(X).max(axis=0), 1e-300)))
    scaled = X / unit
    spread = np.where(np.ptp(scaled, axis=0) > 0, scaled.std(axis=0), 1.0)
    size = unit * spread
    shrink = np.minimum(1.0, np.sqrt(C) * size)
    rows = labels[:, None] * (scaled - scaled.mean(axis=0)) / spread * shrink
    cost = np.concatenate([(shrink / size / np.sqrt(C)) ** 2, [0.0], np.full(n, square)])
    above = np.hstack([-rows, -labels[:, None], -np.eye(n)])
    if slope > 0:  # a squared slack need not be told to be positive
        above = np.vstack([above, np.hstack([np.zeros((n, d + 1)), -np.eye(n)])])
    linear = np.concatenate([np.zeros(d + 1), np.full(n, slope)])
    bounds = np.r_[-np.ones(n), np.zeros(len(above) - n)]
    found = minimize(sp.diags_array(cost), linear, above, bounds, tol=1e-10)
    return C * found.obj_val if str(found.status) == "Solved" else -np.inf


def odd_problem(seed):
    """Draw rows, labels and C: scales 1e-150 to 1e150, offsets to 1e8 x spread, C 1e-8 to 1e8."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(10, 60)), int(rng.integers(1, 8))
    size, C = 10 ** rng.uniform(-150, 150), 10 ** rng.uniform(-8, 8)
    offset = rng.choice([0.0, 1.0]) * 10 ** rng.uniform(-2, 8)
    rows = size * (rng.normal(size=(n, d)) + offset)
    return rows, rng.permutation(np.arange(n) % 2), C
