"""The two-sided problem with the hinge loss: libsvm, interior point, or coordinate descent.

    min_{w,b} 1/2|w|^2 + sum_k [ a_k max(0, 1 - z_k) + c_k max(0, 1 + z_k) ]

Rows that carry both weights are written twice.

- Kernels, and rows with more features than there are rows, go to libsvm.
- Rows with fewer features than there are rows go to the interior point: where the classes overlap,
  libsvm needs millions of iterations on them. So do problems on which libsvm, which computes
  kernels in float32, stops at a large gap (large C).
- Rows too many and too wide for both go to liblinear's dual coordinate descent, written here
  because liblinear keeps its dual variables, and with them the certificate, to itself.

All three leave the intercept free, as the problem does, and ``converged`` speaks of the duality
gap, not of the library's own tolerance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.svm import SVC

from bagwise.designs import Gram, Point
from bagwise.problems import Problem
from bagwise.solvers.dual_cd import best_intercept, coordinate_descent
from bagwise.solvers.interior import Sides, interior_point
from bagwise.solvers.margins import solve_margins
from bagwise.solvers.solution import Solution, certify

__all__ = ["solve_hinge"]

Array = NDArray[Any]

_LIBSVM_ROWS = 20_000
_LARGEST_SYSTEM = 2500
_DESCENT_PASSES = 1000


def solve_hinge(
    problem: Problem, *, tol: float = 1e-5, gap_tol: float = 1e-4, max_iter: int = 1_000_000
) -> Solution:
    """Solve a two-sided hinge problem.

    Parameters
    ----------
    problem : Problem
        With the hinge loss.
    tol : float, default=1e-5
        The stopping tolerance of libsvm and of coordinate descent.
    gap_tol : float, default=1e-4
        Largest duality gap, relative to the objective, that counts as converged.
    max_iter : int, default=1_000_000
        Most iterations of libsvm: unscaled features and large C can keep it busy for ever.

    Returns
    -------
    Solution
        With the duality gap as its certificate.
    """
    sides = Sides.of(problem)
    if len(np.unique(sides.labels)) < 2:
        return _one_sided(problem, sides)
    n_rows, n_coef = len(sides.rows), problem.design.n_coef
    tall = not isinstance(problem.design, Gram) and n_coef <= min(n_rows, _LARGEST_SYSTEM)
    if tall:
        solution = interior_point(problem)
    elif problem.margin is not None:
        solution = solve_margins(problem, tol=tol, gap_tol=gap_tol, max_iter=max_iter)
    else:
        solution = _decomposed(problem, sides, tol, max_iter)
    loose = solution.gap > gap_tol * solution.objective
    if loose and not tall and n_rows <= _LARGEST_SYSTEM:
        solution = interior_point(problem)
    return replace(solution, converged=solution.gap <= gap_tol * solution.objective)


def _one_sided(problem: Problem, sides: Sides) -> Solution:
    """Return w = 0 with the intercept at the margin: no row pulls the other way."""
    start, nothing = problem.design.start(), np.zeros(problem.design.n_rows)
    point = start._replace(intercept=float(np.sum(sides.labels[:1]) * sides.margins.max(initial=0)))
    return certify(problem, point, nothing, nothing, n_iter=0, converged=True)


def _decomposed(problem: Problem, sides: Sides, tol: float, max_iter: int) -> Solution:
    """Update few duals at a time."""
    design: Any = problem.design
    if isinstance(design, Gram):
        gram = design.K[np.ix_(sides.rows, sides.rows)]
        alpha, n_iter = _libsvm("precomputed", gram, sides, tol, max_iter)
    elif len(sides.rows) <= _LIBSVM_ROWS:
        alpha, n_iter = _libsvm("linear", design.matrix(sides.rows), sides, tol, max_iter)
    else:
        X = design.matrix(sides.rows)
        alpha, n_iter, _ = coordinate_descent(X, sides.labels, sides.weights, tol, _DESCENT_PASSES)
    up, down = sides.duals(alpha)
    coef = design.T @ (up - down)
    scores = design @ coef
    intercept = best_intercept(sides.labels, sides.weights, scores[sides.rows])
    point = Point(coef, intercept, scores)
    return certify(problem, point, up, down, n_iter=n_iter, converged=False)


def _libsvm(kernel: str, X: Any, sides: Sides, tol: float, max_iter: int) -> tuple[Array, int]:
    svc = SVC(kernel=kernel, C=1.0, tol=tol, max_iter=max_iter, cache_size=500)
    svc.fit(_narrow(X), sides.labels, sample_weight=sides.weights)
    alpha = np.zeros(len(sides.labels))
    # The signs are known from the labels; a sparse matrix comes back for sparse rows.
    dual = svc.dual_coef_.toarray() if sp.issparse(svc.dual_coef_) else svc.dual_coef_
    alpha[svc.support_] = np.abs(dual).ravel()
    return alpha, int(np.max(svc.n_iter_))


def _narrow(X: Any) -> Any:
    """Return sparse rows with 32-bit indices, all that scikit-learn's libsvm takes."""
    if not sp.issparse(X) or X.indices.dtype == np.int32:
        return X
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_array(parts, shape=X.shape)
