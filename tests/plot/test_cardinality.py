"""The figure of learned cardinalities: bars are the weights, histograms are the inferred shares."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import MarkovNetworkClassifier
from bagwise.datasets import load_digits_bags
from bagwise.plot import cardinality_weights


@pytest.fixture(scope="module")
def fitted():
    bags, y = load_digits_bags(rule="majority", n_bags=40)
    return (
        MarkovNetworkClassifier(cardinality="learned", n_bins=4, init=["instances"]).fit(bags, y),
        bags,
        y,
    )


def test_bars_are_the_weights(fitted):
    model, _, _ = fitted
    (axis,) = cardinality_weights(model, title="digits").axes
    heights = [bar.get_height() for bar in axis.patches]
    np.testing.assert_allclose(heights, model.cardinality_weights_.ravel())


def test_histograms_count_every_bag(fitted):
    model, bags, _ = fitted
    _, axis = cardinality_weights(model, bags).axes
    filled = [bar.get_height() for bar in axis.patches[:8]]
    assert sum(filled) == np.sum(model.predict(bags) == 1)


def test_one_column_per_class():
    bags, y = load_digits_bags(n_bags=24)
    labels = (np.arange(len(y)) % 2) + y  # three classes
    model = MarkovNetworkClassifier(cardinality="learned", n_bins=2, init=["mean"]).fit(
        bags, labels
    )
    figure = cardinality_weights(model, bags)
    titles = [axis.get_title() for axis in figure.axes]
    assert titles[:3] == ["class 0", "class 1", "class 2"]
    assert len(figure.axes) == 6


def test_a_model_without_learned_weights_is_refused():
    bags, y = load_digits_bags(n_bags=20)
    model = MarkovNetworkClassifier(cardinality="ratio").fit(bags, y)
    with pytest.raises(ValueError, match="Only cardinality='learned' has weights"):
        cardinality_weights(model)
