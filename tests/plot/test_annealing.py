"""The annealing's figure: every temperature once, hot on the left; other models are named."""

from __future__ import annotations

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


@pytest.mark.parametrize("kind", [AnnealedLabelSVC, AnnealedWitnessSVC])
def test_every_temperature_is_drawn(data, kind):
    model = kind().fit(*data)
    figure = annealing_path(model)
    for panel, field in enumerate(("objective", "entropy", "p_hat", "factorizations")):
        expected = [(record["temperature"], record[field]) for record in model.history_]
        np.testing.assert_allclose(drawn(figure, panel), expected)
    assert figure.get_suptitle() == kind.__name__


def test_hot_is_left_on_a_logarithmic_axis(data, tmp_path):
    figure = annealing_path(AnnealedLabelSVC().fit(*data), title="one run")
    for axis in figure.axes:
        left, right = axis.get_xlim()
        assert axis.get_xscale() == "log"
        assert left > right
    assert figure.get_suptitle() == "one run"
    figure.savefig(tmp_path / "path.png")
    assert (tmp_path / "path.png").stat().st_size > 10_000


def test_classes_have_lines_of_their_own(data):
    bags, y = data
    y = np.array(["cat", "dog", "eel"])[y + (np.arange(len(y)) % 3 == 0)]
    model = AnnealedLabelSVC(kernel="linear").fit(bags, y)
    figure = annealing_path(model)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["class cat", "class dog", "class eel"]
    for number, history in enumerate(model.history_):
        expected = [(record["temperature"], record["p_hat"]) for record in history]
        np.testing.assert_allclose(drawn(figure, 2, number), expected)


def test_models_without_temperatures_are_refused(data):
    with pytest.raises(ValueError, match="LabelSVC was not annealed"):
        annealing_path(LabelSVC().fit(*data))
    with pytest.raises(NotFittedError):
        annealing_path(AnnealedLabelSVC())
