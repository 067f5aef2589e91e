"""Descend lambda/2 |w|^2 + R(w) for a risk R that is a difference of convex functions.

NRBM alone ends where its own planes contradict each other, which proves nothing. So every round
runs NRBM from the best point with an empty bundle and then solves the convex majoriser that touches
R at its result (one step of CCCP), with a true lower bound. The loop ends when a round gains
nothing; the last bound then says how much any further CCCP step could gain at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from bagwise.solvers.bundle import ScoreOracle, bmrm, nrbm

__all__ = ["Descent", "descend"]

Array = NDArray[Any]

_LEAST_GAIN = 0.1  # of the solvers' tolerance
_BUNDLE_STEPS = 500


class MajorisedRisk(ScoreOracle, Protocol):
    """A risk that gives a convex majoriser at any point."""

    def frozen(self, z: Array) -> ScoreOracle:
        """Return a convex risk that is nowhere below this one and touches it at z."""


@dataclass(frozen=True)
class Descent:
    """Where a descent ended, and every round on the way.

    Attributes
    ----------
    coef, scores : ndarray
        The point w and z = Zw.
    objective : float
        lambda/2 |w|^2 + R(w).
    gap : float
        Objective of the last NRBM result minus a proven lower bound on the convex majoriser there.
    history : list of dict
        One record a round.
    converged : bool
        Whether the last round gained nothing and its convex problem was solved.
    """

    coef: Array
    scores: Array
    objective: float
    gap: float
    history: list[dict[str, float]]
    converged: bool


def descend(
    risk: MajorisedRisk,
    lambda_: float,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[dict[str, float]], None] | None = None,
) -> Descent:
    """Run rounds of NRBM and one convex step until they gain nothing.

    Parameters
    ----------
    risk : MajorisedRisk
        The risk R >= 0.
    lambda_ : float
        Weight of the regulariser.
    start : ndarray of shape (n_coef,)
        Where to begin.
    tol : float
        Relative tolerance of both bundle methods.
    max_iter : int
        Most rounds.
    callback : callable, default=None
        Called with each history record.

    Returns
    -------
    Descent
        The best point seen.
    """
    coef, scores, best = start, None, float("inf")
    history: list[dict[str, float]] = []
    gained, solved, gap = True, False, float("inf")
    while gained and len(history) < max_iter:
        # 1) NRBM with an empty bundle.
        rough = nrbm(risk, lambda_, coef, tol=tol, max_iter=_BUNDLE_STEPS)
        # 2) One convex step from its result, and what that proves.
        majoriser = risk.frozen(rough.scores)
        step = bmrm(majoriser, lambda_, rough.coef, tol=tol, max_iter=_BUNDLE_STEPS)
        gap, solved = rough.objective - (step.objective - step.gap), step.converged
        # 3) Keep the better of the two.
        objective = risk.evaluate(step.scores)[0] + lambda_ / 2 * float(step.coef @ step.coef)
        kept = (objective, step) if objective < rough.objective else (rough.objective, rough)
        gained = kept[0] < best - _LEAST_GAIN * tol * kept[0]
        if kept[0] < best:
            best, coef, scores = kept[0], kept[1].coef, kept[1].scores
        steps = float(rough.n_iter + step.n_iter)
        history.append({"objective": best, "gap": gap, "solver_steps": steps})
        if callback is not None:
            callback(history[-1])
    assert scores is not None
    return Descent(coef, scores, best, max(gap, 0.0), history, solved and not gained)
