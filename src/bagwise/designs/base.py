"""What a solver may ask of the instances, wherever they live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Point(NamedTuple):
    """A candidate solution: coefficients, intercept, and ``design @ coef`` (no intercept)."""

    coef: Array
    intercept: float
    scores: Array

    def towards(self, other: Point, share: float) -> Point:
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
    (``coef`` holds dual coefficients, w = Phi' coef). ``design @ coef`` gives the scores Phi w and
    ``design.T @ beta`` the coefficients of Phi' beta, so that a solver never asks which it is.
    Vectors are float64 on the host whatever the instances are.
    """

    n_rows: int
    n_coef: int
    exact: bool = True  # False where `weighted_ridge` is iterative
    cost_is_cubic: bool = False  # whether a ridge problem costs the cube of its rows
    prepared: bool = False  # whether `prepare` left something that trades digits for speed
    rounding: float = 1e-14  # relative change of an objective that is below rounding

    @abstractmethod
    def __matmul__(self, coef: Array) -> Array:
        """Return the scores of all rows, without intercept."""

    @abstractmethod
    def adjoint(self, dual: Array) -> Array:
        """Return the coefficients of Phi' dual."""

    @abstractmethod
    def squared_norm(self, coef: Array, scores: Array | None = None) -> float:
        """Return |w|^2; the scores of w spare work where they are known."""

    def inner(self, many: Array, coef: Array) -> Array:
        """Return the inner products of weight vectors ``many`` (one a row) with one."""
        return many @ coef

    @abstractmethod
    def weighted_ridge(self, curvature: Array, target: Array, current: Point, atol: float) -> Point:
        """Minimise 1/2|w|^2 + 1/2 sum_k s_k (Phi_k w + b - t_k)^2.

        Parameters
        ----------
        curvature, target : ndarray of shape (n_rows,)
            The weights s (rows with s = 0 drop out) and targets t.
        current : Point
            Where the solver stands: iterative routes start here.
        atol : float
            Residual norm at which iterative routes may stop.

        Returns
        -------
        Point
            The minimiser; its intercept is that of ``current`` where no row has curvature.
        """

    @abstractmethod
    def aggregate(self, weights: Any) -> Design:
        """Return the design whose rows are ``weights @ rows`` (CSR, one row a combination)."""

    @abstractmethod
    def lift(self, weights: Any, coef: Array) -> Array:
        """Return this design's coefficients for ``coef`` found on ``aggregate(weights)``."""

    def prepare(self, curvature: Array) -> None:  # noqa: B027
        """Expect many ridge problems with curvature at most this: precompute what helps."""

    def fresh(self) -> Design:
        """Return the same rows without anything remembered from earlier problems."""
        return copy(self)

    def twin(self) -> Design:
        """Return the same rows with what was prepared, and a memory of its own."""
        return self.fresh()

    @abstractmethod
    def subset(self, rows: Array) -> Design:
        """Return the design of some rows (sorted), what was prepared carried over."""

    @property
    def T(self) -> Transposed:
        """The transposed operator: ``design.T @ dual``."""
        return Transposed(self)

    def start(self) -> Point:
        """Return the zero point."""
        return Point(np.zeros(self.n_coef), 0.0, np.zeros(self.n_rows))


def rounding_of(dtype: Any) -> float:
    """Return the relative change of a sum that is below rounding in this precision."""
    return 50 * float(np.finfo(dtype).eps)


@dataclass(frozen=True)
class Transposed:
    """``design.T``: from row space to coefficients."""

    design: Design

    def __matmul__(self, dual: Array) -> Array:
        """Return the coefficients of Phi' dual."""
        return self.design.adjoint(dual)
