"""Searches pass questions about instances on to the model that they chose."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from bagwise import PerInstance, StatisticsSVC, WitnessSVC, make_pipeline
from bagwise.model_selection import BagGridSearchCV
from bagwise.testing._problems import planted_bags

BAGS, Y = planted_bags()
SCALED = make_pipeline(PerInstance(StandardScaler()), WitnessSVC())


@pytest.mark.parametrize(
    ("model", "grid"), [(WitnessSVC(), {"C": [0.1, 10.0]}), (SCALED, {"witnesssvc__C": [1.0]})]
)
def test_the_chosen_model_answers(model, grid):
    search = BagGridSearchCV(model, grid, cv=2)
    assert hasattr(search, "key_instances")  # before the fit, by the model that is searched
    chosen = search.fit(BAGS, Y).best_estimator_
    for name in ("instance_decision_function", "predict_instances", "key_instances"):
        expected = getattr(chosen, name)(BAGS)
        np.testing.assert_array_equal(getattr(search, name)(BAGS), expected)
    assert search.explain(BAGS).equals(chosen.explain(BAGS))


def test_labels_of_instances_exist_where_the_model_gives_some():
    search = BagGridSearchCV(StatisticsSVC(), {"C": [1.0]}, cv=2)
    assert not hasattr(search, "predict_instances")
    assert not hasattr(search.fit(BAGS, Y), "predict_instances")
    assert search.key_instances(BAGS).shape == (len(BAGS),)
