"""Deadlines: estimators look at the clock wherever they are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import AnnealedWitnessSVC, PerInstance, WitnessSVC
from bagwise.model_selection.clock import NEVER, Deadline, OutOfTimeError, unwatch, watch
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
