"""Figures of one fitted model: scores, sizes, importance of features, and an annealing run."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.exceptions import NotFittedError

from bagwise import AnnealedLabelSVC, AnnealedWitnessSVC, BagKernelSVC, LabelSVC, WitnessSVC
from bagwise.datasets import load_digits_bags, make_gaussian_bags
from bagwise.plot import annealing_path, importance, score_by_size, score_histogram


def test_instances_take_the_label_of_their_bag_of_two_classes():
    bags, y = load_digits_bags(n_bags=70)
    model = WitnessSVC(kernel="linear").fit(bags, y)
    (axes,) = score_histogram(model, bags, y).axes
    first = axes.get_legend().get_texts()[0].get_text()
    assert first == f"instances of positive bags ({bags.sizes[y == 1].sum()})"
    assert max(patch.get_height() for patch in axes.patches) > 0
    model = BagKernelSVC().fit(bags, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="two classes"):
        score_by_size(model, bags, y)


def test_a_maximum_grows_with_the_size_of_the_bag():
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(2 ** (1 + i % 8), 2)) for i in range(80)]
    y = np.arange(80) // 8 % 2
    model = WitnessSVC(kernel="linear", C=1e-3).fit(
        [b + 3 * l for b, l in zip(bags, y, strict=True)], y
    )
    _, negative, _ = score_by_size(model, bags, y).axes[0].lines
    assert spearmanr(*negative.get_data()).statistic > 0.5


def test_the_only_feature_that_matters_is_the_first_one_drawn():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    bags = [rng.normal(size=(4, 3)) + [0, 4 * label, 0] for label in y]
    model = WitnessSVC(kernel="linear").fit(bags, y)
    (axes,) = importance(model, bags, y, top=2).axes
    assert axes.get_yticklabels()[0].get_text() == "feature 1"
    first, second = (bar.get_width() for bar in axes.patches)
    assert first > 0.2 > abs(second)


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
