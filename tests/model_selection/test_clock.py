"""Deadlines: estimators look at the clock wherever they are; costs, seen on a part of the bags."""

import time

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import AnnealedWitnessSVC, PerInstance, StatisticsSVC, WitnessSVC
from bagwise.model_selection.clock import (
    NEVER,
    Cost,
    Deadline,
    OutOfTimeError,
    Probe,
    predict_cost,
    unwatch,
    watch,
)
from bagwise.testing._problems import planted_bags

BAGS, Y = planted_bags(n_bags=40)
PAST = Deadline(-np.inf)


@pytest.mark.parametrize(
    "model",
    [
        AnnealedWitnessSVC(),
        make_pipeline(PerInstance(StandardScaler()), AnnealedWitnessSVC()),
        GridSearchCV(AnnealedWitnessSVC(), {"C": [1.0]}, cv=2, error_score="raise"),
    ],
)
def test_estimators_look_at_the_clock_wherever_they_are(model):
    with pytest.raises(OutOfTimeError):
        watch(model, PAST).fit(BAGS, Y)


def test_the_users_callback_is_called_and_given_back():
    heard = []

    def hear(record):
        heard.append(record)

    model = watch(WitnessSVC(callback=hear), NEVER).fit(BAGS, Y)
    assert heard
    assert unwatch(model).callback is hear
    assert unwatch(watch(WitnessSVC(), NEVER)).callback is None


def test_costs_grow_as_a_power_up_to_cubic():
    small = Cost(1.0, 10.0, 100)
    assert Cost(4.0, 10.0, 200).extrapolate(small, 400) == Cost(16.0, 10.0, 400)
    assert Cost(100.0, 5.0, 200).extrapolate(small, 400) == Cost(800.0, 5.0, 400)
    assert Cost(4.0, 20.0, 200).extrapolate(small, 400, most=0.0) == Cost(4.0, 20.0, 400)
    assert Cost(4.0, 10.0, 100).extrapolate(small, 200).seconds == 32.0  # no growth was seen


class Wasteful(StatisticsSVC):
    """A model that takes memory and time by the number of bags."""

    def fit(self, bags, y, sample_weight=None):
        waste = np.ones((len(bags), 10_000))
        time.sleep(0.002 * len(bags))
        return super().fit(bags, y, sample_weight) if waste.any() else self


class Compiling(StatisticsSVC):
    """A model whose first fit takes longer, as that of loops that have to be compiled."""

    waits = [0.5]  # noqa: RUF012

    def fit(self, bags, y, sample_weight=None):
        time.sleep(self.waits.pop() if self.waits else 0.0)
        return super().fit(bags, y, sample_weight)


def refuse(probe, seconds):
    return probe.refuse(probe.measure(seconds), seconds)


def test_compiling_is_not_counted():
    assert refuse(Probe(Compiling(), BAGS, Y, 10), 4.0) == ""
    assert Compiling.waits == []


def test_memory_and_time_are_seen_on_a_part_of_the_bags():
    cost = predict_cost(Wasteful(), BAGS, Y, trace=True)
    assert 10 * 80_000 < cost.bytes < 40 * 800_000
    assert predict_cost(Wasteful(), BAGS, Y, trace=False).bytes == 0
    assert 0.02 < cost.seconds < 8
    assert "GiB of memory, 0.0 GiB may be used" in refuse(Probe(Wasteful(), BAGS, Y, 1, 1e4), 99)
    assert "would not finish in time" in refuse(Probe(Wasteful(), BAGS, Y, 1000), 1.0)
    assert refuse(Probe(Wasteful(), BAGS, Y), 60.0) == ""
    assert refuse(Probe(WitnessSVC(), BAGS, Y, 10**9), np.inf) == ""
    assert "would take" in refuse(Probe(WitnessSVC(), BAGS, Y, 2), 1e-9)  # it was stopped
    assert Probe(WitnessSVC(), BAGS, Y).measure(1e-9).seconds == 0  # the first fit will tell
    assert Probe(StatisticsSVC(C=-1.0), BAGS, Y).measure(60.0).seconds == 0  # and say what is wrong
    assert 0.08 < Probe(Wasteful(), BAGS, Y, 2).measure(np.inf).seconds < 8  # 40 bags of 2 ms


@pytest.mark.parametrize("seconds", [np.nan, "60"])
def test_a_limit_of_time_is_a_number_of_seconds(seconds):
    with pytest.raises(ValueError, match="must be a number of seconds"):
        Deadline.after(seconds)
