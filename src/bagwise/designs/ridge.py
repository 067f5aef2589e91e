"""The weighted ridge regression behind every Newton step, three ways.

    min_{w,b} 1/2|w|^2 + 1/2 sum_k s_k (x_k.w + b - t_k)^2

`solve_dual` eliminates w (an n x n system), `solve_primal` eliminates b (a d x d system), and
`solve_cg` solves the latter by conjugate gradients if neither matrix should be formed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.lapack import get_lapack_funcs
from scipy.sparse.linalg import LinearOperator, cg

from bagwise._typing import Array
from bagwise.errors import SCALE, Message


def factor_in_place(system: Array) -> tuple[Array, bool]:
    """Return the Cholesky factor of I + something positive semi-definite, as `cho_factor` does.

    LAPACK is called directly: SciPy's checks cost as much as a small factorization. A
    Fortran-ordered matrix is overwritten; its upper triangle stays as it was.
    """
    (potrf,) = get_lapack_funcs(("potrf",), (system,))
    factor, info = potrf(system, lower=True, overwrite_a=True, clean=False)
    if info != 0:
        raise np.linalg.LinAlgError(
            Message(
                f"A ridge system in {system.dtype} is not positive definite. A kernel must be "
                "positive semi-definite; otherwise scale the features with ",
                SCALE,
                ", lower C, or use float64.",
            )
        )
    return factor, True


def solve_factored(factored: tuple[Array, bool], right: Array) -> Array:
    """Solve with the factor of `factor_in_place`; a Fortran-ordered right side is overwritten."""
    factor, lower = factored
    (potrs,) = get_lapack_funcs(("potrs",), (factor, right))
    solution, _ = potrs(factor, right, lower=lower, overwrite_b=True)
    return solution


def solve_dual(gram: Array, curvature: Array, target: Array) -> tuple[Array, float]:
    """Return dual coefficients beta and intercept; every curvature must be positive.

    (I + S^1/2 K S^1/2) [u v] = [S^1/2 t, S^1/2 1], b = (S^1/2 1)'u / (S^1/2 1)'v,
    beta = S^1/2 (u - b v). K + diag(1/s) is never formed: it diverges as s -> 0. One round of
    iterative refinement gains a digit of the certificate and costs two products.
    """
    root = np.sqrt(curvature)
    system = gram * root
    system *= root[:, None]
    system.flat[:: len(root) + 1] += 1
    factor = factor_in_place(system.T)  # the same matrix, in the order that LAPACK overwrites
    right = np.stack([root * target, root]).T
    both = solve_factored(factor, right.copy(order="F"))
    missed = right - both - root[:, None] * (gram @ (root[:, None] * both))
    u, v = (both + solve_factored(factor, missed)).T
    intercept = float(root @ u / (root @ v))
    return np.asarray(root * (u - intercept * v), dtype=np.float64), intercept


def solve_primal(
    hessian: Array, metric: Any, mean: Array, mass: float, residual: Array, shift: float
) -> tuple[Array, float]:
    """Return the steps in w and b from X'SX, the mean row and the right-hand side.

    (M + X'SX - mass mean mean') dw = residual - shift mean; db = shift / mass - mean.dw.
    """
    system = hessian - np.outer(mass * mean, mean)
    system.flat[:: len(mean) + 1] += metric
    step = definite(system)(residual - shift * mean)
    return step, float(shift / mass - mean @ step)


def definite(system: Array) -> Callable[[Array], Array]:
    """Return what solves a system by Cholesky; where rounding ate an eigenvalue, on the others.

    Newton asks for the step from where it stands, so what is left out now can be asked for again.
    """
    diagonal = system.diagonal().copy()
    (potrf,) = get_lapack_funcs(("potrf",), (system,))
    factor, info = potrf(system, lower=True, clean=False)
    if info == 0:
        return lambda right: solve_factored((factor, True), right)
    # Where rounding ate the diagonal itself, a unit from it would blow the rest up.
    least = max(np.finfo(float).eps ** 2 * float(diagonal.max()), np.finfo(float).tiny)
    root = np.sqrt(np.maximum(diagonal, least))
    scaled = system / root / root[:, None]
    if not np.all(np.isfinite(scaled)):
        raise np.linalg.LinAlgError(
            Message("A ridge system overflowed: scale the features with ", SCALE, ", or lower C.")
        )
    values, vectors = np.linalg.eigh(scaled)
    kept = values > len(values) * np.finfo(float).eps * values[-1]
    basis = vectors[:, kept]

    def solve(right: Array) -> Array:
        along = basis.T @ (right.T / root).T
        return ((basis @ (along.T / values[kept]).T).T / root).T

    return solve


def solve_cg(
    product: Callable[[Array], Array],
    metric: Any,
    diagonal: Array,
    mean: Array,
    mass: float,
    residual: Array,
    shift: float,
    atol: float,
) -> tuple[Array, float]:
    """Solve the system of `solve_primal` with products v -> X'S X v only (Jacobi scaling)."""
    size = len(mean)

    def centered(v: Array) -> Array:
        return metric * v + product(v) - (mass * (mean @ v)) * mean

    system = LinearOperator((size, size), matvec=centered, dtype=np.float64)
    jacobi = 1.0 / (metric + np.maximum(diagonal - mass * mean**2, 0.0))
    scaling = LinearOperator((size, size), matvec=lambda v: jacobi * v, dtype=np.float64)
    step, _ = cg(system, residual - shift * mean, rtol=0.0, atol=atol, M=scaling, maxiter=20 * size)
    return step, float(shift / mass - mean @ step)
