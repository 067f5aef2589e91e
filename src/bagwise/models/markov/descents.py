"""The descents of a Markov network: one a start, as fine as what there is to be gained.

The bundle methods stop at a gap relative to the objective. Where alpha is large, or the bags say
little, everything that can be gained over w = 0 is smaller than that, and a descent may end at
w = 0 although others lie below. So descents whose gain is small against the objective are repeated
with a tolerance in proportion to the gain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import AtLeastPotential
from bagwise.models.markov.ranges import EXACT
from bagwise.models.markov.risk import MarkovRisk
from bagwise.models.markov.starts import TRAINED, start_point
from bagwise.models.markov.swept import STEPS, descend_by_passes, is_swept
from bagwise.procedures import Run
from bagwise.procedures.heldout import HeldOut
from bagwise.procedures.nrbm import restart_nrbm

_HELD_OUT = ("validation_score", "validation_loss", "stopped_early")  # of a record
_DESCENDING = "mean"  # the start to add where those given find nothing

FROM_LAST = "path"  # the start of a network on a path: where its neighbor ended

Records = list[dict[str, Any]]


def run_starts(
    names: Sequence[str],
    risk: MarkovRisk,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
    seed: int,
    callback: Callable[[dict[str, float]], None] | None = None,
    held: MarkovRisk | None = None,
    patience: int = 1,
    last: Array | None = None,
) -> tuple[Run, Records]:
    """Descend from every start; return the lowest end, and a record of all.

    "mean" is added where the given starts end at the objective of w = 0, and ``tol`` becomes finer
    where little is gained. A record has the start's name, objective, gap and number of rounds, and
    the objective of w = 0. With ``held``, the risk of held-out bags, descents stop early, and the
    end with the best held-out score is returned. The start `FROM_LAST` is ``last``.
    """

    def run(name: str, tolerance: float, **limits: Any) -> Run:
        start = last if name == FROM_LAST else start_point(name, risk, alpha, tolerance, seed)
        assert start is not None
        if held is None and is_swept(risk):
            learns = not isinstance(risk.inference.potential, AtLeastPotential)
            limits |= {"max_iter": max_iter, "trained": learns and name in TRAINED}
            return descend_by_passes(risk, alpha, start, tol=tolerance, callback=callback, **limits)
        return restart_nrbm(
            risk,
            alpha,
            start,
            tol=tolerance,
            max_iter=max_iter,
            callback=callback,
            held_out=_judge(held, patience),
            **limits,
        )

    zero, tolerance = risk.value(risk.zero()), tol
    fits = [(name, run(name, tol)) for name in names]
    best = _lowest(fits)
    if best.solution.objective >= zero and _DESCENDING not in names:
        fits.append((_DESCENDING, run(_DESCENDING, tol)))
        best = _lowest(fits)
    # Until the tolerance is a small part (the root of the one asked for) of what was gained.
    while (
        zero - best.solution.objective < tolerance / np.sqrt(tol) * zero
        and not _is_stopped(best)
        and tolerance > EXACT
        and best.converged
    ):
        share = (zero - best.solution.objective) / zero
        tolerance = max(tol * min(tolerance, share), EXACT)
        # What the asked tolerance found converged stays so: the finer one was not asked for.
        finer = [run(name, tolerance, max_steps=STEPS) for name, _ in fits]
        fits = [(name, _lower(fit, fine)) for (name, fit), fine in zip(fits, finer, strict=True)]
        best = _lowest(fits)
    return best, [_record(name, fit, zero) for name, fit in fits]


def find_idle(records: Records) -> list[Any]:
    """Name the classes (None for a joint problem) whose starts all end no lower than w = 0."""
    learned = {record.get("class") for record in records if _gains(record)}
    return list(dict.fromkeys(r.get("class") for r in records if r.get("class") not in learned))


def _gains(record: dict[str, Any]) -> bool:
    zero = record["objective_of_zero"]
    gained = zero == 0 or zero - record["objective"] > EXACT * zero
    return gained or record.get("stopped_early", False)


def _lowest(fits: list[tuple[str, Run]]) -> Run:
    return min((fit for _, fit in fits), key=_rank)


def _rank(fit: Run) -> tuple[float, float, float]:
    """Order ends by their held-out scores, where there are any, and by their objectives."""
    last = fit.history[-1]
    scores = -last.get("validation_score", 0.0), last.get("validation_loss", 0.0)
    return *scores, fit.solution.objective


def _is_stopped(fit: Run) -> bool:
    return fit.history[-1].get("stopped_early", False)


def _judge(held: MarkovRisk | None, patience: int) -> HeldOut | None:
    """Return what judges iterates by the accuracy and the mean loss of held-out bags."""
    if held is None:
        return None

    def judge(coef: Array) -> tuple[float, float]:
        z = held.forward(coef)
        right = held.totals(z).argmax(axis=0) == held.codes
        return float(np.average(right, weights=held.weight)), held.value(z) / held.weight.sum()

    return HeldOut(judge, patience)


def _lower(coarse: Run, fine: Run) -> Run:
    lower = fine if _rank(fine) < _rank(coarse) else coarse
    return replace(lower, converged=coarse.converged or fine.converged)


def _record(name: str, fit: Run, zero: float) -> dict[str, Any]:
    return {
        "init": name,
        "objective": fit.solution.objective,
        "gap": fit.solution.gap,
        "rounds": len(fit.history),
        "objective_of_zero": zero,
        **{key: value for key, value in fit.history[-1].items() if key in _HELD_OUT},
    }
