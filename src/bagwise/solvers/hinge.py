"""The two-sided problem with the hinge loss, through libsvm or liblinear's algorithm.

    min_{w,b} 1/2|w|^2 + sum_k [ a_k max(0, 1 - z_k) + c_k max(0, 1 + z_k) ]

Rows that carry both weights are written twice. libsvm (kernels, and linear problems of moderate
size) leaves the intercept free, as the problem does. Larger linear problems go to liblinear's dual
coordinate descent, written here because liblinear keeps its dual variables, and with them the
certificate, to itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.svm import SVC

from bagwise.designs import Design, Gram, Point
from bagwise.problems import Problem
from bagwise.solvers.dual_cd import coordinate_descent
from bagwise.solvers.solution import Solution, certify

__all__ = ["solve_hinge"]

Array = NDArray[Any]

_LIBSVM_ROWS = 20_000
_DESCENT_PASSES = 1000


def solve_hinge(problem: Problem, *, tol: float = 1e-5, max_iter: int = 10_000_000) -> Solution:
    """Solve a two-sided hinge problem.

    Parameters
    ----------
    problem : Problem
        With the hinge loss.
    tol : float, default=1e-5
        The libraries' own stopping tolerance.
    max_iter : int, default=10_000_000
        Most iterations of libsvm: unscaled features can keep it busy for ever.

    Returns
    -------
    Solution
        With the duality gap as its certificate.
    """
    up, down = np.flatnonzero(problem.positive), np.flatnonzero(problem.negative)
    rows = np.concatenate([up, down])
    labels = np.repeat([1.0, -1.0], [len(up), len(down)])
    weights = np.concatenate([problem.positive[up], problem.negative[down]])
    design: Any = problem.design
    if isinstance(design, Gram):
        gram = design.K[np.ix_(rows, rows)]
        result = _libsvm("precomputed", gram, labels, weights, tol, max_iter)
    elif len(rows) <= _LIBSVM_ROWS:
        result = _libsvm("linear", design.matrix(rows), labels, weights, tol, max_iter)
    else:
        X = design.matrix(rows)
        result = coordinate_descent(X, labels, weights, tol, _DESCENT_PASSES)
    alpha, intercept, n_iter, converged = result
    duals = _by_row(problem.design, rows, labels, alpha)
    coef = problem.design.T @ (duals[0] - duals[1])
    point = Point(coef, float(intercept), problem.design @ coef)
    return certify(problem, point, *duals, n_iter=n_iter, converged=converged)


def _libsvm(
    kernel: str, X: Any, labels: Array, weights: Array, tol: float, max_iter: int
) -> tuple[Array, float, int, bool]:
    svc = SVC(kernel=kernel, C=1.0, tol=tol, max_iter=max_iter, cache_size=500)
    svc.fit(X, labels, sample_weight=weights)
    alpha = np.zeros(len(labels))
    # Sparse rows make scikit-learn's duals sparse too.
    duals = svc.dual_coef_.toarray() if sp.issparse(svc.dual_coef_) else svc.dual_coef_
    alpha[svc.support_] = np.abs(duals).ravel()
    return alpha, svc.intercept_[0], int(np.max(svc.n_iter_)), svc.fit_status_ == 0


def _by_row(design: Design, rows: Array, labels: Array, alpha: Array) -> tuple[Array, Array]:
    up, down = np.zeros(design.n_rows), np.zeros(design.n_rows)
    np.add.at(up, rows[labels > 0], alpha[labels > 0])
    np.add.at(down, rows[labels < 0], alpha[labels < 0])
    return up, down
