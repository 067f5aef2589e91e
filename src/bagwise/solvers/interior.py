"""Interior-point method for the two-sided problem with the hinge loss and few features.

    min_{w,b} 1/2|w|^2 + sum_i u_i max(0, m_i - y_i z_i),   z_i = x_i.w + b,

with one i for every label of a row that has weight, and m_i its margin (1 by default). With duals
0 <= alpha_i <= u_i the optimum satisfies

    w = sum_i alpha_i y_i x_i,   sum_i alpha_i y_i = 0,   y_i z_i - m_i + xi_i - s_i = 0,
    alpha_i s_i = 0,   (u_i - alpha_i) xi_i = 0.

Newton's step toward products mu instead of 0 (Mehrotra 1992: a predictor, then a corrector) is a
weighted ridge regression in (w, b), as for the squared hinge. With
D_i = xi_i / (u_i - alpha_i) + s_i / alpha_i the new duals are alpha_i = y_i (t_i - z_i) / D_i. So a
design needs only its ridge step, and a dozen of these replace the millions of updates that
decomposition and coordinate descent take where the classes overlap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.designs import Design, Point
from bagwise.problems import Problem, Solution, certify
from bagwise.solvers.pieces import mend_gap
from bagwise.tolerances import NOTHING, TIE

_TO_THE_WALL = 0.995  # of the longest feasible step: the usual value for Mehrotra's method


@dataclass
class State:
    """Everything that must stay positive, one entry per row and label."""

    alpha: Array
    room: Array  # u - alpha, stored because a difference would lose its last digits
    slack: Array  # s
    excess: Array  # xi

    def products(self) -> float:
        """Return the mean of the complementary products."""
        total = self.alpha @ self.slack + self.room @ self.excess
        return float(total) / (2 * len(self.alpha))

    def move(self, step: State, length: float) -> State:
        """Return the state after part of a step."""
        pairs = zip(vars(self).values(), vars(step).values(), strict=True)
        return State(*(value + length * change for value, change in pairs))

    def longest_step(self, step: State) -> float:
        """Return the fraction of the step that stays feasible."""
        length = 1.0
        for value, change in zip(vars(self).values(), vars(step).values(), strict=True):
            falls = change < 0
            length = min(length, _TO_THE_WALL * np.min(-value[falls] / change[falls], initial=2.0))
        return length


@dataclass(frozen=True)
class Sides:
    """The rows, labels, weights and margins of the problem, one entry per row and label."""

    design: Design
    rows: Array
    labels: Array
    weights: Array
    margins: Array

    @classmethod
    def of(cls, problem: Problem) -> Sides:
        """List rows with both weights twice."""
        up, down = np.flatnonzero(problem.positive), np.flatnonzero(problem.negative)
        rows, labels = np.concatenate([up, down]), np.repeat([1.0, -1.0], [len(up), len(down)])
        margins = np.ones(len(rows)) if problem.margin is None else problem.margin[rows]
        if problem.target is not None:  # a score is too low or too high beside its target
            margins = margins + labels * problem.target[rows]
        weights = np.concatenate([problem.positive[up], problem.negative[down]])
        return cls(problem.design, rows, labels, weights, margins)

    def duals(self, alpha: Array) -> tuple[Array, Array]:
        """Return beta+ and beta- of the rows."""
        alpha, n = np.minimum(alpha, self.weights), self.design.n_rows
        is_up = self.labels > 0
        return (
            np.bincount(self.rows[is_up], alpha[is_up], n),
            np.bincount(self.rows[~is_up], alpha[~is_up], n),
        )

    def step(self, at: State, point: Point, goals: tuple[Any, Any]) -> tuple[Point, State]:
        """Return the ridge solution, and the step toward alpha s = goal, (u - alpha) xi = goal."""
        n, labels = self.design.n_rows, self.labels
        z = (point.scores + point.intercept)[self.rows]
        to_slack = goals[0] - at.alpha * at.slack
        to_excess = goals[1] - at.room * at.excess
        hardness = at.excess / at.room + at.slack / at.alpha  # D
        missing = self.margins - labels * z - at.excess + at.slack
        pull = missing - to_excess / at.room + to_slack / at.alpha
        target = z + labels * (pull + hardness * at.alpha)
        curvature = np.bincount(self.rows, 1 / hardness, n)
        total = np.bincount(self.rows, target / hardness, n)
        target = np.divide(total, curvature, out=np.zeros(n), where=curvature > 0)
        full = self.design.weighted_ridge(curvature, target, point, TIE)
        rise = (pull - labels * ((full.scores + full.intercept)[self.rows] - z)) / hardness
        slack = (to_slack - at.slack * rise) / at.alpha
        return full, State(rise, -rise, slack, (to_excess + at.excess * rise) / at.room)

    def repair_gap(self, problem: Problem, point: Point, at: State, tol: float) -> float:
        """Return the gap of duals near these, once the products are small enough for it to help."""
        if 2 * len(at.alpha) * at.products() > tol * problem.objective(point):
            return np.inf
        up, down = self.duals(at.alpha)
        freedom = np.minimum(at.alpha, at.room)
        of_rows = np.sqrt(np.bincount(self.rows, freedom**2, self.design.n_rows))
        value, loss = at.alpha @ self.margins, np.linalg.norm(freedom * self.margins)
        return mend_gap(problem, point, up - down, of_rows, float(value), float(loss))


def interior_point(problem: Problem, *, tol: float = 1e-7, max_iter: int = 60) -> Solution:
    """Solve a two-sided problem with the hinge loss and weight on both labels.

    ``tol`` is the maximum duality gap relative to the objective, raised where the design is less
    precise. Returns the point with the smallest gap.
    """
    sides = Sides.of(problem)
    ones, half = np.ones(len(sides.rows)), sides.weights / 2
    at, point = State(half, half, ones, ones), problem.design.start()
    best = certify(problem, point, *sides.duals(0 * half), n_iter=0, converged=False)
    history: list[dict[str, float]] = []
    tol, worse = max(tol, 10 * problem.design.rounding), False
    while not within(problem, best, tol) and len(history) < max_iter and not worse:
        # 1) The predictor aims at 0 and shows how far a step can go.
        _, step = sides.step(at, point, (0.0, 0.0))
        mu = at.products()
        reached = at.move(step, at.longest_step(step)).products()
        goal = mu * (reached / mu) ** 3
        # 2) The corrector aims at a smaller mu and at the products that the predictor missed.
        missed = (goal - step.alpha * step.slack, goal - step.room * step.excess)
        full, step = sides.step(at, point, missed)
        length = at.longest_step(step)
        at, point = at.move(step, length), point.toward(full, length)
        # 3) Keep the best: in the end rounding makes the duals worse again.
        duals = sides.duals(at.alpha)
        now = certify(problem, point, *duals, n_iter=len(history) + 1, converged=False)
        if not within(problem, now, tol):
            now = replace(now, gap=min(now.gap, sides.repair_gap(problem, point, at, tol)))
        history.append({"objective": now.objective, "gap": now.gap, "step": length})
        # Near the end, a gap that no longer falls is due to rounding.
        worse = now.gap >= best.gap and best.gap < NOTHING * best.objective
        best = now if now.gap < best.gap else best
    met = within(problem, best, tol)
    return replace(best, n_iter=len(history), converged=met, history=history)


def within(problem: Problem, solution: Solution, tol: float) -> bool:
    """Return whether the gap is a small part of the objective, or of the rounding of that at 0.

    Separable rows of 1e100 have an optimum of 1e-200, which no gap can be small beside.
    """
    worst = problem.risk(np.zeros(problem.design.n_rows))
    return solution.gap <= tol * (solution.objective + problem.design.rounding * worst)
