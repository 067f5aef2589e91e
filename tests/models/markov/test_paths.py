"""Paths of networks: warm starts, what they share, and the search along them."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from bagwise import EarlyStopping, MarkovNetworkClassifier
from bagwise.models.markov import inputs
from bagwise.models.markov.paths import ALPHAS
from reference.networks import planted

VALUES = [10.0, 1.0, 0.1]


@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "native"), (3, "native"), (3, "ovr")])
def test_every_network_begins_where_the_last_one_ended(n_classes, multi_class):
    bags, y = planted(n_classes)
    base = MarkovNetworkClassifier(cardinality="learned", multi_class=multi_class)
    models = base.path(bags, y, values=VALUES)
    assert [model.alpha for model in models] == VALUES
    first = clone(base).set_params(alpha=VALUES[0]).fit(bags, y)
    np.testing.assert_array_equal(models[0].coef_, first.coef_)
    for last, model in pairwise(models):
        assert {record["init"] for record in model.starts_} <= {"path", "mean"}
        norm = sum(
            np.sum(part**2) for part in (last.networks_[0].instance, last.networks_[0].potential)
        )
        change = 0.5 * (last.alpha - model.alpha) * norm  # the last one's objective at this alpha
        n_problems = 3 if multi_class == "ovr" and n_classes == 3 else 1
        reached = model.objective_[:n_problems].sum()
        assert reached <= last.objective_[:n_problems].sum() - change + 1e-9
        assert np.all(model.gap_ <= 0.05 * model.objective_)
    again = base.path(bags, y, values=VALUES)
    np.testing.assert_array_equal(again[-1].coef_, models[-1].coef_)


def test_a_path_that_stands_still_stops_at_once():
    bags, y = planted()
    base = MarkovNetworkClassifier(early_stopping=EarlyStopping(validation_fraction=0.3))
    models = base.path(bags, y, values=[1.0, 1.0])
    assert models[1].objective_[0] <= models[0].objective_[0] * (1 + 1e-9)
    assert models[1].starts_[0]["validation_score"] >= models[0].starts_[0]["validation_score"]


def test_inputs_are_made_once(monkeypatch):
    fits, plain = [], inputs.NetworkInputs.fit

    def counted(self, *data):
        fits.append(1)
        return plain(self, *data)

    monkeypatch.setattr(inputs.NetworkInputs, "fit", counted)
    bags, y = planted()
    base = MarkovNetworkClassifier(bag_features="kernels", cv=2, early_stopping=EarlyStopping())
    models = base.path(bags, y, name="positive_fraction", values=[0.1, 0.5, 0.9])
    assert len(fits) == 1
    assert [model.positive_fraction for model in models] == [0.1, 0.5, 0.9]
    assert all("validation_score" in model.starts_[0] for model in models)


def test_what_cannot_be_followed_is_refused():
    bags, y = planted()
    assert np.all(np.diff(ALPHAS) < 0)
    with pytest.raises(ValueError, match=r"name='n_bins' cannot be followed: choose one of"):
        MarkovNetworkClassifier().path(bags, y, name="n_bins", values=[3, 5])
    with pytest.raises(ValueError, match="leave alphas=None"):
        MarkovNetworkClassifier(alphas=(1.0, 2.0)).path(bags, y)
    with pytest.raises(ValueError, match="values is empty"):
        MarkovNetworkClassifier().path(bags, y, values=[])
