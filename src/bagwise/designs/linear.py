"""Designs whose coefficients live in feature space; dense and sparse differ only in products."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.arrays import take_rows
from bagwise.designs.base import Design, Point, solve_cg, solve_dual, solve_primal
from bagwise.rowstores import RowStore
from bagwise.rowstores.base import lies_in_files, map_ranges, row_blocks
from bagwise.rowstores.cluster import ClusterRows, each_part
from bagwise.tolerances import PATIENCE, rounding_of

if TYPE_CHECKING:
    from bagwise.designs.augmented import Turn
    from bagwise.designs.conditioned import Shift

    Coordinates: TypeAlias = (
        Shift | Turn
    )  # in which a problem keeps its digits; it stays the stated one


_DESIGNS = {  # by the home of other rows: module and class, imported where they are used
    "sparse": ("sparse", "Sparse"),
    "device": ("torch", "TorchDense"),
}
LARGEST_SYSTEM = 2500  # Cholesky of d x d beats CG up to about here (benchmarks/core.py)
DIGITS_KEPT = np.finfo(float).eps ** 0.25  # of the diagonal's peak: a quarter of the digits may go


class LinearDesign(Design):
    """Rows with explicit features: the ridge step by Cholesky (d x d or n x n) or CG.

    |w|^2 = sum_j metric_j coef_j^2, and matrices (`weighted_gram`, `combine`) are in the
    coordinates of ``coef``; `matrix` returns rows whose products are those of the problem.
    """

    coordinates: Coordinates | None = None
    metric: Any = 1.0
    scale: Any = 1.0  # metric^-1/2

    def __init__(self, n_rows: int, n_coef: int, coordinates: Coordinates | None = None) -> None:
        self.n_rows, self.n_coef = n_rows, n_coef
        if coordinates is not None:
            self.place(coordinates)
        self.exact = min(n_rows, self.n_coef) <= LARGEST_SYSTEM
        self._hessian: tuple[Array, Array, Array, int] | None = None

    def place(self, coordinates: Coordinates) -> None:
        """Let coefficients be those of other coordinates."""
        self.coordinates, self.scale = coordinates, coordinates.scale
        self.metric, self.n_coef = self.scale**-2.0, len(self.scale)
        self.augmented = coordinates.augmented

    def condition(self) -> LinearDesign:
        """Return the rows centered and scaled where that saves digits."""
        return self

    def as_given(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """Return w and b of the rows as they were given."""
        if self.coordinates is None:
            return coef, intercept
        return self.coordinates.as_given(coef, intercept)

    @property
    def linear(self) -> LinearDesign:
        """This design: its coefficients are weights of features."""
        return self

    def products(self, rows: Array | None = None) -> Array:
        """Return the inner products between some rows, or all, in float64."""
        X = self.matrix(np.arange(self.n_rows) if rows is None else rows)
        products = X @ X.T
        products = products.toarray() if sp.issparse(products) else products
        return np.asarray(products, dtype=np.float64)

    @abstractmethod
    def weighted_gram(self, weights: Array) -> Array:
        """Return X' diag(weights) X; weights may be negative, and zeros cost nothing."""

    @abstractmethod
    def weighted_sum(self, weights: Array) -> Array:
        """Return X' weights in float64: it is subtracted from `weighted_gram`."""

    @abstractmethod
    def weighted_squares(self, weights: Array) -> Array:
        """Return the diagonal of X' diag(weights) X."""

    @abstractmethod
    def matrix(self, rows: Array) -> Any:
        """Return some rows as a matrix."""

    @abstractmethod
    def combine(self, weights: Any) -> Any:
        """Return the matrix ``weights @ X``."""

    def scores_of_many(self, coefs: Array) -> Array:
        """Return the scores of several weight vectors, one per column."""
        return np.stack([self @ coef for coef in coefs], axis=1)

    def squared_norm(self, coef: Array, scores: Array | None = None) -> float:
        """Return w.w."""
        w = coef / self.scale  # rather than by the metric, which squares the scale
        return float(w @ w)

    def inner(self, many: Array, coef: Array) -> Array:
        """Return the inner products of weight vectors ``many`` (one per row) with one."""
        if np.ndim(self.scale) == 0:  # it is 1: dividing by it would copy all vectors
            return many @ coef
        return (many / self.scale) @ (coef / self.scale)

    def weighted_ridge(self, curvature: Array, target: Array, current: Point, atol: float) -> Point:
        """Solve the smaller system for the step from ``current``, which loses fewer digits."""
        coef, intercept = self._ridge(curvature, target, current, atol)
        return Point(coef, intercept, self @ coef)

    def _ridge(
        self, curvature: Array, target: Array, current: Point, atol: float
    ) -> tuple[Array, float]:
        active = np.flatnonzero(curvature)
        if len(active) == 0:
            return np.zeros(self.n_coef), current.intercept
        if len(active) <= min(self.n_coef, LARGEST_SYSTEM):
            return self._dual_ridge(active, curvature[active], target[active])
        misfit = curvature * (target - current.scores - current.intercept)
        mass = float(curvature.sum())
        mean = self.weighted_sum(curvature) / mass
        residual = self.metric * (self.adjoint(misfit) - current.coef)
        shift = float(misfit.sum())
        if self.n_coef <= LARGEST_SYSTEM:
            hessian = self.hessian(curvature)
            step, rise = solve_primal(hessian, self.metric, mean, mass, residual, shift)
        else:
            step, rise = solve_cg(
                lambda v: self.metric * self.adjoint(curvature * (self @ v)),
                self.metric,
                self.weighted_squares(curvature),
                mean,
                mass,
                residual,
                shift,
                atol,
            )
        return current.coef + step, current.intercept + rise

    def _dual_ridge(self, active: Array, curvature: Array, target: Array) -> tuple[Array, float]:
        rows = self.matrix(active)
        products = rows @ rows.T
        if sp.issparse(products):
            products = products.toarray()
        beta, intercept = solve_dual(products, curvature, target)
        dual = np.zeros(self.n_rows)
        dual[active] = beta
        return self.adjoint(dual), intercept

    def hessian(self, curvature: Array) -> Array:
        """Return X'SX, updating the last one if few curvatures changed."""
        if self._hessian is not None:
            last, hessian, peak, age = self._hessian
            change = curvature - last
            few = 3 * np.count_nonzero(change) < np.count_nonzero(curvature)
            if few and age < PATIENCE:
                hessian = hessian + self.weighted_gram(change)
                peak = np.maximum(peak, np.diag(hessian))
                # After large rows were removed, only their rounding errors would remain.
                if np.all(np.diag(hessian) >= DIGITS_KEPT * peak):
                    self._hessian = (curvature, hessian, peak, age + 1)
                    return hessian
        hessian = self.weighted_gram(curvature)
        self._hessian = (curvature, hessian, np.diag(hessian), 0)
        return hessian

    def aggregate(self, weights: Any) -> Design:
        """Return combinations of rows; single rows are not copied."""
        return Aggregated(self, sp.csr_array(weights))

    def lift(self, weights: Any, coef: Array) -> Array:
        """Return w itself."""
        return coef

    def subset(self, rows: Array) -> LinearDesign:
        """Return the design of some rows."""
        return matrix_design(self.matrix(rows))

    def fresh(self) -> Design:
        """Return the same rows without the cached Hessian."""
        twin = super().fresh()
        twin._hessian = None  # type: ignore[attr-defined]
        return twin


class Aggregated(LinearDesign):
    """Rows ``weights @ X`` over a parent's rows; only combinations of several rows are stored."""

    def __init__(self, parent: LinearDesign, weights: Any) -> None:
        super().__init__(weights.shape[0], parent.n_coef)
        self.parent, self.weights = parent, weights
        entries = np.diff(weights.indptr)
        self.mixed = np.flatnonzero(entries != 1)
        self.single = np.flatnonzero(entries == 1)
        self.source = weights.indices[weights.indptr[:-1][self.single]]
        self.factor = weights.data[weights.indptr[:-1][self.single]]
        self.mixtures = matrix_design(parent.combine(weights[self.mixed]))
        self.rounding = parent.rounding
        self.metric, self.scale = parent.metric, parent.scale

    def __matmul__(self, coef: Array) -> Array:
        """Return the combined scores."""
        return self.weights @ (self.parent @ coef)

    def adjoint(self, dual: Array) -> Array:
        """Return X' weights' dual."""
        return self.parent.adjoint(self.weights.T @ dual)

    def _on_parent(self, weights: Array) -> Array:
        spread = self.factor**2 * weights[self.single]
        # bincount returns integers for empty input.
        return np.bincount(self.source, spread, minlength=self.parent.n_rows).astype(np.float64)

    def weighted_gram(self, weights: Array) -> Array:
        """Add the parent's single rows and the stored mixtures."""
        on_parent = self.parent.weighted_gram(self._on_parent(weights))
        return on_parent + self.mixtures.weighted_gram(weights[self.mixed])

    def weighted_sum(self, weights: Array) -> Array:
        """Return the weighted sum of the combined rows."""
        return self.parent.weighted_sum(self.weights.T @ weights)

    def weighted_squares(self, weights: Array) -> Array:
        """Return the diagonal of `weighted_gram`."""
        on_parent = self.parent.weighted_squares(self._on_parent(weights))
        return on_parent + self.mixtures.weighted_squares(weights[self.mixed])

    def matrix(self, rows: Array) -> Any:
        """Return some combined rows."""
        combined = self.parent.combine(self.weights[rows]) * self.scale
        return sp.csr_array(combined) if sp.issparse(combined) else combined

    def combine(self, weights: Any) -> Any:
        """Return combinations of the combinations."""
        return self.parent.combine(weights @ self.weights)


def matrix_design(X: Any) -> LinearDesign:
    """Return the linear design of a dense or sparse matrix, or of rows that are elsewhere."""
    home = X.home if isinstance(X, RowStore) else "sparse" if sp.issparse(X) else "here"
    if home in ("here", "cluster"):
        return Dense(X) if home == "here" else ClusterDense(X)
    module, name = _DESIGNS[home]
    return getattr(import_module(f"bagwise.designs.{module}"), name)(X)


class Dense(LinearDesign):
    """A dense matrix. Products run in its own precision (float16 in float32), sums in float64."""

    def __init__(self, X: Any, coordinates: Coordinates | None = None) -> None:
        super().__init__(X.shape[0], X.shape[1], coordinates)
        self.X = X
        self.precision = np.float32 if X.dtype == np.float16 else X.dtype.type
        if coordinates is not None:
            self.precision = np.float64
        self.rounding = rounding_of(self.precision)

    def subset(self, rows: Array) -> LinearDesign:
        """Return the design of some rows; many rows of a file stay there."""
        if self.coordinates is None and not lies_in_files(self.X):
            return matrix_design(self.matrix(rows))
        return type(self)(take_rows(self.X, rows), self.coordinates)

    def _blocks(self) -> Iterator[slice]:
        return row_blocks(self.n_rows, self.n_coef * np.dtype(self.precision).itemsize)

    def _each(self, function: Callable[[slice], Any]) -> list[Any]:
        """Return what a function makes of the blocks, in one pass."""
        return map_ranges(self.X, self._blocks(), function)

    def _rows(self, key: Any) -> Array:
        if self.coordinates is None:
            return np.asarray(self.X[key], dtype=self.precision)
        return self.coordinates.columns(np.asarray(self.X[key], dtype=np.float64))

    def _exact(self, key: Any) -> Array:
        """Return rows as they are kept, for products with float64."""
        return np.asarray(self.X[key]) if self.coordinates is None else self._rows(key)

    def __matmul__(self, coef: Array) -> Array:
        """Return X w."""
        coef = coef.astype(self.precision)
        parts = self._each(lambda block: self._rows(block) @ coef)
        return np.concatenate(parts).astype(np.float64)

    def adjoint(self, dual: Array) -> Array:
        """Return X' r, in the metric of the coefficients."""
        total = np.zeros(self.n_coef)
        for block in self._blocks():
            if np.any(dual[block]):
                total += dual[block].astype(self.precision) @ self._rows(block)
        return self.scale * (self.scale * total)

    def weighted_gram(self, weights: Array) -> Array:
        """Return X'SX, one symmetric product per block and sign.

        Always in float64: in float32 the rounding of a large X'SX would exceed the identity that
        the ridge system adds.
        """
        total = np.zeros((self.n_coef, self.n_coef))
        for sign in (1, -1):
            signed = np.maximum(sign * weights, 0)
            for block in self._blocks():
                used = block.start + np.flatnonzero(signed[block])
                if len(used):
                    rows = self._exact(used) * np.sqrt(signed[used])[:, None]
                    total += sign * (rows.T @ rows)
        return total

    def weighted_sum(self, weights: Array) -> Array:
        """Return X' weights."""
        total = np.zeros(self.n_coef)
        for block in self._blocks():
            total += weights[block] @ self._rows(block)
        return total

    def weighted_squares(self, weights: Array) -> Array:
        """Return the diagonal of X'SX."""
        kept = weights.astype(self.precision)
        return sum(
            self._each(lambda block: kept[block] @ self._rows(block) ** 2), np.zeros(self.n_coef)
        )

    def matrix(self, rows: Array) -> Any:
        """Return some rows; their products are those of the problem."""
        return self._rows(rows) if self.coordinates is None else self._rows(rows) * self.scale

    def combine(self, weights: Any) -> Array:
        """Return weights @ X in blocks, without a second copy of the rows."""
        total, columns = np.zeros((weights.shape[0], self.n_coef)), sp.csc_array(weights)
        for block in self._blocks():
            part = columns[:, block]
            if part.nnz:
                total += part @ self._rows(block)
        return total


class ClusterDense(Dense):
    """Dense rows of a Dask cluster, whose products with weights are made by the workers."""

    X: ClusterRows

    def __matmul__(self, coef: Array) -> Array:
        """Return X w."""
        coef = coef.astype(self.precision)
        blocks = [(block.start, block.stop) for block in self._blocks()]
        parts = each_part(self.X, _score, blocks, self.coordinates, coef)
        return np.concatenate(parts).astype(np.float64)


def _score(rows: ClusterRows, coordinates: Any, coef: Array) -> Array:
    """Return the scores of a block of rows."""
    return Dense(rows, coordinates)._rows(slice(None)) @ coef
