"""Deadlines, estimators that look at the clock while they are fitted, and what a fit would cost."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import inf, log
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.kernels import MANY_ROWS


class OutOfTimeError(Exception):
    """A fit was stopped by its deadline."""


@dataclass(frozen=True)
class Deadline:
    """The moment at which fits stop."""

    moment: float = inf  # of time.monotonic, which is the same clock in all processes

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the deadline that many seconds from now, none at all for None."""
        if seconds is not None and not (isinstance(seconds, Real) and seconds == seconds):
            raise ValueError(f"A limit of time must be a number of seconds, got {seconds!r}.")
        return cls(inf if seconds is None else time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.moment - time.monotonic()

    def check(self) -> None:
        """Raise OutOfTimeError once the moment has passed."""
        if self.left < 0:
            raise OutOfTimeError


NEVER = Deadline()


@dataclass(frozen=True)
class _Watch:
    """The callback of a watched estimator: it checks the clock, then calls the user's own."""

    until: Deadline
    then: Callable[[dict[str, Any]], Any] | None

    def __call__(self, record: dict[str, Any]) -> None:
        self.until.check()
        if self.then is not None:
            self.then(record)


def _callbacks(model: Any) -> dict[str, Any]:
    """Return the callbacks of an estimator and of those within it, by parameter."""
    params = model.get_params(deep=True).items()
    return {key: value for key, value in params if key.rpartition("__")[2] == "callback"}


def can_be_interrupted(model: Any) -> bool:
    """Return whether a model may look at the clock while it is fitted."""
    return bool(_callbacks(model))


def watch(model: Any, until: Deadline) -> Any:
    """Return an unfitted copy whose iterations look at the clock."""
    copy = clone(model)
    return copy.set_params(**{key: _Watch(until, own) for key, own in _callbacks(copy).items()})


def unwatch(model: Any) -> Any:
    """Return the model itself, with its own callbacks again."""
    return model.set_params(**{key: watched.then for key, watched in _callbacks(model).items()})


# What a fit would cost, seen on a part of the bags ------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What a fit takes."""

    seconds: float
    bytes: float
    n_instances: int

    def extrapolate(self, smaller: Cost, n_instances: int, most: float = 3.0) -> Cost:
        """Return the cost of more instances, by a power law through two fits.

        The power is between 0 and ``most``, by default that of a dense solve.
        """
        more, grown = n_instances / self.n_instances, self.n_instances / smaller.n_instances

        def scale(large: float, small: float) -> float:
            power = log(large / small) / log(grown) if small > 0 and grown > 1 else most
            return large * more ** min(max(power, 0.0), most)

        seconds = scale(self.seconds, smaller.seconds)
        return Cost(seconds, scale(self.bytes, smaller.bytes), n_instances)


def predict_cost(
    model: Any, bags: Bags, y: Array, seconds: float = inf, *, trace: bool, again: bool = False
) -> Cost:
    """Return what a fit to the bags would take, from fits to an eighth and a quarter of them.

    The second is left out where the first took more than ``seconds``, or so little that even
    growth with the square of the instances would not matter. A model that looks at the clock itself
    is taken to grow with the instances at most: what is longer is stopped then. Memory is 0 unless
    it is traced, which slows Python down. ``again`` says that nothing is left to compile.
    """
    small = _measure_fit(model, bags, y, 8, seconds, trace)
    if small.seconds > seconds and not again:  # the first fit may have compiled loops
        small = _measure_fit(model, bags, y, 8, seconds, trace)
    if small.seconds > seconds or (not trace and 8**2 * small.seconds < seconds):
        return small.extrapolate(small, bags.n_instances, 1.0)
    most = 1.0 if can_be_interrupted(model) else 3.0
    large = _measure_fit(model, bags, y, 4, seconds, trace)
    return large.extrapolate(small, bags.n_instances, most)


def _measure_fit(model: Any, bags: Bags, y: Array, step: int, seconds: float, trace: bool) -> Cost:
    """Fit to every ``step``-th bag of each class, at least two of it; for those seconds at most."""
    labels = np.zeros(len(y)) if is_regressor(model) else y
    of_class = (np.flatnonzero(labels == label) for label in np.unique(labels))
    rows = np.concatenate([own[:: min(step, max(1, len(own) // 2))] for own in of_class])
    part, began = bags[rows], time.perf_counter()
    with warnings.catch_warnings(), _trace_memory(trace) as peak:
        warnings.simplefilter("ignore")
        with suppress(OutOfTimeError):
            watch(model, Deadline.after(seconds)).fit(part, y[rows])
        return Cost(time.perf_counter() - began, peak(), part.n_instances)


@contextmanager
def _trace_memory(trace: bool) -> Iterator[Callable[[], float]]:
    """Give a function that returns the peak of allocations so far, in bytes."""
    if not trace:
        yield lambda: 0.0
        return
    tracemalloc.start()
    try:
        yield lambda: float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


@dataclass(frozen=True)
class Probe:
    """A model that is to be fitted to bags, once or several times per cell."""

    model: Any
    bags: Bags
    y: Array
    n_fits: int = 1  # per cell
    memory: float = inf  # bytes that one fit may need

    def measure(self, seconds: float, *, again: bool = False) -> Cost:
        """Return what a cell takes, roughly; nothing where the first cell shall tell.

        ``again``: not for the first time.
        """
        trace = 8.0 * self.bags.n_instances**2 > self.memory  # hardly a fit needs more than pairs
        small = not trace and self.bags.n_instances <= MANY_ROWS
        if self.n_fits == 1 and (small or can_be_interrupted(self.model)):
            return Cost(0.0, 0.0, 0)  # two smaller fits would cost too much beside a single one
        try:
            limit = seconds / self.n_fits
            cost = predict_cost(self.model, self.bags, self.y, limit, trace=trace, again=again)
        except Exception:  # noqa: BLE001 (few bags may be too few: the cell itself will say it)
            return Cost(0.0, 0.0, 0)
        return replace(cost, seconds=self.n_fits * cost.seconds)

    def refuse(self, cost: Cost, seconds: float) -> str:
        """Return why a cell of that cost does not fit into the seconds or the memory, or ""."""
        if cost.bytes > self.memory:
            needed, most = cost.bytes / 2**30, self.memory / 2**30
            return f"a fit needs about {needed:.1f} GiB of memory, {most:.1f} GiB may be used"
        took = f"a fold would take {cost.seconds:.1f} s or more"
        return f"{took}, its folds would not finish in time" if cost.seconds > seconds else ""
