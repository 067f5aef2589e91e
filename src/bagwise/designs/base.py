"""What a solver may ask of the instances, and the ridge regression that designs answer by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import get_lapack_funcs
from scipy.sparse.linalg import LinearOperator, cg

from bagwise._typing import Array
from bagwise.errors import SCALE, Message

if TYPE_CHECKING:
    from bagwise.designs.linear import LinearDesign
    from bagwise.designs.lowrank import Sketch


class Point(NamedTuple):
    """A candidate solution: coefficients, intercept, and ``design @ coef`` (no intercept)."""

    coef: Array
    intercept: float
    scores: Array

    def toward(self, other: Point, share: float) -> Point:
        """Return the point that lies the given share of the way to another one."""
        if share == 1:
            return other
        return Point(
            self.coef + share * (other.coef - self.coef),
            self.intercept + share * (other.intercept - self.intercept),
            self.scores + share * (other.scores - self.scores),
        )


class Design(ABC):
    """Instances as a row operator Phi from coefficients to scores.

    A weight vector w lives in feature space (``coef`` is w itself) or in the span of the rows
    (``coef`` holds dual coefficients, w = Phi' coef). ``design @ coef`` is the scores Phi w and
    ``design.adjoint(beta)`` the coefficients of Phi' beta, so solvers need not know which it is.
    Vectors are float64 on the host, whatever the dtype of the instances.
    """

    n_rows: int
    n_coef: int
    passed: bool = False  # True of rows that are passed over (`bagwise.rows`), which are no design
    exact: bool = True  # False if `weighted_ridge` is iterative
    proves_itself: bool = False  # whether ``coef`` is dual and certifies itself: products are dear
    cost_is_cubic: bool = False  # whether a ridge problem costs the cube of its number of rows
    prepared: bool = False  # whether `prepare` stored something that trades digits for speed
    augmented: bool = False  # whether the last feature is the constant of a penalized intercept
    rounding: float = 1e-14  # relative change of an objective that is below rounding

    @abstractmethod
    def __matmul__(self, coef: Array) -> Array:
        """Return the scores of all rows, without intercept."""

    @abstractmethod
    def adjoint(self, dual: Array) -> Array:
        """Return the coefficients of Phi' dual."""

    @abstractmethod
    def squared_norm(self, coef: Array, scores: Array | None = None) -> float:
        """Return |w|^2; pass the scores of w if they are known, to save work."""

    def norm_bound(self, coef: Array) -> float:
        """Return |w|, or an upper bound if that is much cheaper."""
        return float(np.sqrt(max(self.squared_norm(coef), 0.0)))

    def inner(self, many: Array, coef: Array) -> Array:
        """Return the inner products of the weight vectors ``many`` (one per row) with ``coef``."""
        return many @ coef

    @abstractmethod
    def weighted_ridge(self, curvature: Array, target: Array, current: Point, atol: float) -> Point:
        """Minimize 1/2|w|^2 + 1/2 sum_k s_k (Phi_k w + b - t_k)^2, curvature s and target t.

        Iterative implementations start at ``current`` and stop at a residual norm of ``atol``. The
        intercept stays that of ``current`` if no row has curvature.
        """

    @property
    def linear(self) -> LinearDesign | None:
        """This design if its coefficients are weights of features, None if they are dual."""
        return None

    @abstractmethod
    def products(self, rows: Array | None = None) -> Array:
        """Return the matrix of inner products between some rows, or between all of them."""

    def sketch(self) -> Sketch | None:
        """Return the low-rank approximation that preconditions this design, if there is one."""
        return None

    @abstractmethod
    def aggregate(self, weights: Any) -> Design:
        """Return the design whose rows are ``weights @ rows`` (CSR, one row per combination)."""

    @abstractmethod
    def lift(self, weights: Any, coef: Array) -> Array:
        """Return this design's coefficients for ``coef`` found on ``aggregate(weights)``."""

    def as_given(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """Return coefficients and intercept of the rows, or of the kernel, as they were given."""
        return coef, intercept

    def prepare(self, curvature: Array) -> None:  # noqa: B027
        """Precompute what helps with many ridge problems of at most this curvature."""

    def fresh(self) -> Design:
        """Return the same rows without anything cached from earlier problems."""
        return copy(self)

    def twin(self) -> Design:
        """Return the same rows with what was prepared, and a cache of its own."""
        return self.fresh()

    @abstractmethod
    def subset(self, rows: Array) -> Design:
        """Return the design of some rows (sorted), including what was prepared."""

    def start(self) -> Point:
        """Return the zero point."""
        return Point(np.zeros(self.n_coef), 0.0, np.zeros(self.n_rows))


# The weighted ridge regression behind every Newton step, three ways:
#
#     min_{w,b} 1/2|w|^2 + 1/2 sum_k s_k (x_k.w + b - t_k)^2
#
# `solve_dual` eliminates w (an n x n system), `solve_primal` eliminates b (a d x d system), and
# `solve_cg` solves the latter by conjugate gradients if neither matrix should be formed.


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
