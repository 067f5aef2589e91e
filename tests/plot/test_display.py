"""Names of bags, features, classes and models are shown letter by letter in every figure."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from bagwise import AnnealedLabelSVC, InstanceSVC, MeanSVC
from bagwise.datasets import make_slide_bags
from bagwise.model_selection import compare
from bagwise.plot import (
    annealing_path,
    compared_models,
    compared_times,
    heatmap,
    image_bags,
    importance,
    roc,
)
from bagwise.plot._display import plain

NAMES = ("$x$", "a$b", "_c", "50 %", r"\$d", "$e_f$")


@pytest.mark.parametrize("name", NAMES)
def test_matplotlib_shows_the_name(name):
    text = Figure().text(0, 0, plain(name))
    shown, is_math = text._preprocess_math(text.get_text())
    assert not is_math
    assert shown.strip() == name


@pytest.fixture(scope="module")
def model_and_bags():
    bags, y = make_slide_bags(6, 4, bag_size=5, witness_rate=0.4, dtype=np.float64)
    bags = bags.replace(ids=list(NAMES), feature_names=list(NAMES[:4]))
    y[:3], y[3:] = 0, 1
    return InstanceSVC(kernel="linear").fit(bags, y), bags, y


FIGURES = {
    "importance": lambda m, b, y: importance(m, b, y),
    "roc": lambda m, b, y: roc(m, b, y, name="$x$"),
    "heat map": lambda m, b, y: heatmap(b, m.instance_decision_function(b), "$x$"),
    "images": lambda m, b, y: image_bags(b, (2, 2)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_models(model_and_bags, name):
    assert_plain(FIGURES[name](*model_and_bags), "$x$")


@pytest.mark.parametrize("draw", [compared_models, compared_times])
def test_figures_of_comparisons(draw):
    bags, y = make_slide_bags(20, 4, bag_size=5, witness_rate=0.4)
    models = {"$x$": InstanceSVC(kernel="linear"), "_c $": MeanSVC()}
    assert_plain(draw(compare(bags, y, models, cv=2, n_repeats=1)), "$x$")


def test_a_figure_of_several_classes(model_and_bags):
    bags = model_and_bags[1].replace(feature_names=None)
    model = AnnealedLabelSVC(kernel="linear").fit(bags, np.repeat(["$x$", "a$b", "_c"], 2))
    assert_plain(annealing_path(model), "$x$")


def assert_plain(figure, name):
    figure.savefig("/dev/null", format="svg")  # ticks are labeled when they are drawn
    shown = [t._preprocess_math(t.get_text()) for t in figure.findobj(Text) if t.get_text()]
    assert not any(is_math for text, is_math in shown if "$" in text)
    assert any(name in text for text, _ in shown)
