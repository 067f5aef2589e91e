"""Figures of what a model has learned: annealing, cardinalities; bad input is named."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bagwise import AnnealedLabelSVC, AnnealedWitnessSVC, LabelSVC, MarkovNetworkClassifier
from bagwise.datasets import load_digits_bags, make_gaussian_bags
from bagwise.plot import annealing_path, cardinality_weights


@pytest.fixture(scope="module")
def data():
    return make_gaussian_bags(n_bags=24, n_features=4, random_state=0)


def drawn(figure, panel, line=0):
    return figure.axes[panel].lines[line].get_xydata()


def test_every_temperature_is_drawn_hot_on_the_left(data):
    model = AnnealedWitnessSVC().fit(*data)
    figure = annealing_path(model)
    for panel, field in enumerate(("objective", "entropy", "p_hat", "factorizations")):
        expected = [(record["temperature"], record[field]) for record in model.history_]
        np.testing.assert_allclose(drawn(figure, panel), expected)
        left, right = figure.axes[panel].get_xlim()
        assert (figure.axes[panel].get_xscale(), left > right) == ("log", True)
    assert figure.get_suptitle() == "AnnealedWitnessSVC"
    assert annealing_path(model, title="one run").get_suptitle() == "one run"


def test_models_without_temperatures_are_refused(data):
    with pytest.raises(ValueError, match="LabelSVC was not annealed"):
        annealing_path(LabelSVC().fit(*data))
    with pytest.raises(NotFittedError):
        annealing_path(AnnealedLabelSVC())


@pytest.fixture(scope="module")
def network():
    bags, y = load_digits_bags(rule="majority", n_bags=40)
    model = MarkovNetworkClassifier(cardinality="learned", n_bins=4, init=["instances"])
    return model.fit(bags, y), bags


def test_bars_are_the_weights_and_histograms_count_every_bag(network):
    model, bags = network
    above, below = cardinality_weights(model, bags).axes
    heights = [bar.get_height() for bar in above.patches]
    np.testing.assert_allclose(heights, model.cardinality_weights_.ravel())
    filled = [bar.get_height() for bar in below.patches[:8]]
    assert sum(filled) == np.sum(model.predict(bags) == 1)


def test_a_model_without_learned_weights_is_refused():
    bags, y = load_digits_bags(n_bags=20)
    model = MarkovNetworkClassifier(cardinality="ratio").fit(bags, y)
    with pytest.raises(ValueError, match="Only cardinality='learned' has weights"):
        cardinality_weights(model)
