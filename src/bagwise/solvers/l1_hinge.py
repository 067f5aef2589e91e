"""The 1-norm SVM, as a program over a growing set of columns.

    min_{w,b} |w|_1 + sum_i weight_i l(y_i (x_i.w + b)),   l(t) = max(0, 1 - t) or its square.

Its dual is max sum_i alpha_i - [sum_i alpha_i^2 / (4 weight_i) for the square] with alpha_i >= 0
(and alpha_i <= weight_i for the hinge), sum_i alpha_i y_i = 0 and |sum_i alpha_i y_i x_ik| <= 1 for
every column k. The program is solved over some of the columns: for the hinge as a linear program by
HiGHS, for its square in the dual by piqp. The columns whose dual constraints are violated most are
added, until none is violated. Few columns are ever added, so their total number hardly matters.
The programs see columns of extreme size in units of their own, and |w_k| at the matching cost.
Scaling the last duals until they satisfy all constraints gives the certificate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from bagwise._typing import Array
from bagwise.errors import SCALE, Message
from bagwise.problems import Solution
from bagwise.solvers.qp import quadratic_program
from bagwise.tolerances import COARSE, PROVEN, SINGLE, TIE, UNEVEN

_COLUMNS_PER_ROUND = 30  # fewer would mean more programs, more would make each one larger


def solve_l1_hinge(
    X: Any,
    labels: Array,
    weights: Array,
    *,
    squared: bool = False,
    tol: float = 1e-8,
    max_iter: int = 500,
) -> Solution:
    """Solve the program, until no dual constraint is violated by more than ``tol``.

    ``labels`` are -1 or 1, ``weights`` those of the losses, positive, and ``max_iter`` is the
    maximum number of programs. ``dual`` of the solution is alpha_i y_i, ``residual`` the largest
    violation of a dual constraint.
    """
    program = _solve_square_program if squared else _solve_hinge_program
    signed = sp.csc_array(X) * labels[:, None] if sp.issparse(X) else labels[:, None] * X
    columns, history = np.empty(0, dtype=np.int64), list[dict[str, float]]()
    converged = False
    while not converged and len(history) < max_iter:
        taken = _densify(signed, columns)
        unit = _units(taken)
        values, intercept, alpha = program(taken / unit, 1 / unit, labels, weights)
        values = values / unit
        excess = np.abs(np.atleast_1d(alpha @ signed)) - 1  # SciPy: a number for one column
        excess[columns] = -np.inf  # satisfied up to the tolerance of the program
        objective = _objective(taken @ values + intercept * labels, weights, values, squared)
        history.append({"objective": objective, "violation": max(float(excess.max()), 0.0)})
        converged = excess.max() <= tol
        if not converged:
            worst = np.argsort(-excess, kind="stable")[:_COLUMNS_PER_ROUND]
            columns = np.concatenate([columns, worst[excess[worst] > tol]])
    least, constant = _constant(labels, weights, squared)
    if objective > least * (1 + PROVEN):  # the program ran out of digits: w = 0 is better
        values, intercept, objective = 0 * values, constant, least
    coef = np.zeros(X.shape[1])
    coef[columns[: len(values)]] = values
    dual = _make_feasible(signed, labels, np.inf if squared else weights, alpha)
    bound = float(dual.sum() - (dual**2 / (4 * weights)).sum() * squared)
    return Solution(
        coef=coef,
        intercept=intercept,
        scores=X @ coef + intercept,
        dual=dual * labels,
        objective=objective,
        gap=max(objective - bound, 0.0),
        residual=history[-1]["violation"],
        n_iter=len(history),
        converged=bool(converged) and objective - bound <= COARSE * objective,
        history=history,
    )


def _constant(labels: Array, weights: Array, squared: bool) -> tuple[float, float]:
    """Return the lowest objective without features, and its intercept."""
    candidates = (-1.0, float(weights @ labels / weights.sum()), 1.0)
    nothing = np.empty(0)
    return min((_objective(b * labels, weights, nothing, squared), b) for b in candidates)


def _densify(signed: Any, columns: Array) -> Array:
    taken = signed[:, columns]
    return taken.toarray() if sp.issparse(taken) else taken


def _units(columns: Array) -> Array:
    """Return powers of two, which cost no digits; 1 for columns of usual size."""
    size = np.abs(columns).max(axis=0, initial=0.0)
    extreme = (size > UNEVEN) | ((size > 0) & (size < 1 / UNEVEN))
    return np.where(extreme, np.exp2(np.floor(np.log2(np.where(extreme, size, 1.0)))), 1.0)


def _solve_hinge_program(
    signed: Array, costs: Array, labels: Array, weights: Array
) -> tuple[Array, float, Array]:
    """Solve the program over some columns: w = u - v, the intercept, one slack per row."""
    n, k = signed.shape
    cost = np.concatenate([costs, costs, [0.0], weights])
    margins = sp.hstack([signed, -signed, labels[:, None], sp.identity(n)], format="csc")
    free = [(0, None)] * (2 * k) + [(None, None)] + [(0, None)] * n
    result = linprog(cost, A_ub=-margins, b_ub=-np.ones(n), bounds=free, method="highs-ds")
    if result.status != 0:
        what = f"The linear program over {k} columns failed ({result.message}): scale the features "
        raise FloatingPointError(Message(what, "with ", SCALE, ", or lower C."))
    coef = result.x[:k] - result.x[k : 2 * k]
    return coef, float(result.x[2 * k]), -result.ineqlin.marginals


def _solve_square_program(
    signed: Array, costs: Array, labels: Array, weights: Array
) -> tuple[Array, float, Array]:
    """Solve the dual over some columns; w and the intercept are its multipliers."""
    n, k = signed.shape
    program = quadratic_program(
        np.diag(1 / (2 * weights)),
        -np.ones(n),
        np.zeros(n),
        equal=(labels[None, :], np.zeros(1)),
        between=(signed.T, -costs, costs) if k else (),
        **dict.fromkeys(("eps_abs", "eps_duality_gap_abs"), 1e-11),
        **dict.fromkeys(("eps_rel", "eps_duality_gap_rel"), TIE),
    )
    if not np.all(np.isfinite(program.x)):
        what = f"The quadratic program over {k} columns failed ({program.status}): scale the "
        raise FloatingPointError(Message(what, "features with ", SCALE, ", or lower C."))
    alpha, coef = program.x, np.zeros(k)
    if k:  # an interior point leaves small values where the constraint is slack
        tight = np.abs(alpha @ signed) > costs - 10 * SINGLE * np.maximum(costs, 1.0)
        coef[tight] = (program.high - program.low)[tight]
    return coef, float(program.equal[0]), alpha


def _objective(margins: Array, weights: Array, coef: Array, squared: bool) -> float:
    slack = np.maximum(0.0, 1 - margins)
    return float(np.abs(coef).sum() + weights @ (slack**2 if squared else slack))


def _make_feasible(signed: Any, labels: Array, limits: Any, alpha: Array) -> Array:
    """Scale duals down until they satisfy every constraint."""
    alpha = np.clip(alpha, 0.0, limits)
    up, down = alpha[labels > 0].sum(), alpha[labels < 0].sum()
    share = np.where(labels > 0, min(1.0, down / up) if up else 0.0, 1.0)
    alpha = alpha * np.where(labels < 0, min(1.0, up / down) if down else 0.0, share)
    return alpha / max(1.0, float(np.abs(alpha @ signed).max()))
