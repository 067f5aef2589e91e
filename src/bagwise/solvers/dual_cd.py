"""Dual coordinate descent for the linear hinge problem (Hsieh et al. 2008, liblinear).

    max_alpha  sum_i alpha_i - 1/2 |sum_i alpha_i y_i (x_i, B)|^2,   0 <= alpha_i <= weight_i,

the dual of 1/2|w|^2 + sum_i weight_i max(0, 1 - y_i (x_i.w + b)) + b^2 / (2 B^2): a constant
feature B makes the intercept all but free and every coordinate step exact. The intercept is then
chosen anew without the penalty, by an exact line search.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["best_intercept", "coordinate_descent"]

Array = NDArray[Any]

_BIAS_FEATURE = 10.0


def coordinate_descent(
    X: Any, labels: Array, weights: Array, tol: float, max_passes: int
) -> tuple[Array, float, int, bool]:
    """Solve the dual.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
        The rows.
    labels, weights : ndarray of shape (n,)
        Labels -1 or 1 and the upper bounds of the duals.
    tol : float
        Largest projected gradient, relative to the margin 1, at which to stop.
    max_passes : int
        Most passes over the rows.

    Returns
    -------
    alpha : ndarray of shape (n,)
        The dual variables.
    intercept : float
        The best intercept of w = sum alpha_i y_i x_i.
    n_passes : int
        Passes made.
    converged : bool
        Whether ``tol`` was reached.
    """
    rows = sp.csr_array(X)
    norms = np.asarray(rows.multiply(rows).sum(axis=1)).ravel() + _BIAS_FEATURE**2
    alpha, coef = np.zeros(len(labels)), np.zeros(rows.shape[1] + 1)
    order, one_pass = np.random.RandomState(0), _compiled_pass()
    n_passes, violation = 0, np.inf
    while n_passes < max_passes and violation > tol:
        n_passes += 1
        violation = one_pass(
            rows.data.astype(np.float64, copy=False),
            rows.indices,
            rows.indptr,
            labels,
            weights,
            norms,
            order.permutation(len(labels)),
            alpha,
            coef,
            _BIAS_FEATURE,
        )
    scores = np.asarray(rows @ coef[:-1])
    return alpha, best_intercept(labels, weights, scores), n_passes, bool(violation <= tol)


def best_intercept(labels: Array, weights: Array, scores: Array) -> float:
    """Minimise sum_k weight_k max(0, 1 - label_k (score_k + b)) over b, exactly.

    The slope rises by weight_k at b = label_k - score_k; the minimiser is where the running sum of
    rises first makes up for the slope at b -> -infinity, minus the sum of positive weights.
    """
    breaks = labels - scores
    order = np.argsort(breaks, kind="stable")
    slope = np.cumsum(weights[order]) - weights[labels > 0].sum()
    return float(breaks[order][min(int(np.searchsorted(slope, 0.0)), len(order) - 1)])


@cache
def _compiled_pass() -> Any:
    import numba

    return numba.njit(cache=True)(_one_pass)


def _one_pass(data, indices, indptr, labels, weights, norms, order, alpha, coef, bias):
    """Visit every row once; return the largest projected gradient seen."""
    worst = 0.0
    for i in order:
        score = bias * coef[-1]
        for j in range(indptr[i], indptr[i + 1]):
            score += data[j] * coef[indices[j]]
        gradient = labels[i] * score - 1.0
        if alpha[i] <= 0.0:
            projected = min(gradient, 0.0)
        elif alpha[i] >= weights[i]:
            projected = max(gradient, 0.0)
        else:
            projected = gradient
        worst = max(worst, abs(projected))
        if projected != 0.0:
            updated = min(max(alpha[i] - gradient / norms[i], 0.0), weights[i])
            change = (updated - alpha[i]) * labels[i]
            alpha[i] = updated
            coef[-1] += change * bias
            for j in range(indptr[i], indptr[i + 1]):
                coef[indices[j]] += change * data[j]
    return worst
