"""What a solver may ask of the instances, wherever they live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bagwise._typing import Array

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
    ``design.T @ beta`` the coefficients of Phi' beta, so solvers need not know which it is. Vectors
    are float64 on the host, whatever the dtype of the instances.
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
    nbytes: int = 0  # of what was computed to make it, such as a kernel matrix

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

    @property
    def T(self) -> Transposed:
        """The transposed operator."""
        return Transposed(self)

    def start(self) -> Point:
        """Return the zero point."""
        return Point(np.zeros(self.n_coef), 0.0, np.zeros(self.n_rows))


@dataclass(frozen=True)
class Transposed:
    """``design.T``: maps dual variables to coefficients."""

    design: Design

    def __matmul__(self, dual: Array) -> Array:
        """Return the coefficients of Phi' dual."""
        return self.design.adjoint(dual)
