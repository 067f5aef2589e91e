"""Several starts: what is kept, what is recorded, for every estimator that has them."""

import numpy as np
import pytest
from sklearn.base import clone

from bagwise import (
    MICA,
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
    Annealing,
    GraphSVC,
    KeyInstanceSVC,
    LabelSVC,
    MissSVM,
    OptimalMarginSVC,
    WitnessSVC,
)
from bagwise.testing._problems import planted_bags

ALTERNATING = [
    LabelSVC(),
    WitnessSVC(),
    WitnessSVC(loss="hinge", kernel="linear"),
    AnnealedLabelSVC(annealing=Annealing(T0=0.1)),
    AnnealedProportionSVC(annealing=Annealing(T0=0.1)),
    AnnealedWitnessSVC(annealing=Annealing(T0=0.1)),
    MICA(),
    MissSVM(),
    GraphSVC(),
    OptimalMarginSVC(relax=False, threshold=0.0),
    KeyInstanceSVC(relax=False, threshold=0.0),
]


@pytest.mark.parametrize("model", ALTERNATING, ids=str)
def test_more_starts_never_end_higher(model):
    bags, y = planted_bags(n_bags=16, shift=0.7)
    once = clone(model).fit(bags, y)
    more = clone(model).set_params(n_init=4).fit(bags, y)
    again = clone(model).set_params(n_init=4).fit(bags, y)
    assert not hasattr(once, "starts_")
    objectives = [record["objective"] for record in more.starts_]
    assert len(objectives) == 4
    assert objectives[0] == once.objective_[0]  # the usual start is the first one
    assert more.objective_[0] == min(objectives)
    assert np.array_equal(more.decision_function(bags), again.decision_function(bags))


def test_a_prefix_of_the_starts_is_the_same():
    bags, y = planted_bags(n_bags=16, shift=0.7)
    few, many = (WitnessSVC(n_init=n).fit(bags, y).starts_ for n in (3, 5))
    assert [record["objective"] for record in few] == [r["objective"] for r in many[:3]]


def test_random_starts_find_a_lower_minimum_than_a_bad_one():
    bags, y = planted_bags(n_bags=20, shift=0.5)
    gained = 0
    for seed in range(4):
        many = WitnessSVC(init="random", C=10.0, n_init=5, random_state=seed).fit(bags, y)
        gained += many.objective_[0] < many.starts_[0]["objective"] * (1 - 1e-6)
    assert gained >= 2
