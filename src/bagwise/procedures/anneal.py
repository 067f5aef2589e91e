"""Deterministic annealing: alternate at a temperature, cool, repeat (Gehler & Chapelle 2007).

Algorithms 1 and 2 with one schedule: T <- T / 1.5 from 10 C, at each temperature a convex problem
in w and the assignment of least expected cost minus T x entropy, until the assignment rests. The
paper ends when the entropy is gone (labels) or nothing moves (witnesses). Either ends it here, if
the coldest temperature would move nothing either, and a temperature floor always does, because
penalties and ties can keep entropy alive for ever. Where a temperature moves nothing to speak of,
the next stride is longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagwise.designs import Point
from bagwise.segments import expand
from bagwise.softening import Softened

__all__ = ["Annealed", "Schedule", "anneal"]

Array = NDArray[Any]

_IDLE = 0.25  # share of the resting divergence below which a temperature was not worth its stop
_UNCHANGED = 1e-4  # of any probability, over one temperature


@dataclass(frozen=True)
class Schedule:
    """When to cool and when to stop.

    Attributes
    ----------
    hottest, coldest : float
        First and last temperature.
    cooling : float
        Smallest factor between temperatures.
    rest : float
        Divergence a bag below which an assignment rests at its temperature.
    entropy : float
        Entropy an instance below which the run ends (it also ends when nothing moves).
    max_inner : int
        Most alternations at one temperature.
    """

    hottest: float
    coldest: float
    cooling: float = 1.5
    rest: float = 1e-3
    entropy: float = 1e-3
    max_inner: int = 100


@dataclass(frozen=True)
class Annealed:
    """Where the annealing ended, and one record a temperature."""

    point: Point
    first: Point  # the solution of the first convex problem
    assignment: Array
    history: list[dict[str, Any]]
    settled: bool  # False when some temperature ended at max_inner


def anneal(
    fit: Callable[[Array, Any], tuple[Point, int]],
    soften: Callable[[Point, Array, float], Softened],
    energy: Callable[[Point, Softened, float], float],
    start: Array,
    offsets: Array,
    weight: Array,
    schedule: Schedule,
    callback: Callable[[dict[str, Any]], None] | None = None,
    point: Point | None = None,
) -> Annealed:
    """Run the annealing.

    Parameters
    ----------
    fit : callable
        ``fit(p, last_point)`` solves the convex problem; returns the point and the number of
        factorisations it took.
    soften : callable
        ``soften(point, p, T)`` returns the next assignment.
    energy : callable
        ``energy(point, softened, T)`` returns the objective at a temperature.
    start : ndarray
        The first assignment, over the instances of the positive bags.
    offsets, weight : ndarray
        Offsets and weights of the positive bags.
    schedule : Schedule
        Temperatures and stopping rules.
    callback : callable, default=None
        Called with each record.
    point : Point, default=None
        The solution of the first convex problem, where it is known.

    Returns
    -------
    Annealed
        The last point, the last assignment and the history.
    """
    history: list[dict[str, Any]] = []
    here, first = None, point  # type: Any, Any
    p, temperature, began = start, schedule.hottest, perf_counter()
    instances = expand(weight, offsets)
    settled, done, stride = True, False, schedule.cooling
    while not done:
        entered, factorisations, divergence, inner = p, 0, np.inf, 0
        while divergence >= schedule.rest and inner < schedule.max_inner:
            here, steps = (first, 0) if here is None and first is not None else fit(p, here)
            first = here if first is None else first
            softened = soften(here, p, temperature)
            p, divergence = softened.p, float(weight @ softened.divergence / weight.sum())
            factorisations, inner = factorisations + steps, inner + 1
        settled &= divergence < schedule.rest
        record = {
            "temperature": temperature,
            "objective": energy(here, softened, temperature),
            "entropy": float(weight @ softened.entropy),
            "divergence": divergence,
            "p_hat": float(instances @ p / instances.sum()),
            "alternations": inner,
            "factorisations": factorisations,
            "seconds": perf_counter() - began,
        }
        history.append(record)
        if callback is not None:
            callback(record)
        decided = record["entropy"] <= schedule.entropy * instances.sum()
        # Heat keeps an assignment still as well: nothing moves only if cold would not move it.
        resting = decided or (_alike(p, entered) and _alike(p, soften(here, p, schedule.coldest).p))
        done = resting or temperature <= schedule.coldest
        idle = inner == 1 and divergence < _IDLE * schedule.rest
        stride = schedule.cooling * stride if idle else schedule.cooling
        temperature = max(temperature / stride, schedule.coldest)
    return Annealed(here, first, p, history, settled)


def _alike(p: Array, other: Array) -> bool:
    return float(np.max(np.abs(p - other))) <= _UNCHANGED
