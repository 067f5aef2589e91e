"""The figure of an annealing run; bad input is named."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bagwise import AnnealedLabelSVC, AnnealedWitnessSVC, LabelSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.plot import annealing_path


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
