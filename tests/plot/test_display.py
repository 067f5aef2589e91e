"""Names of bags, features, classes and models are shown letter by letter in every figure."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from bagwise import AnnealedLabelSVC, InstanceSVC, MeanSVC, plot
from bagwise.datasets import make_slide_bags
from bagwise.model_selection import compare
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


@pytest.fixture(scope="module")
def compared():
    bags, y = make_slide_bags(20, 4, bag_size=5, witness_rate=0.4)
    return compare(bags, y, {"$x$": InstanceSVC(), "_c $": MeanSVC()}, cv=2, n_repeats=1)


def draw_classes(bags):
    model = AnnealedLabelSVC(kernel="linear")
    classes = np.repeat(["$x$", "a$b", "_c"], 2)
    return plot.annealing_path(model.fit(bags.replace(feature_names=None), classes))


FIGURES = {
    "importance": lambda m, b, y, _: plot.importance(m, b, y),
    "roc": lambda m, b, y, _: plot.roc(m, b, y, name="$x$"),
    "heat map": lambda m, b, y, _: plot.heatmap(b, m.instance_decision_function(b), "$x$"),
    "images": lambda m, b, y, _: plot.image_bags(b, (2, 2)),
    "classes": lambda m, b, y, _: draw_classes(b),
    "models": lambda m, b, y, found: plot.compared_models(found),
    "times": lambda m, b, y, found: plot.compared_times(found),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_show_it(model_and_bags, compared, name):
    figure = FIGURES[name](*model_and_bags, compared)
    figure.savefig("/dev/null", format="svg")  # ticks are labeled when they are drawn
    shown = [t._preprocess_math(t.get_text()) for t in figure.findobj(Text) if t.get_text()]
    assert not any(is_math for text, is_math in shown if "$" in text)
    assert any("$x$" in text for text, _ in shown)
