"""Bundle methods for min_w alpha/2 |w|^2 + R(w): `bmrm` (convex R) and `nrbm` (any R >= 0).

A `ScoreOracle` gives R through linear scores z = Zw. Each iteration costs one forward and one
backward pass. The line search needs no pass, because scores on a line are known from its ends.

- `bmrm`: Teo et al. 2010, with the line search of Franc & Sonnenburg 2009. Planes lie below R, so
  the dual value of the master problem is a lower bound on the minimum: the gap is proven.
- `nrbm`: Do & Artieres 2012 for non-convex R. Planes that contradict the best point are shifted or
  tilted, so their dual value proves nothing (it closes by construction): ``gap`` is infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bagwise._typing import Array
from bagwise.problems import Solution
from bagwise.solvers.qp import simplex_qp
from bagwise.tolerances import INNER, PROVEN, TINY

# In as many steps the gap must fall, too: otherwise rounding decides, and more would not help.
_MAX_PLANES = 100  # piqp solves a master problem of this size in a millisecond
_BEYOND = 0.1  # of the way from the best point to the minimizer: Franc & Sonnenburg's mu
_STEPS = (1.0, 0.5, 0.25, 0.1, 0.03)  # tried from the best point to the minimizer, longest first


class ScoreOracle(Protocol):
    """A risk that depends on w through linear scores."""

    @property
    def n_coef(self) -> int:
        """Length of w."""

    def forward(self, w: Array) -> Array:
        """Return z = Zw."""

    def value(self, z: Array) -> float:
        """Return the risk."""

    def evaluate(self, z: Array) -> tuple[float, Array]:
        """Return the risk and a subgradient in z."""

    def backward(self, r: Array) -> Array:
        """Return Z'r."""


@dataclass(frozen=True)
class Place:
    """A point with its scores, risk, subgradient and objective."""

    w: Array
    z: Array
    risk: float
    r: Array
    objective: float


class Bundle:
    """Planes a_j.w + b_j, their shifts s_j, and the products the master problem needs."""

    def __init__(self, n_coef: int, alpha: float) -> None:
        self.alpha = alpha
        self.slopes = np.empty((0, n_coef))
        self.heights = np.empty(0)
        self.shifts = np.empty(0)
        self.idle = np.empty(0, dtype=int)
        self.gram = np.empty((0, 0))
        self.dual = np.empty(0)

    def add(self, slope: Array, height: float, shift: float = 0.0) -> None:
        """Append a plane; if there are too many, first merge those inactive for longest."""
        if len(self.heights) >= _MAX_PLANES:
            self._drop_idle()
        products = np.append(self.slopes @ slope, slope @ slope) / self.alpha
        self.slopes = np.vstack([self.slopes, slope])
        self.heights = np.append(self.heights, height)
        self.shifts = np.append(self.shifts, shift)
        self.idle = np.append(self.idle, 0)
        self.gram = np.pad(self.gram, (0, 1))
        self.gram[-1, :] = self.gram[:, -1] = products

    def _drop_idle(self) -> None:
        """Keep the aggregate of all planes and the most recently active half."""
        active = np.append(self.dual, np.zeros(len(self.heights) - len(self.dual)))
        mass = max(float(active.sum()), TINY)
        slope, height = active @ self.slopes / mass, float(active @ self.heights) / mass
        shift = float(active @ self.shifts) / mass
        kept = np.sort(np.argsort(self.idle, kind="stable")[: _MAX_PLANES // 2])
        self.slopes, self.heights = self.slopes[kept], self.heights[kept]
        self.shifts, self.idle = self.shifts[kept], self.idle[kept]
        self.gram, self.dual = self.gram[np.ix_(kept, kept)], active[kept]
        self.add(slope, height, shift)

    def solve(self) -> tuple[Array, float]:
        """Return the minimizer of the master problem and its dual value."""
        self.dual, value = simplex_qp(self.gram, self.heights)
        self.idle = np.where(self.dual > PROVEN, 0, self.idle + 1)
        return -(self.dual @ self.slopes) / self.alpha, value

    def lower_planes(self, best: Place, distance: float) -> None:
        """Lower old planes to the new best point after a descent step (NRBM rule b)."""
        self.shifts = self.shifts + self.alpha / 2 * distance
        limit = best.risk - self.slopes @ best.w - self.shifts
        self.heights = np.minimum(self.heights, limit)

    def reconcile(self, best: Place, place: Place, slope: Array) -> tuple[Array, float, float]:
        """Return a plane of a null step that agrees with the best point (NRBM rule c)."""
        half = self.alpha / 2
        height = place.risk - float(slope @ place.w)
        shift = half * float((place.w - best.w) @ (place.w - best.w))
        at_best = float(slope @ best.w)
        if at_best + height + shift <= best.risk:
            return slope, height, shift
        upper = best.risk - at_best - shift
        lower = best.objective - half * float(place.w @ place.w) - float(slope @ place.w)
        if lower <= upper:
            return slope, lower, shift
        slope = -self.alpha * best.w
        height = best.objective - half * float(place.w @ place.w) - float(slope @ place.w)
        return slope, height, shift


class _Run:
    """What both methods share: oracle, regularizer, line search, history."""

    def __init__(self, oracle: ScoreOracle, alpha: float, start: Array) -> None:
        self.oracle, self.alpha = oracle, alpha
        self.bundle = Bundle(oracle.n_coef, alpha)
        self.best = self.place(start, oracle.forward(start))
        self.history: list[dict[str, float]] = []
        self.progress = (np.inf, 0)  # gap and step at which it last fell

    def place(self, w: Array, z: Array) -> Place:
        risk, r = self.oracle.evaluate(z)
        return Place(w, z, risk, r, risk + self.alpha / 2 * float(w @ w))

    def between(self, start: Place, w: Array, z: Array, step: float) -> Place:
        return self.place(start.w + step * (w - start.w), start.z + step * (z - start.z))

    def search(self, w: Array, z: Array, *, convex: bool) -> Place:
        """Return the best of a few points on the way from the best point to w."""
        start, far, across = self.best, w - self.best.w, z - self.best.z
        norms = float(start.w @ start.w), float(start.w @ far), float(far @ far)
        best, lowest = _STEPS[0], np.inf
        for step in _STEPS:
            norm = norms[0] + step * (2 * norms[1] + step * norms[2])
            objective = self.oracle.value(start.z + step * across) + self.alpha / 2 * norm
            if objective < lowest:
                best, lowest = step, objective
            elif convex:  # it rises from here on
                break
        return self.between(start, w, z, best)

    def plane(self, place: Place) -> tuple[Array, float]:
        slope = self.oracle.backward(place.r)
        return slope, place.risk - float(slope @ place.w)

    def record(self, lower: float) -> None:
        planes = float(len(self.bundle.heights))
        self.history.append({"objective": self.best.objective, "lower": lower, "planes": planes})
        gap = self.best.objective - lower
        if gap < (1 - INNER) * self.progress[0]:
            self.progress = (gap, len(self.history))

    def may_continue(self, max_iter: int) -> bool:
        return len(self.history) < min(max_iter, self.progress[1] + _MAX_PLANES)

    def solution(self, gap: float, converged: bool) -> Solution:
        slopes = self.bundle.slopes[: len(self.bundle.dual)]
        residual = self.best.w + self.bundle.dual @ slopes / self.alpha
        return Solution(
            coef=self.best.w,
            intercept=0.0,
            scores=self.best.z,
            dual=self.bundle.dual,
            objective=self.best.objective,
            gap=gap,
            residual=float(np.max(np.abs(residual), initial=0.0)),
            n_iter=len(self.history),
            converged=converged,
            history=self.history,
        )


def bmrm(
    oracle: ScoreOracle, alpha: float, start: Array, *, tol: float = 1e-2, max_iter: int = 200
) -> Solution:
    """Minimize alpha/2 |w|^2 + R(w) for convex R >= 0, to a gap of ``tol`` times the objective.

    ``gap`` is the objective minus a proven lower bound on the minimum. Fewer than ``max_iter``
    iterations are made where it no longer falls.
    """
    run, lower, converged = _Run(oracle, alpha, start), 0.0, False
    run.bundle.add(*run.plane(run.best))
    while not converged and run.may_continue(max_iter):
        # 1) Minimize the model; this proves a bound.
        w, value = run.bundle.solve()
        lower = max(lower, value)
        # 2) Find the best point on the way there.
        z = oracle.forward(w)
        better = run.search(w, z, convex=True)
        if better.objective < run.best.objective:
            run.best = better
        # 3) Add a plane a little beyond it.
        run.bundle.add(*run.plane(run.between(run.best, w, z, _BEYOND)))
        run.record(lower)
        converged = run.best.objective - lower <= tol * run.best.objective
    return run.solution(run.best.objective - lower, converged)


def nrbm(
    oracle: ScoreOracle,
    alpha: float,
    start: Array,
    *,
    tol: float = 1e-2,
    max_iter: int = 200,
    stop: Callable[[Array], bool] | None = None,
) -> Solution:
    """Decrease alpha/2 |w|^2 + R(w) for R >= 0 that need not be convex.

    The parameters are those of `bmrm`. Iteration stops when the model promises a decrease of less
    than tol * objective, or when ``stop`` says so, which is asked about every new best point. The
    result is never worse than ``start``; ``gap`` is infinite, because nothing is proven.
    """
    run, converged = _Run(oracle, alpha, start), False
    run.bundle.add(*run.plane(run.best))
    while not converged and run.may_continue(max_iter):
        # 1) Minimize the model, and find the best point on the way there.
        w, value = run.bundle.solve()
        place = run.search(w, oracle.forward(w), convex=False)
        slope, height = run.plane(place)
        if place.objective < run.best.objective:
            # 2) Descent: older planes give way to the new best point.
            distance = float((place.w - run.best.w) @ (place.w - run.best.w))
            run.best = place
            run.bundle.lower_planes(place, distance)
            run.bundle.add(slope, height)
            if stop is not None and stop(place.w):
                break
        else:
            # 3) Null step: the new plane gives way to the best point.
            run.bundle.add(*run.bundle.reconcile(run.best, place, slope))
        run.record(value)
        converged = run.best.objective - value <= tol * run.best.objective
    return run.solution(np.inf, converged)
