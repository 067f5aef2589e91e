"""The hinge problem whose rows ask for margins of their own, through libsvm's regression machine.

    min_{w,b} 1/2|w|^2 + sum_k [ a_k max(0, m_k - z_k) + c_k max(0, m_k + z_k) ]

libsvm's classifier knows the margin 1 only. Its regression machine has one target a row and no loss
inside a tube around it: with a tube of half-width E far wider than any score, only the one edge of
the tube that matters, z_k = m_k or z_k = -m_k, is ever near.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.svm import SVR

from bagwise.designs import Gram, Point
from bagwise.problems import Problem
from bagwise.solvers.dual_cd import best_intercept
from bagwise.solvers.interior import Sides
from bagwise.solvers.solution import Solution, certify

__all__ = ["solve_margins"]

Array = NDArray[Any]

_WIDE = 1e4


def solve_margins(problem: Problem, *, tol: float, gap_tol: float, max_iter: int) -> Solution:
    """Solve a two-sided hinge problem with a margin a row.

    Parameters
    ----------
    problem : Problem
        With the hinge loss and margins.
    tol : float
        The stopping tolerance of libsvm.
    gap_tol : float
        Largest duality gap, relative to the objective, that counts as converged.
    max_iter : int
        Most iterations of libsvm.

    Returns
    -------
    Solution
        With the duality gap as its certificate.
    """
    assert problem.margin is not None
    sides, design = Sides.of(problem), problem.design
    margin = problem.margin[sides.rows]
    alpha, n_iter = _regression(problem.design, sides, margin, tol, max_iter)
    up, down = sides.duals(alpha)
    coef = design.T @ (up - down)
    scores = design @ coef
    shifted = scores[sides.rows] + sides.labels * (1 - margin)
    point = Point(coef, best_intercept(sides.labels, sides.weights, shifted), scores)
    solution = certify(problem, point, up, down, n_iter=n_iter, converged=False)
    return replace(solution, converged=solution.gap <= gap_tol * abs(solution.objective))


def _regression(
    design: Any, sides: Sides, margin: Array, tol: float, max_iter: int
) -> tuple[Array, int]:
    if isinstance(design, Gram):
        kernel, X = "precomputed", design.K[np.ix_(sides.rows, sides.rows)]
    else:
        kernel, X = "linear", design.matrix(sides.rows)
    svr = SVR(kernel=kernel, C=1.0, epsilon=_WIDE, tol=tol, max_iter=max_iter, cache_size=500)
    svr.fit(X, sides.labels * (margin + _WIDE), sample_weight=sides.weights)
    alpha = np.zeros(len(sides.rows))
    dual = svr.dual_coef_.toarray() if sp.issparse(svr.dual_coef_) else svr.dual_coef_
    alpha[svr.support_] = np.abs(dual).ravel()
    return alpha, int(np.max(svr.n_iter_))
