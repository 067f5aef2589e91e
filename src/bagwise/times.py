"""Events and times: what is known of them where some are censored.

The label of a bag is (event, time): what happened at that time, or that nothing had until then.
G(t) is the probability to be uncensored after t, estimated by Kaplan and Meier on training bags.
Weights 1 / G(T-) of events and 1 / G(t) of those still at risk at t correct for the bags whose
state at t is unknown, if censoring does not depend on the features.

References: E. Kaplan & P. Meier, "Nonparametric estimation from incomplete observations", JASA
1958; E. Graf, C. Schmoor, W. Sauerbrei & M. Schumacher, "Assessment and comparison of prognostic
classification schemes for survival data", Statistics in Medicine 1999; H. Uno, T. Cai, M. Pencina,
R. D'Agostino & L. Wei, "On the C-statistics for evaluating overall adequacy of risk prediction
procedures with censored survival data", Statistics in Medicine 2011.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from bagwise._typing import Array
from bagwise.bags.ids import name_of
from bagwise.errors import TaskWarning

MOST_WEIGHT = 20.0  # of a bag: G below a twentieth would let one bag decide
ENOUGH_EVENTS = 20  # below, what is learned or measured of times is mostly chance


@dataclass(frozen=True)
class Times:
    """Whether something happened to each bag, and when, or until when nothing had."""

    event: Array  # bool
    time: Array  # float64

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, rows: Any) -> Times:
        return Times(self.event[rows], self.time[rows])

    def as_array(self) -> Array:
        """Return the structured array of (event, time), which travels through scikit-learn."""
        kind = [("event", bool), ("time", np.float64)]
        return np.array(list(zip(self.event, self.time, strict=True)), dtype=kind)


def check_times(y: Any, ids: Any = None) -> Times:
    """Return events and times; takes a structured array or two columns, the event first.

    ``ids`` are those of the bags, for their number and for errors.

    Examples
    --------
    >>> from bagwise.times import check_times
    >>> check_times([[1, 2.5], [0, 4.0]]).event
    array([ True, False])
    """
    if isinstance(y, Times):
        return y
    y = np.asarray(y)
    names = y.dtype.names
    if names is not None and len(names) == 2:
        event, time = (y[name] for name in names)
        if event.dtype.kind == "f" and time.dtype.kind == "b":
            event, time = time, event
    elif names is None and y.ndim == 2 and y.shape[1] == 2:
        event, time = y[:, 0], y[:, 1]
    else:
        raise ValueError(
            f"Labels of times are an event and a time per bag, and y has shape {y.shape}: pass a "
            "structured array or two columns. For one number per bag take a regressor such as "
            "AutoBagRegressor, for classes AutoBagClassifier."
        )
    if ids is not None and len(time) != len(ids):
        raise ValueError(f"y has {len(time)} labels, there are {len(ids)} bags: one label per bag.")
    return Times(
        _read_numbers(
            event, ids, lambda values: np.isin(values, (0.0, 1.0)),
            "An event is 0 (censored) or 1, and that of {} is {!r}: is the time the other field?",
        ).astype(bool),
        _read_numbers(
            time, ids, lambda values: np.isfinite(values) & (values >= 0),
            "A time is a number and not negative; that of {} is {!r}.",
        ),
    )  # fmt: skip


def _read_numbers(column: Any, ids: Any, accept: Callable[[Array], Array], why: str) -> Array:
    """Return a column as numbers; ``why`` names the first bag and value that are refused."""
    values = np.array([_as_number(value) for value in column.tolist()])
    for i in np.flatnonzero(~accept(values)).tolist():
        raise ValueError(why.format(name_of(ids, i), column.tolist()[i]))
    return values


def _as_number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def check_events(times: Times) -> None:
    """Refuse times without any event, and warn of few."""
    n_events = int(times.event.sum())
    if not n_events:
        raise ValueError("All bags are censored: without an event there is nothing to learn.")
    if n_events < ENOUGH_EVENTS:
        few = f"There are {n_events} events; below {ENOUGH_EVENTS} what is learned is mostly chance"
        warnings.warn(f"{few}, whatever the figures say.", TaskWarning, stacklevel=4)


# Kaplan and Meier ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Steps:
    """A survival function: 1 before the first time, then a value from each time on."""

    times: Array
    values: Array
    variances: Array  # Greenwood's, of the logarithm

    def at(self, t: Any) -> Array:
        """Return the values at t, those of events at t taken off."""
        return np.concatenate([[1.0], self.values])[np.searchsorted(self.times, t, side="right")]

    def before(self, t: Any) -> Array:
        """Return the values just before t."""
        return np.concatenate([[1.0], self.values])[np.searchsorted(self.times, t, side="left")]


def kaplan_meier(times: Times, weight: Array | None = None, *, censoring: bool = False) -> Steps:
    """Return the survival function; with ``censoring`` that of being uncensored.

    At equal times events come before censoring.
    """
    weight = np.ones(len(times)) if weight is None else weight
    ended = ~times.event if censoring else times.event
    moments, place = np.unique(times.time, return_inverse=True)
    ends = np.bincount(place, weight * ended, minlength=len(moments))
    gone = np.bincount(place, weight, minlength=len(moments))
    at_risk = np.cumsum(gone[::-1])[::-1]
    if censoring:  # who has an event at t is no longer at risk of censoring at t
        at_risk = at_risk - np.bincount(place, weight * times.event, minlength=len(moments))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(at_risk > 0, 1 - ends / at_risk, 1.0)
        terms = np.where(at_risk > ends, ends / (at_risk * (at_risk - ends)), 0.0)
    return Steps(moments, np.cumprod(share), np.cumsum(terms))


def state_at(times: Times, t: float, censoring: Steps) -> tuple[Array, Array]:
    """Return who has an event by t, and weights: 1 / G, 0 where censoring came before t.

    Weights are `MOST_WEIGHT` at most.
    """
    happened = times.event & (times.time <= t)
    known = happened | (times.time > t)
    chance = np.where(happened, censoring.before(times.time), censoring.at(t))
    return happened, known / np.maximum(chance, 1 / MOST_WEIGHT)


def landmark_weights(times: Times, t: float, censoring: Steps) -> tuple[Array, Array]:
    """Return the same with weights of mean 1 over the bags whose state at t is known."""
    happened, weight = state_at(times, t, censoring)
    return happened, weight / weight[weight > 0].mean() if weight.any() else weight


# How well risks rank, and how well probabilities fit ----------------------------------------------


def is_ranked(times: Times) -> bool:
    """Return whether an event comes before the end of another bag, so that risks can be compared.

    A bag that is censored at the time of an event ends after it.
    """
    first = times.time[times.event].min(initial=np.inf)
    return bool(np.any(times.time > first) or np.any(~times.event & (times.time == first)))


def concordance(
    times: Times,
    risk: Array,
    censoring: Steps | None = None,
    tau: float = np.inf,
    strata: Array | None = None,
) -> tuple[float, Array]:
    """Return the share of comparable pairs whose risks are in the order of their events, and parts.

    Harrell's C, or Uno's with the ``censoring`` distribution: pairs whose first event is at T < tau
    weigh 1 / G(T-)^2. Equal risks count a half. Higher risks mean earlier events: the sign is never
    chosen from the result. The sum of the squared parts (one per bag) is the variance of C. Pairs
    are of one stratum, such as the fold whose model gave both risks.
    """
    event, time = times.event & (times.time < tau), times.time
    first = np.flatnonzero(event)
    weight = np.ones(len(first))
    if censoring is not None:
        chance = np.maximum(censoring.before(time[first]), 1 / MOST_WEIGHT)
        weight = 1 / chance**2
    right, all_pairs = np.zeros(len(time)), np.zeros(len(time))
    for i, w in zip(first, weight, strict=True):
        later = (time > time[i]) | ((time == time[i]) & ~times.event)
        if strata is not None:
            later &= strata == strata[i]
        won = w * ((risk[i] > risk[later]) + 0.5 * (risk[i] == risk[later]))
        right[later] += won
        all_pairs[later] += w
        right[i] += won.sum()
        all_pairs[i] += w * later.sum()
    total = all_pairs.sum() / 2
    if total == 0:
        why = "No event comes before the end of another bag: risks cannot be compared."
        warnings.warn(why, UndefinedMetricWarning, stacklevel=2)
        return float("nan"), right
    value = right.sum() / 2 / total
    return float(value), (right - value * all_pairs) / total


def brier_parts(times: Times, chance: Array, t: float, censoring: Steps) -> Array:
    """Return the weighted squared error of each bag's probability of an event by t."""
    happened, weight = state_at(times, t, censoring)
    return weight * (happened - chance) ** 2


def excess_events(times: Times, chance: Array, t: float, censoring: Steps) -> Array:
    """Return terms per bag whose mean is the share of events by t less the predicted share."""
    happened, weight = state_at(times, t, censoring)
    return happened * weight - chance


def integrate_over(moments: Array, values: Array) -> Array:
    """Return the mean over times of values in the last axis, by the trapezoidal rule."""
    if len(moments) == 1:
        return values[..., 0]
    return np.trapezoid(values, moments, axis=-1) / (moments[-1] - moments[0])
