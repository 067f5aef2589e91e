"""Cutting planes with one slack per term (Zhang, Liu, Si, Zhang & Lawrence 2011, Table 1).

    min_w  1/2|w|^2 + sum_g lambda_g R_g(w),      R_g convex, R_g >= 0,

is solved over growing sets of cuts R_g(w) >= b_j + w.g_j. The dual of the master problem (8),

    max_alpha  sum_j alpha_j b_j - 1/2|sum_j alpha_j g_j|^2,
               alpha >= 0,  sum_{j in g} alpha_j <= lambda_g,

has one variable per cut; w = -sum_j alpha_j g_j. Let xi_g be the highest cut of term g at w (or 0).
A term gets a new cut only while R_g(w) - xi_g > eps_g (6)-(7). When none does, w is within
sum_g lambda_g eps_g of the optimum. Any feasible alpha is a lower bound on the optimum, so the gap
of the result is proven whatever the precision of the master problem.

An iteration costs one product with the rows, one transposed product per new cut, and the terms' own
passes. Cuts that have been inactive for a while are dropped, which does not change the optimum of
the master problem.

With f the scores of all rows, top_i = max of f over bag i and fixed_i = f at the witness u_i of bag
i (chosen by CCCP), a term is convex in f. It returns its value and the plane R(f) >= height +
rows.f + witnesses.fixed (cuts (4) and (5)) in which ``witnesses`` is the part that depends on u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bagwise._typing import Array
from bagwise.bags.segments import segment_argmax
from bagwise.designs import Design
from bagwise.problems import Solution
from bagwise.solvers.qp import TOLERANCES, plane_shares
from bagwise.tolerances import PATIENCE, PROVEN, TIE

_AT_ONCE = 10  # cuts: dropping copies the slopes of all cuts: not worth it for a single one


@dataclass(frozen=True)
class CutSolution(Solution):
    """A solution and its active cuts, as pairs (term number, plane)."""

    cuts: list[tuple[int, Plane]] | None = None


class _Master:
    """The cuts and their inner products, oldest first."""

    def __init__(self, design: Design, fit_intercept: bool, weights: Array) -> None:
        self.design, self.constant, self.limits = design, float(fit_intercept), weights
        self._store = np.empty((PATIENCE, design.n_coef + 1))
        self.heights, self.products = np.empty(0), np.empty((0, 0))
        self.term, self.idle = np.empty(0, dtype=int), np.empty(0, dtype=int)
        self.alpha = np.empty(0)
        self.planes: list[Plane] = []

    @property
    def slopes(self) -> Array:
        """The slopes g_j, one per row; the last entry is the intercept's."""
        return self._store[: len(self.planes)]

    def scores(self, w: Array) -> Array:
        return self.design @ w[:-1] + self.constant * w[-1]

    def add(self, number: int, plane: Plane, witnesses: Array) -> bool:
        """Append a cut, whose slope is one transposed product; return whether it is a new one."""
        weights = plane.on_rows(witnesses)
        slope = np.append(self.design.adjoint(weights), self.constant * weights.sum())
        alike = (self.heights == plane.height) & (self.term == number)
        is_new = not np.any(np.all(self.slopes[alike] == slope, axis=1))
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
        return is_new

    def solve(self) -> float:
        """Find alpha, drop cuts that have long been inactive, and return the dual value."""
        self.alpha = _master_weights(self.products, self.heights, self.term, self.limits)
        active = self.alpha > PROVEN * self.limits[self.term]
        self.idle = np.where(active, 0, self.idle + 1)
        # Cuts that are dropped earlier tend to come back.
        if np.count_nonzero(self.idle > PATIENCE) >= _AT_ONCE:
            self._keep(self.idle <= PATIENCE)
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
    fit_intercept: bool = True,
    cuts: list[tuple[int, Plane]] | None = None,
    max_iter: int = 5000,
) -> CutSolution:
    """Solve one convex problem; ``dual`` holds the weights on rows, w = Phi'dual.

    The R_g come with their weights lambda_g and tolerances eps_g. ``witnesses`` are the rows that
    represent the bags where a term is linearized, and ``cuts`` those of an earlier problem over the
    same rows, possibly with other witnesses. An intercept is a constant feature 1, penalized like
    the others. Fewer than ``max_iter`` iterations are made where only known cuts are found.
    ``history`` has one record per iteration: the master's ``dual`` value, the ``objective``, and
    the violation R_g - xi_g of each term by name.
    """
    weights = np.array([term.weight for term in terms])
    # Scores in single precision cannot resolve smaller violations.
    precisions = np.maximum([term.eps for term in terms], design.rounding)
    master = _Master(design, fit_intercept, weights)
    for number, plane in cuts or ():
        master.add(number, plane, witnesses)
    history: list[dict[str, float]] = []
    best, lower, settled, stale = None, -np.inf, False, 0
    while not settled and len(history) < max_iter and stale < PATIENCE:
        # 1) Minimize the model; its dual value is a lower bound.
        value = master.solve() if master.planes else 0.0
        lower = max(lower, value)
        w, slacks = master.point(), master.slacks()
        # 2) Evaluate the terms there.
        scores = BagScores.of(master.scores(w), offsets, witnesses)
        planes = [term.evaluate(scores) for term in terms]
        risks = np.array([plane.value for plane in planes])
        objective = 0.5 * master.squared_norm() + float(weights @ risks)
        if best is None or objective < best[0]:
            best = (objective, w, scores.rows, master.alpha, list(master.planes))
        # 3) Add a cut for every violated term.
        violation = risks - slacks
        violated = violation > precisions
        new = [master.add(int(j), planes[j], witnesses) for j in np.flatnonzero(violated)]
        stale = 0 if any(new) else stale + 1
        settled = not violated.any()
        named = {t.name: float(v) for t, v in zip(terms, violation, strict=True)}
        history.append({"dual": value, "objective": objective, "cuts": len(master.planes), **named})
    assert best is not None
    promised = 2 * float(weights @ precisions)  # the master leaves as much open again
    return _solution(master, best, witnesses, lower, promised, history)


def _solution(
    master: _Master,
    best: tuple[float, Array, Array, Array, list[Plane]],
    witnesses: Array,
    lower: float,
    promised: float,
    history: list[dict[str, float]],
) -> CutSolution:
    objective, w, rows, alpha, planes = best
    gap = max(objective - lower, 0.0)
    dual = np.zeros(master.design.n_rows)
    for j in np.flatnonzero(alpha):
        dual -= alpha[j] * planes[j].on_rows(witnesses)
    implied = master.design.adjoint(dual)
    away = master.design.squared_norm(w[:-1] - implied)
    return CutSolution(
        coef=w[:-1],
        intercept=float(master.constant * w[-1]),
        scores=rows,
        dual=dual,
        objective=objective,
        gap=gap,
        residual=float(np.sqrt(max(away, 0.0))),
        n_iter=len(history),
        converged=gap <= promised + PROVEN * objective,
        history=history,
        cuts=[
            (int(number), plane)
            for number, plane, idle in zip(master.term, master.planes, master.idle, strict=True)
            if idle == 0
        ],
    )


def _master_weights(products: Array, heights: Array, group: Array, limits: Array) -> Array:
    tight = dict.fromkeys(TOLERANCES, TIE) | {"check_duality_gap": True}
    alpha, sums = plane_shares(products, heights, group, limits, ", or lower C.", **tight)
    alpha /= np.maximum(1.0, sums @ alpha)[group]
    return alpha * limits[group]


@dataclass(frozen=True)
class BagScores:
    """Scores of rows and of bags."""

    rows: Array  # f, (n_rows,)
    top: Array  # the highest score of each bag, (n_bags,)
    top_rows: Array  # the row that has it, (n_bags,)
    fixed: Array  # the score of each bag's witness, (n_bags,)

    @classmethod
    def of(cls, rows: Array, offsets: Array, witnesses: Array | None = None) -> BagScores:
        """Score the bags; the tops are the witnesses if none are given."""
        top_rows = offsets[:-1] + segment_argmax(rows, offsets)
        top = rows[top_rows]
        return cls(rows, top, top_rows, top if witnesses is None else rows[witnesses])


@dataclass(frozen=True)
class Plane:
    """A term's value and its cut."""

    value: float
    height: float
    rows: Array  # (n_rows,)
    witnesses: Array  # (n_bags,)

    def on_rows(self, witnesses: Array) -> Array:
        """Return all weights on rows, with the bags' witnesses at these rows."""
        weights = self.rows.copy()
        weights[witnesses] += self.witnesses  # one witness per bag: no row occurs twice
        return weights


class Term(Protocol):
    """A convex function of the scores, given the witnesses."""

    @property
    def name(self) -> str:
        """Its name in the history."""

    @property
    def weight(self) -> float:
        """Its factor in the objective."""

    @property
    def eps(self) -> float:
        """The tolerance of its cuts."""

    def evaluate(self, scores: BagScores) -> Plane:
        """Return the value and the plane at these scores."""

    def value(self, scores: BagScores) -> float:
        """Return the value alone."""
