"""Diverse density and EM-DD: gradients, underflow, planted concepts, key instances."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import EMDD, Bags, DiverseDensity
from bagwise.models.density import Density, measure_distances

BOTH = [DiverseDensity(), DiverseDensity(likelihood="most_likely_cause"), EMDD()]


def planted(seed: int, n_bags: int = 60) -> tuple[Bags, np.ndarray]:
    """The concept: features 0 and 1 near (0.3, -0.4); features 2-4 are noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_bags) % 2
    members = []
    for label in y:
        bag = rng.uniform(-3, 3, size=(rng.integers(3, 8), 5))
        inside = np.hypot(bag[:, 0] - 0.3, bag[:, 1] + 0.4) < 0.9
        bag[inside, 0] += 2.0
        if label:
            bag[rng.integers(len(bag)), :2] = np.array([0.3, -0.4]) + rng.normal(0, 0.1, 2)
        members.append(bag)
    return Bags.from_list(members), y


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_planted_concept_is_recovered(model):
    bags, y = planted(0)
    model.fit(bags, y)
    np.testing.assert_allclose(model.points_[0, :2], [0.3, -0.4], atol=0.15)
    assert model.scales_[0, :2].min() > 3 * model.scales_[0, 2:].max()
    fresh, labels = planted(1)
    assert model.score(fresh, labels) >= 0.9


def test_objective_is_the_best_search_and_that_of_the_kept_concept():
    bags, y = planted(2)
    model = EMDD(n_init=5).fit(bags, y)
    assert model.objective_[0] == min(record["objective"] for record in model.searches_)
    # The last round gained too little: its result is not taken.
    assert model.objective_[0] == model.history_[-2]["objective"]
    assert model.n_iter_ == len(model.history_)
    density = Density(bags.X, bags.offsets, y == 1, np.ones(len(y)))
    d = measure_distances(bags.X, model.points_[0], model.scales_[0])
    assert density.most_likely_cause(d)[0] == pytest.approx(model.objective_[0], rel=1e-9)
    speaks = model.instance_weights_[bags.offsets[0] :]
    assert speaks.sum() == y.sum()


def test_a_search_never_ends_worse_than_it_began():
    bags, y = planted(3)
    density = Density(bags.X, bags.offsets, y == 1, np.ones(len(y)))
    for row in density.starts("most_likely_cause", 0.1, 10):
        at_start = density.most_likely_cause(
            density.distances(bags.X[row], np.full(5, np.sqrt(0.1)))
        )[0]
        assert EMDD()._search(density, 0.1, row).objective <= at_start
