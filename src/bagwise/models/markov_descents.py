"""The descents of a Markov network: one a start, as fine as what there is to be gained.

The bundle methods stop at a gap relative to the objective. Where lambda is large, or the bags say
little, everything that can be gained over w = 0 is smaller than that, and a descent may end at
w = 0 although others lie below. So descents whose gain is small against the objective are repeated
with a tolerance in proportion to the gain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bagwise.models.markov_starts import start_point
from bagwise.oracles_markov import MarkovRisk
from bagwise.procedures.descend import Descent, descend

__all__ = ["learned_nothing", "run_starts"]

_SMALL_GAIN = 10.0  # times the tolerance: less is repeated
_FINER = 0.01
_FINEST = 1e-10
_NOTHING = 1e-12
_DESCENDING = "means"  # the start to add where those given find nothing

Records = list[dict[str, Any]]


def run_starts(
    names: Sequence[str],
    risk: MarkovRisk,
    lambda_: float,
    *,
    tol: float,
    max_iter: int,
    seed: int,
    callback: Callable[[dict[str, float]], None] | None = None,
) -> tuple[Descent, Records]:
    """Descend from every start; return the lowest end, and a record of all.

    Parameters
    ----------
    names : sequence of str
        The starts; "means" is added where these end at the objective of w = 0.
    risk : MarkovRisk
        The risk.
    lambda_ : float
        Weight of its regulariser.
    tol : float
        Tolerance of the bundle methods, relative to the objective; finer where little is gained.
    max_iter : int
        Most rounds of a descent.
    seed : int
        Seed of the start "random".
    callback : callable, default=None
        Called with the record of each round.

    Returns
    -------
    Descent, list of dict
        The lowest descent; name, objective, gap and rounds of each, and the objective of w = 0.
    """

    def run(name: str, tolerance: float) -> Descent:
        start = start_point(name, risk, lambda_, tolerance, seed)
        return descend(risk, lambda_, start, tol=tolerance, max_iter=max_iter, callback=callback)

    zero, tolerance = risk.value(risk.zero()), tol
    fits = [(name, run(name, tol)) for name in names]
    best = _lowest(fits)
    if best.objective >= zero and _DESCENDING not in names:
        fits.append((_DESCENDING, run(_DESCENDING, tol)))
        best = _lowest(fits)
    while zero - best.objective < _SMALL_GAIN * tolerance * zero and tolerance > _FINEST:
        share = (zero - best.objective) / zero
        tolerance = max(min(_FINER * tolerance, tol * share), _FINEST)
        # What the asked tolerance found converged stays so: the finer one was not asked for.
        fits = [(name, _kept(fit, run(name, tolerance))) for name, fit in fits]
        best = _lowest(fits)
    return best, [_record(name, fit, zero) for name, fit in fits]


def learned_nothing(records: Records) -> list[Any]:
    """Name the classes (None for a joint problem) whose starts all end no lower than w = 0."""
    learned = {record.get("class") for record in records if _gains(record)}
    return list(dict.fromkeys(r.get("class") for r in records if r.get("class") not in learned))


def _gains(record: dict[str, Any]) -> bool:
    zero = record["objective_of_zero"]
    return zero == 0 or zero - record["objective"] > _NOTHING * zero


def _lowest(fits: list[tuple[str, Descent]]) -> Descent:
    return min((fit for _, fit in fits), key=lambda fit: fit.objective)


def _kept(coarse: Descent, fine: Descent) -> Descent:
    lower = fine if fine.objective < coarse.objective else coarse
    return replace(lower, converged=coarse.converged or fine.converged)


def _record(name: str, fit: Descent, zero: float) -> dict[str, Any]:
    return {
        "start": name,
        "objective": fit.objective,
        "gap": fit.gap,
        "rounds": len(fit.history),
        "objective_of_zero": zero,
    }
