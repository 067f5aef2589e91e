"""Paths over a parameter: convex models equal separate fits, others end at honest minima."""

import numpy as np
import pytest
from sklearn.base import clone

from bagwise import (
    MICA,
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
    GraphSVC,
    InstanceSVC,
    KeyInstanceSVC,
    LabelSVC,
    MissSVM,
    OptimalMarginSVC,
    SemiProximalSVC,
    WitnessSVC,
)
from bagwise.testing._problems import planted_bags

CS = [0.1, 1.0, 10.0]
MODELS = [
    (InstanceSVC(kernel="linear"), "C"),
    (InstanceSVC(loss="hinge"), "C"),
    (WitnessSVC(), "C"),
    (LabelSVC(), "C"),
    (LabelSVC(kernel="linear", loss="hinge"), "C"),
    (MICA(), "C"),
    (MissSVM(), "C"),
    (MissSVM(), "unlabeled_weight"),
    (SemiProximalSVC(), "C"),
    (AnnealedLabelSVC(), "C"),
    (AnnealedWitnessSVC(), "C"),
    (AnnealedProportionSVC(), "C_proportion"),
    (OptimalMarginSVC(threshold=0.0), "C_pos"),
    (KeyInstanceSVC(relax=False, threshold=0.0), "C"),
]


@pytest.mark.parametrize(("model", "name"), MODELS, ids=str)
def test_every_point_is_a_model_with_a_certificate(model, name):
    bags, y = planted_bags(n_bags=16)
    models = model.path(bags, y, name=name, values=CS)
    assert [getattr(one, name) for one in models] == CS
    assert not hasattr(model, "objective_")
    for one in models:
        assert one.gap_[0] <= 1e-2 * one.objective_[0] + 1e-6
        assert one.decision_function(bags).shape == (16,)
    first = clone(models[0]).fit(bags, y)
    np.testing.assert_allclose(models[0].objective_, first.objective_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_convex_model_is_that_of_a_separate_fit(kernel):
    bags, y = planted_bags(3, n_bags=18)
    for one in InstanceSVC(kernel=kernel).path(bags, y, values=CS):
        alone = InstanceSVC(kernel=kernel, C=one.C).fit(bags, y)
        np.testing.assert_allclose(one.objective_, alone.objective_, rtol=1e-9)
        np.testing.assert_allclose(
            one.decision_function(bags), alone.decision_function(bags), atol=1e-5
        )


@pytest.mark.parametrize("kind", [WitnessSVC, LabelSVC])
def test_alternation_rests_at_every_point(kind):
    """Started at the model's own assignment, a separate alternation goes nowhere."""
    bags, y = planted_bags(n_bags=20, shift=0.8)
    for one in kind().path(bags, y, values=CS):
        scores = one.instance_decision_function(bags)
        positive = np.repeat(y == 1, bags.sizes)
        offsets = np.concatenate([[0], np.cumsum(bags.sizes[y == 1])])
        cheapest = one._assumption().map(scores[positive], offsets)
        assert np.array_equal(cheapest, one.instance_weights_[positive])


def test_neighbors_save_newton_steps():
    bags, y = planted_bags(n_bags=40, shift=1.0)
    values = np.logspace(-1, 1, 9)
    along = sum(steps_of(model) for model in WitnessSVC().path(bags, y, values=values))
    alone = sum(steps_of(WitnessSVC(C=C).fit(bags, y)) for C in values)
    assert along < 0.7 * alone


def steps_of(model):
    return sum(record["solver_steps"] for record in model.history_)


def test_what_has_no_path_says_so():
    bags, y = planted_bags()
    assert not hasattr(GraphSVC(), "path")
    with pytest.raises(ValueError, match="determines the kernel"):
        WitnessSVC().path(bags, y, name="gamma", values=[1.0])
    with pytest.raises(ValueError, match="is no parameter"):
        WitnessSVC().path(bags, y, name="D", values=[1.0])
    with pytest.raises(ValueError, match="empty"):
        WitnessSVC().path(bags, y, values=[])
    with pytest.raises(ValueError, match="'C' parameter"):
        WitnessSVC().path(bags, y, values=[1.0, -1.0])
