"""Early stopping of networks on held-out training bags."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bagwise import MarkovNetworkClassifier
from bagwise.crossfit import held_out_part
from bagwise.errors import Parameter
from bagwise.models.markov import descents
from bagwise.procedures.heldout import HeldOut
from reference.networks import noise, planted

NAME = Parameter("validation_fraction", "0.3")
EARLY = {"cardinality": "learned", "early_stopping": True, "validation_fraction": 0.3}


def stopped(**more):
    bags, y = noise(60, 2, seed=0)
    return (
        MarkovNetworkClassifier(**{**EARLY, "alpha": 0.01, "n_iter_no_change": 3, **more}),
        bags,
        y,
    )


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_noise_stops_early_says_so_and_warns_of_nothing(loss):
    model, bags, y = stopped(loss=loss)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(bags, y)
    best = max(model.starts_, key=lambda r: (r["validation_score"], -r["validation_loss"]))
    assert best["stopped_early"]
    assert best["objective"] == model.objective_[0]
    assert model.history_[-1]["stopped_early"]
    full = MarkovNetworkClassifier(cardinality="learned", alpha=0.01, loss=loss)
    train, test = held_out_part(bags, y, 0.3, 0, NAME)
    full.fit(bags[train], y[train])
    assert model.objective_[0] > 1.2 * full.objective_[0]
    assert model.gap_[0] > full.gap_[0]
    assert model.score(bags[test], y[test]) == pytest.approx(best["validation_score"])
    assert model.score(bags[test], y[test]) > full.score(bags[test], y[test])
    again = stopped(loss=loss)[0].fit(bags, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_where_validation_never_gets_worse_it_is_the_fit_of_the_training_part(
    loss, n_classes, monkeypatch
):
    def always_pleased(held, patience):
        return HeldOut(lambda coef: (1.0, 0.0), 1)

    monkeypatch.setattr(descents, "_judge", always_pleased)
    bags, y = planted(n_classes)
    early = MarkovNetworkClassifier(**EARLY, loss=loss, alpha=0.1).fit(bags, y)
    train, _ = held_out_part(bags, y, 0.3, 0, NAME)
    full = MarkovNetworkClassifier(cardinality="learned", loss=loss, alpha=0.1)
    full.fit(bags[train], y[train])
    np.testing.assert_array_equal(early.coef_, full.coef_)
    np.testing.assert_array_equal(early.cardinality_weights_, full.cardinality_weights_)
    np.testing.assert_array_equal(early.gap_, full.gap_)
    assert not any(record["stopped_early"] for record in early.starts_)


def test_it_goes_with_bag_features_alphas_and_one_against_the_rest():
    bags, y = planted(3, n_bags=45)
    model = MarkovNetworkClassifier(
        early_stopping=True,
        validation_fraction=0.2,
        bag_features="kernels",
        alphas=(0.1, 1.0),
        multi_class="ovr",
        cv=3,
    ).fit(bags, y)
    assert model.score(bags, y) > 0.9
    assert [record["class"] for record in model.starts_ if record["init"] == "instances"] == [
        0,
        1,
        2,
    ]
    assert all(0 <= record["validation_score"] <= 1 for record in model.starts_)


def test_a_class_of_one_bag_is_refused():
    bags, y = planted(n_bags=12)
    y = np.where(np.arange(12) == 3, 1, 0)
    with pytest.raises(ValueError, match=r"Class 1 has too few bags.*lower validation_fraction"):
        MarkovNetworkClassifier(early_stopping=True).fit(bags, y)
