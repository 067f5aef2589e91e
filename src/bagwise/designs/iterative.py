"""A large kernel matrix: ridge problems by conjugate gradients instead of factors.

A Newton step on n active rows by a factor costs n^3 / 3 operations. Here it costs a few products
with K, because three things are kept from one problem to the next: a low-rank approximation L L' of
K that preconditions all of them, the lower triangle of K on the rows that were active lately, and
the solution. K may be in float32, all sums are in float64, and the solution is that of the matrix
as it is held. Few active rows are factored, as in `Gram`.

With A = I + S^1/2 K S^1/2 on the active rows and a = S^1/2 1, the dual coefficients beta = S^1/2 u
of `ridge.solve_dual` and the intercept solve A u + b a = S^1/2 t, a'u = 0. CG runs on the plane
a'u = 0 (Gould, Hribar & Nocedal 2001).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.designs.base import Design, Point, factor_in_place, solve_dual, solve_factored
from bagwise.designs.gram import Gram, block_of, kernel_design
from bagwise.designs.lowrank import LowRank, Sketch
from bagwise.tolerances import INNER, PATIENCE, PROVEN, rounding_of

_MAX_ITERATIONS = 200  # about the cost of a factor of 7,000 rows


class Woodbury:
    """A^-1 for K = L L': I - S^1/2 L (I + L'SL)^-1 L' S^1/2."""

    def __init__(self, rows: Array, root: Array, hessian: Array) -> None:
        self.rows, self.root = rows, root
        self._root = root.astype(rows.dtype)
        system = hessian.astype(rows.dtype)  # a copy: it is factored in place
        system.flat[:: len(system) + 1] += 1
        self._factor = factor_in_place(system.T)
        self.ones = self(root)
        self.mass = float(root @ self.ones)

    def __call__(self, residual: Array) -> Array:
        """Return A^-1 residual."""
        weighted = self._root * residual.astype(self.rows.dtype)
        inner = solve_factored(self._factor, weighted @ self.rows)
        return residual - self._root * (self.rows @ inner)

    def intercept(self, residual: Array) -> float:
        """Return the multiple of ``root`` that a residual contains."""
        return float(self.root @ self(residual)) / self.mass


def solve_projected(
    product: Callable[[Array], Array],
    near: Woodbury,
    right: Array,
    start: tuple[Array, Array],
    value: float,
    atol: float,
) -> tuple[Array, bool]:
    """Return u, close enough to the solution for Newton's method, and whether it is.

    The primal objective Q of the ridge problem at w = Phi' S^1/2 u exceeds its minimum by at most
    |r|^2 / 2. CG stops where this is a small part of the decrease from ``value``, Q where Newton's
    method stands, or below atol^2 / 2. ``product`` is v -> K v on the active rows, ``right`` is
    S^1/2 (t - b) at some intercept b, ``start`` is u and K S^1/2 u.
    """
    root = near.root

    def system(v: Array) -> Array:
        return v + root * product(root * v)

    # 1) Move the start onto the plane.
    u, scores = start
    residual = right - root * scores - u
    if abs(root @ u) > len(u) * np.finfo(float).eps * (root @ np.abs(u)):  # more than rounding
        step = near.ones * (-(root @ u) / near.mass)
        u, residual = u + step, residual - system(step)
    direction, slope = np.zeros_like(u), 1.0
    best, best_at, best_u = np.inf, 0, u
    for iteration in range(_MAX_ITERATIONS + 1):
        # 2) Project the preconditioned residual. What is a multiple of the root belongs to the
        #    intercept; left in, it would drown the rest in rounding.
        ascent = near(residual)
        shift = float(root @ ascent) / near.mass
        ascent -= shift * near.ones
        right, residual = right - shift * root, residual - shift * root
        # 3) Stop if the rest cannot matter to Newton's method. A relative residual would ask too
        #    much far from the optimum and too little near it (36 to 1,202 steps instead of 10).
        excess = 0.5 * float(residual @ residual)
        if excess < (1 - INNER) * best:
            best, best_at, best_u = excess, iteration, u
        reached = 0.5 * float(u @ (right - residual - u) + (residual + u) @ (residual + u))
        enough = excess <= max(INNER / 2 * (value - reached), 0.5 * atol**2)
        if iteration and enough:
            return u, True
        if iteration > best_at + PATIENCE:
            break
        # 4) Take one step along a conjugate direction.
        last, slope = slope, float(residual @ ascent)
        if slope <= 0:  # nothing is left on the plane: the start, say, was the solution
            return u, enough
        direction = ascent + (slope / last if iteration else 0.0) * direction
        image = system(direction)
        length = slope / float(direction @ image)
        u, residual = u + length * direction, residual - length * image
    return best_u, False


_FACTORED = 600  # active rows: a factor takes 5 ms, less than conjugate gradients do
_MANY_ACTIVE = 12_000  # active rows: a factor, where CG fails at huge C, takes 2.3 GB and 30 s
_TRACE_LEFT = 0.3  # trace of S (K - L L') per row that conjugate gradients cope with
_ROWS_PER_COLUMN = 32  # columns up to n / 32 are cheap beside products with K
_GATHERED = 0.75  # of all rows: the triangle of more saves little, and one of less is made again


class Iterative(Gram):
    """A kernel matrix with many rows.

    Twins share K and its low-rank approximation. Nothing else is shared, so that no run depends on
    earlier ones.
    """

    exact = False
    proves_itself = True

    def __init__(self, K: Array, low_ranks: dict[Any, LowRank] | None = None) -> None:
        super().__init__(K)
        # In float32, K itself is rounded: smaller changes of an objective are not resolved.
        self.rounding = PROVEN if K.dtype == np.float32 else rounding_of(np.float64)
        self._low_ranks = {} if low_ranks is None else low_ranks
        self._trace, self._peak = float(self.root_diagonal @ self.root_diagonal), 0.0
        self._sketch: Sketch | None = None
        self._active, self._factored = ActiveRows(K), _FACTORED

    def __matmul__(self, coef: Array) -> Array:
        """Return K coef, summed in float64."""
        return self._plus(np.zeros(self.n_rows), coef)

    def _plus(self, scores: Array, coef: Array) -> Array:
        """Add K coef to scores, in place."""
        used = np.flatnonzero(coef)
        return self._plus_rows(scores, used, coef[used])

    def weighted_ridge(self, curvature: Array, target: Array, current: Point, atol: float) -> Point:
        """Factor few active rows; with more of them, run CG from ``current``."""
        active, coef = np.flatnonzero(curvature), np.zeros(self.n_coef)
        if len(active) == 0:
            return Point(coef, current.intercept, np.zeros(self.n_rows))
        if len(active) <= self._factored:
            return self._direct(curvature, target, active)
        root = np.sqrt(curvature[active])
        right = root * (target[active] - current.intercept)
        self.prepare(curvature)
        sketch = self.sketch()
        near = Woodbury(sketch.X[active], root, sketch.hessian(curvature))
        start, scores = self._warm(curvature, target, current)
        u, close = solve_projected(
            self._active.product(active),
            near,
            right,
            (start[active] / root, scores[active]),
            _quadratic(curvature, target, current),
            atol,
        )
        if not close and len(active) <= _MANY_ACTIVE:
            self._factored = len(active)  # the next problems will be as hard
            return self._direct(curvature, target, active)
        coef[active] = root * u
        scores = self @ coef
        rise = near.intercept(right - root * scores[active] - u)
        return Point(coef, current.intercept + rise, scores)

    def _direct(self, curvature: Array, target: Array, active: Array) -> Point:
        """Factor the active rows."""
        coef, block = np.zeros(self.n_coef), block_of(self.K, active, active)
        coef[active], intercept = solve_dual(
            block.astype(np.float64, copy=False), curvature[active], target[active]
        )
        return Point(coef, intercept, self @ coef)

    def _warm(self, curvature: Array, target: Array, current: Point) -> tuple[Array, Array]:
        """Return the coefficients that CG starts from, and their scores.

        At the optimum they equal what the rows ask for. Rows may have changed sides since.
        """
        asked = 2 * curvature * (target - current.scores - current.intercept)
        coef = np.clip(current.coef, np.minimum(asked, 0), np.maximum(asked, 0))
        return coef, self._plus(current.scores.copy(), coef - current.coef)

    # The low-rank approximation ------------------------------------------------------------------

    def prepare(self, curvature: Array) -> None:
        """Note the largest curvature to come: the preconditioner is made for it."""
        self._peak = max(self._peak, float(curvature.max(initial=0.0)))

    def sketch(self) -> Sketch:
        """Return the design of L, K ~ L L', close enough for the largest curvature so far."""
        # Beyond this curvature, rounding L'SL to float32 would exceed the identity beside it.
        is_large = self._peak * self._trace * np.finfo(np.float32).eps > 0.5
        dtype = np.float64 if self.K.dtype == np.float64 or is_large else np.float32
        if dtype not in self._low_ranks:
            self._low_ranks.setdefault(dtype, LowRank(self.K, dtype))
        low = self._low_ranks[dtype]
        # A tenth of the trace, if that costs few columns, takes 2 to 6 iterations per Newton step.
        per_row, cheap = self.n_rows / self._peak, self.n_rows // _ROWS_PER_COLUMN
        rank = max(
            low.rank_for(_TRACE_LEFT * per_row),
            low.rank_for(_TRACE_LEFT / 10 * per_row, most=cheap),
        )
        if self._sketch is None or self._sketch.low is not low or self._sketch.n_coef != rank:
            self._sketch = Sketch(low, rank)
        return self._sketch

    # The same matrix, or parts of it -------------------------------------------------------------

    def fresh(self) -> Iterative:
        """Return the same matrix and its low-rank approximation."""
        return Iterative(self.K, self._low_ranks)

    def twin(self) -> Iterative:
        """Return the same matrix and its low-rank approximation."""
        twin = self.fresh()
        twin._peak = self._peak
        return twin

    def subset(self, rows: Array) -> Gram:
        """Return the design of some rows (sorted)."""
        return _as_exact(kernel_design(block_of(self.K, rows, rows)))

    def aggregate(self, weights: Any) -> Design:
        """Return the kernel between combinations of rows; most of them are single rows."""
        from bagwise.designs._products import scatter_rows

        weights = sp.csr_array(weights)
        entries, first = np.diff(weights.indptr), weights.indptr[:-1]
        single, mixed = np.flatnonzero(entries == 1), np.flatnonzero(entries != 1)
        combined = np.empty((len(entries), len(entries)), self.K.dtype)
        scatter_rows(
            self.K, weights.indices[first[single]], weights.data[first[single]], single, combined
        )
        coef = weights[mixed]
        mixtures = np.zeros((len(mixed), self.n_rows))
        for i, scores in enumerate(mixtures):
            part = slice(coef.indptr[i], coef.indptr[i + 1])
            self._plus_rows(scores, coef.indices[part], coef.data[part])
        combined[mixed] = (weights @ mixtures.T).T
        combined[:, mixed] = combined[mixed].T
        return _as_exact(kernel_design(combined))


class ActiveRows:
    """Products with K on some rows, by its lower triangle on the rows that were active lately."""

    def __init__(self, K: Array) -> None:
        self.K = K
        self.rows = np.empty(0, dtype=np.intp)  # gathered, in the order in which they came
        self.place = np.full(len(K), -1)  # of a row among them
        self.lower = np.empty((0, 0), K.dtype)

    def product(self, active: Array) -> Callable[[Array], Array]:
        """Return the function v -> K v on the active rows."""
        from bagwise.designs._products import multiply_symmetric

        place, lower = active, self.K
        if len(active) <= min(_GATHERED * len(self.K), _MANY_ACTIVE):
            self._gather(active)
            place, lower = self.place[active], self.lower
        wide = np.zeros(len(self.rows) if lower is self.lower else len(lower))

        def product(v: Array) -> Array:
            wide[place] = v
            out = np.empty_like(wide)
            multiply_symmetric(lower, wide, out)
            return out[place]

        return product

    def _gather(self, active: Array) -> None:
        from bagwise.designs._products import gather_rows

        added = active[self.place[active] < 0]
        size = len(self.rows) + len(added)
        if size > len(self.lower) or len(active) < _GATHERED * size:
            self.rows, added, size = self.rows[:0], active, len(active)
            self.place[:] = -1
            self.lower = np.empty((room := int((1 + INNER) * size), room), self.K.dtype)
        first = len(self.rows)
        self.rows = np.concatenate([self.rows, added])
        self.place[added] = np.arange(first, size)
        gather_rows(self.K, self.rows, first, self.lower)


def _as_exact(design: Gram) -> Gram:
    """Return a part of a matrix in float64 where it is factored: float32 is for memory only."""
    return design if isinstance(design, Iterative) else Gram(design.K.astype(np.float64))


def _quadratic(curvature: Array, target: Array, at: Point) -> float:
    """Return the objective of a ridge problem at a point."""
    misfit = at.scores + at.intercept - target
    return 0.5 * float(at.coef @ at.scores + curvature @ misfit**2)
