"""The two-sided problem with the hinge loss: libsvm, interior point, or coordinate descent.

    min_{w,b} 1/2|w|^2 + sum_k [ a_k max(0, m_k - z_k) + c_k max(0, m_k + z_k) ]

with margins m_k = 1 unless the problem has others. Rows with both weights are written twice.

- Kernels, and rows with more features than there are rows, go to libsvm.
- Rows with fewer features than there are rows go to the interior point: where the classes overlap,
  libsvm needs millions of iterations on them. So do problems on which libsvm, which computes
  kernels in float32, stops at a large gap (large C).
- Rows too many and too wide for both go to liblinear's dual coordinate descent. It is written here
  because liblinear does not return its dual variables, which the certificate needs.

libsvm's classifier supports the margin 1 only. Other margins go to its regression, which has one
target per row and no loss inside a tube around it. With a tube far wider than any score, only the
edge of the tube that matters, z_k = m_k or z_k = -m_k, is ever near.

The intercept is not penalized, and ``converged`` refers to the duality gap, not to the library's
own tolerance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC, SVR

from bagwise._typing import Array
from bagwise.designs import Point
from bagwise.designs.linear import LARGEST_SYSTEM
from bagwise.designs.sparse import with_short_indices
from bagwise.problems import Problem, Solution, certify, overflow
from bagwise.solvers.dual_cd import best_intercept, coordinate_descent
from bagwise.solvers.interior import Sides, interior_point, within
from bagwise.tolerances import COARSE, INNER, MAX_STEPS

_TUBE = 1e4  # half-width: no score gets there, and margins keep 12 of 16 digits


def solve_hinge(problem: Problem, *, max_iter: int = 1_000_000) -> Solution:
    """Solve a two-sided hinge problem, with the duality gap as certificate.

    ``max_iter`` limits libsvm's iterations, which unscaled features and large C can make endless.
    """
    sides = Sides.of(problem)
    if len(np.unique(sides.labels)) < 2:
        return _solve_one_sided(problem, sides)
    route = _choose_route(problem, len(sides.rows))
    if route == "interior":
        solution = interior_point(problem)
    else:
        solution = _decompose(problem, sides, route, max_iter)
        if route == "libsvm" and not within(problem, solution, COARSE):
            small = len(sides.rows) <= LARGEST_SYSTEM
            solution = interior_point(problem) if small else solution
    return replace(solution, converged=within(problem, solution, COARSE))


def _choose_route(problem: Problem, n_rows: int) -> str:
    """Return "interior" for few features, "descent" for many rows and features, or "libsvm"."""
    if problem.design.linear is None:
        return "libsvm"
    if problem.design.n_coef <= min(n_rows, LARGEST_SYSTEM):
        return "interior"
    return "libsvm" if n_rows <= LARGEST_SYSTEM or problem.margin is not None else "descent"


def _solve_one_sided(problem: Problem, sides: Sides) -> Solution:
    """Return w = 0 with the intercept at the margin: no row has the other label."""
    start, nothing = problem.design.start(), np.zeros(problem.design.n_rows)
    point = start._replace(intercept=float(np.sum(sides.labels[:1]) * sides.margins.max(initial=0)))
    return certify(problem, point, nothing, nothing, n_iter=0, converged=True)


def _decompose(problem: Problem, sides: Sides, route: str, max_iter: int) -> Solution:
    """Update a few dual variables at a time."""
    tol = INNER * COARSE  # of libsvm and of coordinate descent: the gap has to be COARSE
    design, linear = problem.design, problem.design.linear
    kernel = "precomputed" if linear is None else "linear"
    X: Any = design.products(sides.rows) if linear is None else linear.matrix(sides.rows)
    options = {"kernel": kernel, "C": 1.0, "tol": tol, "max_iter": max_iter, "cache_size": 500}
    if problem.margin is not None:
        tube = _TUBE * max(1.0, float(np.abs(sides.margins).max()))
        targets = sides.labels * (sides.margins + tube)
        alpha, n_iter = _run_libsvm(SVR(**options, epsilon=tube), X, targets, sides.weights)
    elif route == "descent":
        alpha, n_iter = coordinate_descent(X, sides.labels, sides.weights, tol, MAX_STEPS)
    else:
        alpha, n_iter = _run_libsvm(SVC(**options), X, sides.labels, sides.weights)
    up, down = sides.duals(alpha)
    coef = design.adjoint(up - down)
    scores = design @ coef
    shifted = scores[sides.rows] + sides.labels * (1 - sides.margins)
    point = Point(coef, best_intercept(sides.labels, sides.weights, shifted), scores)
    return certify(problem, point, up, down, n_iter=n_iter, converged=False)


def _run_libsvm(svm: Any, X: Any, targets: Array, weights: Array) -> tuple[Array, int]:
    """Return the dual variables, whose signs are known from the labels, and the iterations."""
    X = with_short_indices(X) if sp.issparse(X) else X
    try:
        svm.fit(X, targets, sample_weight=weights)
    except ValueError as error:
        if "are not finite" not in str(error):
            raise
        raise overflow(np.inf, np.inf) from error
    alpha = np.zeros(len(targets))
    dual = svm.dual_coef_.toarray() if sp.issparse(svm.dual_coef_) else svm.dual_coef_
    alpha[svm.support_] = np.abs(dual).ravel()
    return alpha, int(np.max(svm.n_iter_))
