"""Dual coordinate descent for the linear hinge problem (Hsieh et al. 2008, liblinear).

    max_alpha  sum_i alpha_i - 1/2 |sum_i alpha_i y_i (x_i, B)|^2,   0 <= alpha_i <= weight_i,

the dual of 1/2|w|^2 + sum_i weight_i max(0, 1 - y_i (x_i.w + b)) + b^2 / (2 B^2): a constant
feature B makes every coordinate step exact. The penalty is then moved to (b - b_last)^2 / (2 B^2)
and the descent goes on, until b_last stands still: the intercept is free (proximal point).

`descend_rows` and `descend_gram` are the same descent for other box problems: from a given start,
over rows or over their matrix of products. Now and then they jump: on the duals strictly
inside their bounds the problem is an equation, and where descent has found the right ones, its
solution is the optimum to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lstsq

__all__ = ["best_intercept", "coordinate_descent", "descend_gram", "descend_rows"]

Array = NDArray[Any]

_BIAS_FEATURE = 10.0
_PASSES_BETWEEN_SHIFTS = 50  # of the intercept towards which the penalty pulls
_PASSES_OVER_FREE = 9  # for one over all
_PASSES_BETWEEN_JUMPS = 3
_LARGEST_JUMP = 1000


def coordinate_descent(
    X: Any, labels: Array, weights: Array, tol: float, max_passes: int
) -> tuple[Array, int, bool]:
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
    n_passes : int
        Passes made.
    converged : bool
        Whether ``tol`` was reached and sum alpha_i y_i is as near to 0.
    """
    rows = sp.csr_array(X)
    alpha, coef = np.zeros(len(labels)), np.zeros(rows.shape[1] + 1)
    n_passes, converged = 0, False
    while n_passes < max_passes and not converged:
        left = min(_PASSES_BETWEEN_SHIFTS, max_passes - n_passes)
        passes, within = descend_rows(
            rows, labels, weights, alpha, coef, _BIAS_FEATURE, tol=tol, max_passes=left
        )
        n_passes += passes
        balance = float(alpha @ labels)
        converged = within and abs(balance) <= tol * weights.sum()
        # The penalty now pulls towards the intercept just found instead of 0.
        coef[-1] += _BIAS_FEATURE * balance
    return alpha, n_passes, converged


def descend_rows(
    rows: Any,
    labels: Array,
    upper: Array,
    alpha: Array,
    coef: Array,
    bias: float,
    *,
    tol: float,
    max_passes: int,
) -> tuple[int, bool]:
    """Maximise sum(alpha) - 1/2|coef|^2 over 0 <= alpha <= upper, in place.

    ``coef`` follows alpha: its derivative in alpha_i is label_i (x_i, bias), whatever it is at the
    start. Returns the number of passes and whether ``tol`` was reached.
    """
    norms = np.asarray(rows.multiply(rows).sum(axis=1)).ravel() + bias**2
    matrix = rows.data.astype(np.float64, copy=False), rows.indices, rows.indptr
    visit = partial(_compiled(_one_pass), *matrix, labels, upper, norms, alpha, coef, bias)

    def jump() -> None:
        free = _inside(alpha, upper)
        if len(free) > min(rows.shape[1], _LARGEST_JUMP):
            return  # no optimum needs more inside than the rows have dimensions: too early
        signed = labels[free, None] * rows[free]
        products = (signed @ signed.T).toarray() + bias**2 * np.outer(labels[free], labels[free])
        gradient = signed @ coef[:-1] + bias * labels[free] * coef[-1] - 1.0
        change = _jump(alpha, upper, free, products, gradient)
        coef[:-1] += change @ signed
        coef[-1] += bias * change @ labels[free]

    return _repeat(visit, jump, alpha, upper, tol, max_passes)


def descend_gram(
    Q: Array, alpha: Array, gradient: Array, upper: Array, *, tol: float, max_passes: int
) -> tuple[int, bool]:
    """Minimise 1/2 alpha'Q alpha + q'alpha over 0 <= alpha <= upper, in place.

    ``gradient`` is Q alpha + q at the start and follows alpha. Returns the number of passes and
    whether ``tol`` was reached.
    """
    visit = partial(_compiled(_one_gram_pass), Q, upper, alpha, gradient)

    def jump() -> None:
        free = _inside(alpha, upper)
        if len(free) > _LARGEST_JUMP:
            return
        change = _jump(alpha, upper, free, Q[np.ix_(free, free)], gradient[free])
        gradient[:] += change @ Q[free]

    return _repeat(visit, jump, alpha, upper, tol, max_passes)


def _repeat(
    visit: Callable[[Array], float],
    jump: Callable[[], None],
    alpha: Array,
    upper: Array,
    tol: float,
    max_passes: int,
) -> tuple[int, bool]:
    """Visit all rows in random orders until none violates its condition by more than ``tol``.

    Most duals soon rest at a bound: those inside are visited more often.
    """
    order = np.random.RandomState(0)
    n_passes, violation = 0, np.inf
    while n_passes < max_passes and violation > tol:
        n_passes += 1
        violation = visit(order.permutation(len(alpha)))
        if violation > tol:
            free = _inside(alpha, upper)
            for _ in range(_PASSES_OVER_FREE):
                visit(order.permutation(free))
        if n_passes % _PASSES_BETWEEN_JUMPS == 0 and violation > tol:
            jump()
    return n_passes, bool(violation <= tol)


def _inside(alpha: Array, upper: Array) -> Array:
    """Return the duals strictly inside their bounds."""
    return np.flatnonzero((alpha > 0) & (alpha < upper))


def _jump(alpha: Array, upper: Array, free: Array, products: Array, gradient: Array) -> Array:
    """Move the free duals towards the solution of their equation, as far as the box allows."""
    if len(free) == 0:
        return np.zeros(0)
    change = lstsq(products, -gradient, lapack_driver="gelsy", check_finite=False)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(change > 0, (upper[free] - alpha[free]) / change, -alpha[free] / change)
    change *= min(1.0, np.min(room, where=change != 0, initial=1.0))
    alpha[free] = np.clip(alpha[free] + change, 0.0, upper[free])
    return change


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
def _compiled(loop: Callable[..., float]) -> Any:
    import numba

    return numba.njit(cache=True)(loop)


def _one_pass(data, indices, indptr, labels, upper, norms, alpha, coef, bias, order):
    """Visit every row once; return the largest projected gradient seen."""
    worst = 0.0
    for i in order:
        score = bias * coef[-1]
        for j in range(indptr[i], indptr[i + 1]):
            score += data[j] * coef[indices[j]]
        gradient = labels[i] * score - 1.0
        if alpha[i] <= 0.0:
            projected = min(gradient, 0.0)
        elif alpha[i] >= upper[i]:
            projected = max(gradient, 0.0)
        else:
            projected = gradient
        worst = max(worst, abs(projected))
        if projected != 0.0:
            updated = min(max(alpha[i] - gradient / norms[i], 0.0), upper[i])
            change = (updated - alpha[i]) * labels[i]
            alpha[i] = updated
            coef[-1] += change * bias
            for j in range(indptr[i], indptr[i + 1]):
                coef[indices[j]] += change * data[j]
    return worst


def _one_gram_pass(Q, upper, alpha, gradient, order):
    """Visit every coordinate once; return the largest projected gradient seen."""
    worst = 0.0
    for i in order:
        slope = gradient[i]
        if alpha[i] <= 0.0:
            projected = min(slope, 0.0)
        elif alpha[i] >= upper[i]:
            projected = max(slope, 0.0)
        else:
            projected = slope
        worst = max(worst, abs(projected))
        if projected != 0.0:
            updated = min(max(alpha[i] - slope / Q[i, i], 0.0), upper[i])
            change = updated - alpha[i]
            alpha[i] = updated
            for j in range(len(gradient)):
                gradient[j] += change * Q[i, j]
    return worst
