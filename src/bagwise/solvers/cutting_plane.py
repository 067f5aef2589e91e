"""Cutting planes with one slack a term (Zhang, Liu, Si, Zhang & Lawrence 2011, Table 1).

    min_w  1/2|w|^2 + sum_g lambda_g R_g(w),      R_g convex, R_g >= 0,

is solved over growing sets of cuts R_g(w) >= b_j + w.g_j. The master problem (8), in the dual,

    max_alpha  sum_j alpha_j b_j - 1/2|sum_j alpha_j g_j|^2,
               alpha >= 0,  sum_{j in g} alpha_j <= lambda_g,

has as many variables as cuts; w = -sum_j alpha_j g_j. Let xi_g be the highest cut of term g at w
(or 0). A term gets a new cut only while R_g(w) - xi_g > eps_g (6)-(7); when none does, w is within
sum_g lambda_g eps_g of the optimum. Any feasible alpha bounds the optimum from below, so the gap
of the result is proven whatever the master's own precision.

An iteration costs one product with the rows, one transposed product a new cut, and the terms' own
passes. Cuts that have not been active for a while are dropped, which leaves the master's optimum
where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagwise.designs import Design
from bagwise.oracles_graph import BagScores, Plane, Term
from bagwise.solvers.solution import Solution

__all__ = ["CutSolution", "cutting_plane"]

Array = NDArray[Any]

_PATIENCE = 30  # iterations that a cut may be idle
_DROPPED_AT_ONCE = 10  # dropping moves the slopes of all cuts: not for a single one
_IDLE = 1e-9  # share of its term's weight below which a cut is idle


@dataclass(frozen=True)
class CutSolution(Solution):
    """A solution and the cuts that hold it: (term number, plane) pairs."""

    cuts: list[tuple[int, Plane]] | None = None


class _Master:
    """The cuts and their products, in the order they were made."""

    def __init__(self, design: Design, intercept: bool, weights: Array) -> None:
        self.design, self.bias, self.limits = design, float(intercept), weights
        self._store = np.empty((_PATIENCE, design.n_coef + 1))
        self.heights, self.products = np.empty(0), np.empty((0, 0))
        self.term, self.idle = np.empty(0, dtype=int), np.empty(0, dtype=int)
        self.alpha = np.empty(0)
        self.planes: list[Plane] = []

    @property
    def slopes(self) -> Array:
        """The slopes g_j, one a row; the intercept's entry is the last."""
        return self._store[: len(self.planes)]

    def scores(self, w: Array) -> Array:
        return self.design @ w[:-1] + self.bias * w[-1]

    def add(self, number: int, plane: Plane, witnesses: Array) -> None:
        """Append a cut; its slope is one transposed product."""
        weights = plane.on_rows(witnesses)
        slope = np.append(self.design.T @ weights, self.bias * weights.sum())
        if len(self.planes) == len(self._store):
            self._store = np.concatenate([self._store, np.empty_like(self._store)])
        self._store[len(self.planes)] = slope
        self.planes.append(plane)
        across = self.design.inner(self.slopes[:, :-1], slope[:-1]) + self.slopes[:, -1] * slope[-1]
        self.products = np.pad(self.products, (0, 1))
        self.products[-1, :] = self.products[:, -1] = across
        self.heights = np.append(self.heights, plane.height)
        self.term, self.idle = np.append(self.term, number), np.append(self.idle, 0)
        self.alpha = np.append(self.alpha, 0.0)

    def solve(self) -> float:
        """Find alpha; return the dual value, and forget cuts that have long been idle."""
        self.alpha = _box_of_sums(self.products, self.heights, self.term, self.limits)
        active = self.alpha > _IDLE * self.limits[self.term]
        self.idle = np.where(active, 0, self.idle + 1)
        if np.count_nonzero(self.idle > _PATIENCE) >= _DROPPED_AT_ONCE:
            self._keep(self.idle <= _PATIENCE)
        return float(self.heights @ self.alpha - 0.5 * self.alpha @ self.products @ self.alpha)

    def _keep(self, kept: Array) -> None:
        self._store[: np.count_nonzero(kept)] = self.slopes[kept]
        self.heights = self.heights[kept]
        self.products = self.products[np.ix_(kept, kept)]
        self.term, self.idle, self.alpha = self.term[kept], self.idle[kept], self.alpha[kept]
        self.planes = [plane for plane, stays in zip(self.planes, kept, strict=True) if stays]

    def point(self) -> Array:
        return -(self.alpha @ self.slopes)

    def slacks(self) -> Array:
        """Return xi_g: the highest cut of each term at the current point, at least 0."""
        heights = self.heights - self.products @ self.alpha
        slacks = np.zeros(len(self.limits))
        np.maximum.at(slacks, self.term, heights)
        return slacks

    def squared_norm(self) -> float:
        return float(self.alpha @ self.products @ self.alpha)


def cutting_plane(
    design: Design,
    offsets: Array,
    terms: Sequence[Term],
    witnesses: Array,
    *,
    intercept: bool = True,
    cuts: list[tuple[int, Plane]] | None = None,
    max_iter: int = 5000,
) -> CutSolution:
    """Solve one convex problem.

    Parameters
    ----------
    design : Design
        All rows.
    offsets : ndarray of shape (n_bags + 1,)
        Where each bag starts.
    terms : sequence of Term
        The R_g with their weights lambda_g and precisions eps_g.
    witnesses : ndarray of int of shape (n_bags,)
        The row that speaks for each bag where a term is linearised.
    intercept : bool, default=True
        Append a constant feature 1; it is penalised like the others.
    cuts : list of (int, Plane), default=None
        Cuts of an earlier problem over the same rows, whatever its witnesses were.
    max_iter : int, default=5000
        Most iterations.

    Returns
    -------
    CutSolution
        ``dual`` holds the weights on rows, w = Phi'dual. ``history`` has one record an iteration:
        the master's ``dual`` value, the ``objective``, and for each term by name its violation
        R_g - xi_g; negative values below -eps cannot occur.
    """
    weights = np.array([term.weight for term in terms])
    # Scores of single precision cannot tell finer violations.
    precisions = np.maximum([term.eps for term in terms], design.rounding)
    master = _Master(design, intercept, weights)
    for number, plane in cuts or ():
        master.add(number, plane, witnesses)
    history: list[dict[str, float]] = []
    best, lower, settled = None, -np.inf, False
    while not settled and len(history) < max_iter:
        # 1) The minimiser of the model; its dual value is a lower bound.
        value = master.solve() if master.planes else 0.0
        lower = max(lower, value)
        w, slacks = master.point(), master.slacks()
        # 2) The terms there.
        scores = BagScores.of(master.scores(w), offsets, witnesses)
        planes = [term.evaluate(scores) for term in terms]
        risks = np.array([plane.value for plane in planes])
        objective = 0.5 * master.squared_norm() + float(weights @ risks)
        if best is None or objective < best[0]:
            best = (objective, w, scores.rows, master.alpha, list(master.planes))
        # 3) A cut for every term that is violated.
        violation = risks - slacks
        violated = violation > precisions
        for violator in np.flatnonzero(violated):
            master.add(int(violator), planes[violator], witnesses)
        settled = not violated.any()
        named = {t.name: float(v) for t, v in zip(terms, violation, strict=True)}
        history.append({"dual": value, "objective": objective, "cuts": len(master.planes), **named})
    assert best is not None
    return _solution(master, best, witnesses, lower, settled, history)


def _solution(
    master: _Master,
    best: Any,
    witnesses: Array,
    lower: float,
    settled: bool,
    history: list[dict[str, float]],
) -> CutSolution:
    objective, w, rows, alpha, planes = best
    dual = np.zeros(master.design.n_rows)
    for j in np.flatnonzero(alpha):
        dual -= alpha[j] * planes[j].on_rows(witnesses)
    implied = master.design.T @ dual
    away = master.design.squared_norm(w[:-1] - implied)
    return CutSolution(
        coef=w[:-1],
        intercept=float(master.bias * w[-1]),
        scores=rows,
        dual=dual,
        objective=objective,
        gap=max(objective - lower, 0.0),
        residual=float(np.sqrt(max(away, 0.0))),
        n_iter=len(history),
        converged=settled,
        history=history,
        cuts=[
            (int(number), plane)
            for number, plane, idle in zip(master.term, master.planes, master.idle, strict=True)
            if idle == 0
        ],
    )


def _box_of_sums(products: Array, heights: Array, group: Array, limits: Array) -> Array:
    """Maximise heights.alpha - 1/2 alpha'products alpha; alpha >= 0 sums to <= limit by group."""
    import piqp

    # In shares of the limits and at order one: the solver's tolerances are absolute.
    share = limits[group]
    quadratic = products * share * share[:, None]
    linear = heights * share
    unit = max(float(np.max(np.abs(linear))), float(np.max(np.diag(quadratic))), 1e-300)
    sums = np.zeros((len(limits), len(group)))
    sums[group, np.arange(len(group))] = 1.0
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-12
    solver.settings.check_duality_gap = True
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-12
    solver.settings.max_iter = 100
    k = len(group)
    solver.setup(
        quadratic / unit,
        -linear / unit,
        None,
        None,
        sums,
        np.full(len(limits), -np.inf),
        np.ones(len(limits)),
        np.zeros(k),
        np.full(k, np.inf),
    )
    status = solver.solve()
    found = np.asarray(solver.result.x)
    if not np.all(np.isfinite(found)):
        raise FloatingPointError(
            f"The master problem over {k} cuts failed ({status}): scale the features, or lower C."
        )
    alpha = np.maximum(found, 0.0)
    alpha /= np.maximum(1.0, sums @ alpha)[group]
    return alpha * share
