"""The 1-norm support vector machine, as a linear program over a growing set of columns.

    min_{w,b} |w|_1 + sum_i weight_i max(0, 1 - y_i (x_i.w + b))

Its dual is max sum_i alpha_i with 0 <= alpha_i <= weight_i, sum_i alpha_i y_i = 0 and
|sum_i alpha_i y_i x_ik| <= 1 for every column k. The program is solved over some columns; those
whose dual constraint is violated most come in next, until none is. Few columns ever take part, so
that the number of columns hardly matters. Scaling the last duals until they satisfy all constraints
gives the certificate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from bagwise.solvers.solution import Solution

__all__ = ["solve_l1_hinge"]

Array = NDArray[Any]

_COLUMNS_A_ROUND = 30


def solve_l1_hinge(
    X: Array, labels: Array, weights: Array, *, tol: float = 1e-8, max_iter: int = 500
) -> Solution:
    """Solve the linear program.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows.
    labels, weights : ndarray of shape (n,)
        Labels -1 or 1, and the weights of the losses.
    tol : float, default=1e-8
        Largest violation of a dual constraint.
    max_iter : int, default=500
        Most linear programs.

    Returns
    -------
    Solution
        ``dual`` is alpha_i y_i; ``residual`` the largest violation of a dual constraint.
    """
    signed = labels[:, None] * X
    columns, history = np.empty(0, dtype=np.int64), list[dict[str, float]]()
    converged = False
    while not converged and len(history) < max_iter:
        values, intercept, alpha = _program(signed[:, columns], labels, weights)
        excess = np.abs(alpha @ signed) - 1
        excess[columns] = -np.inf  # those are satisfied up to the program's own tolerance
        objective = _objective(signed[:, columns], labels, weights, values, intercept)
        history.append({"objective": objective, "violation": max(float(excess.max()), 0.0)})
        converged = excess.max() <= tol
        if not converged:
            worst = np.argsort(-excess, kind="stable")[:_COLUMNS_A_ROUND]
            columns = np.concatenate([columns, worst[excess[worst] > tol]])
    coef = np.zeros(X.shape[1])
    coef[columns[: len(values)]] = values
    dual = _feasible(signed, labels, weights, alpha)
    return Solution(
        coef=coef,
        intercept=intercept,
        scores=X @ coef + intercept,
        dual=dual * labels,
        objective=objective,
        gap=max(objective - float(dual.sum()), 0.0),
        residual=history[-1]["violation"],
        n_iter=len(history),
        converged=bool(converged),
        history=history,
    )


def _program(signed: Array, labels: Array, weights: Array) -> tuple[Array, float, Array]:
    """Solve the program over some columns: w = u - v, the intercept, one slack a row."""
    n, k = signed.shape
    cost = np.concatenate([np.ones(2 * k), [0.0], weights])
    margins = np.hstack([signed, -signed, labels[:, None], np.eye(n)])
    free = [(0, None)] * (2 * k) + [(None, None)] + [(0, None)] * n
    result = linprog(cost, A_ub=-margins, b_ub=-np.ones(n), bounds=free, method="highs-ds")
    if result.status != 0:
        raise RuntimeError(f"The linear program failed: {result.message}")
    coef = result.x[:k] - result.x[k : 2 * k]
    return coef, float(result.x[2 * k]), -result.ineqlin.marginals


def _objective(signed: Array, labels: Array, weights: Array, coef: Array, b: float) -> float:
    slack = np.maximum(0.0, 1 - signed @ coef - b * labels)
    return float(np.abs(coef).sum() + weights @ slack)


def _feasible(signed: Array, labels: Array, weights: Array, alpha: Array) -> Array:
    """Scale duals down until they satisfy every constraint."""
    alpha = np.clip(alpha, 0.0, weights)
    up, down = alpha[labels > 0].sum(), alpha[labels < 0].sum()
    share = np.where(labels > 0, min(1.0, down / up) if up else 0.0, 1.0)
    alpha = alpha * np.where(labels < 0, min(1.0, up / down) if down else 0.0, share)
    return alpha / max(1.0, float(np.abs(alpha @ signed).max()))
