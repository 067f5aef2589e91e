"""Minimize alpha/2 |w|^2 + R(w) for a risk R that is a difference of convex functions.

NRBM alone stops where its own planes contradict each other, which proves nothing. So every round
runs NRBM from the best point with an empty bundle, and solves the convex majorizer that touches R
at its result (one step of CCCP), with a true lower bound. The loop ends when a round gains
nothing. The last bound then limits what any further CCCP step could gain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bagwise._typing import Array
from bagwise.problems import Solution
from bagwise.procedures.heldout import HeldOut
from bagwise.procedures.run import Callback, Journal, Run
from bagwise.solvers.bundle import bmrm, nrbm
from bagwise.tolerances import INNER, MAX_STEPS

if TYPE_CHECKING:
    from bagwise.models.markov.risk import MarkovRisk


def restart_nrbm(
    risk: MarkovRisk,
    alpha: float,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    max_steps: int = MAX_STEPS,
    callback: Callback | None = None,
    held_out: HeldOut | None = None,
) -> Run:
    """Run rounds of NRBM and one convex step until they gain nothing; return the best point seen.

    ``tol`` is the relative tolerance of both bundle methods, ``max_iter`` the maximum number of
    rounds; after ``max_steps`` steps no further round begins. ``held_out`` judges the start, every
    descent of NRBM and every convex step: the loop ends when it says so, and the iterate that it
    likes best is returned, with a bound of its own. The solution's gap is the objective of the last
    NRBM result minus a proven lower bound on the convex majorizer there. ``converged`` says whether
    the last round gained nothing and solved its convex problem.
    """
    coef, kept, best, journal = start, None, float("inf"), Journal(callback)
    gained, solved, gap, steps = True, False, float("inf"), 0
    stopped, unfinished = held_out is not None and held_out(start), 0
    while gained and not stopped and len(journal.records) < max_iter and steps < max_steps:
        # 1) NRBM with an empty bundle.
        rough = nrbm(risk, alpha, coef, tol=tol, max_iter=MAX_STEPS, stop=held_out)
        if held_out is not None and held_out.stopped:
            stopped, unfinished = True, rough.n_iter
            break
        # 2) One convex step from its result, which proves a bound.
        majorizer = risk.freeze(rough.scores)
        step = bmrm(majorizer, alpha, rough.coef, tol=tol, max_iter=MAX_STEPS)
        gap, solved = rough.objective - (step.objective - step.gap), step.converged
        # 3) Keep the better of the two.
        objective = risk.evaluate(step.scores)[0] + alpha / 2 * float(step.coef @ step.coef)
        better = replace(step, objective=objective) if objective < rough.objective else rough
        moved = not np.array_equal(better.coef, coef)  # otherwise the next round would be this one
        gained = moved and better.objective < best - INNER * tol * better.objective
        if better.objective < best:
            best, coef, kept = better.objective, better.coef, better
        taken = rough.n_iter + step.n_iter
        steps += taken
        journal.add(objective=best, gap=gap, solver_steps=float(taken))
        stopped = held_out is not None and better is not rough and held_out(better.coef)
    if held_out is not None:
        early = stopped or kept is None or not np.array_equal(kept.coef, held_out.coef)
        if early:
            kept = _measure(risk, alpha, held_out.coef, tol)
            gap, taken = kept.gap, unfinished + kept.n_iter
            journal.add(objective=kept.objective, gap=gap, solver_steps=float(taken))
        journal.records[-1].update(held_out.record(early=early))
    assert kept is not None  # max_iter >= 1
    solution = replace(kept, gap=max(gap, 0.0), history=[])
    return Run(solution, None, journal.records, stopped or (solved and not gained))


def _measure(risk: MarkovRisk, alpha: float, coef: Array, tol: float) -> Solution:
    """Return a point with the bound on what one convex step from it could gain."""
    scores = risk.forward(coef)
    objective = risk.value(scores) + alpha / 2 * float(coef @ coef)
    step = bmrm(risk.freeze(scores), alpha, coef, tol=tol, max_iter=MAX_STEPS)
    gap = objective - (step.objective - step.gap)
    return replace(step, coef=coef, scores=scores, objective=objective, gap=gap)
