"""The figures of a comparison show what the comparison says."""

import pytest

from bagwise import InstanceSVC, MeanSVC, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.model_selection import compare
from bagwise.plot import compared_models, compared_times
from bagwise.plot.comparison import find_unbeaten


@pytest.fixture(scope="module")
def found():
    bags, y = make_gaussian_bags(n_bags=30, shift=4.0, random_state=0)
    models = {"SIL": InstanceSVC(), "MI-SVM": WitnessSVC(kernel="linear"), "mean": MeanSVC()}
    return compare(bags, y, models, cv=3, n_repeats=1)


@pytest.mark.parametrize("metric", [None, "accuracy"])
def test_intervals_names_and_bars_are_drawn(found, metric):
    (axes,) = compared_models(found, metric).axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert [label.removesuffix(" ←") for label in labels] == list(found.results)
    assert labels[list(found.results).index(found.recommendation)].endswith("←")
    lines = [tuple(line.get_xdata()) for line in axes.lines]
    for one in found.results.values():
        estimate = one.estimates[metric or "auc"]
        assert (estimate.low, estimate.high) in lines
        assert (estimate.value,) in lines
    assert len(axes.lines) == 2 * len(found.results) + 1 + len(found.runs)


def test_the_method_draws_the_same_figure_and_nothing_cannot_be_drawn(found, tmp_path):
    found.plot().savefig(tmp_path / "a.png")
    compared_models(found).savefig(tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    bags, y = make_gaussian_bags(n_bags=30, random_state=0)
    empty = compare(bags, y, {"SIL": InstanceSVC()}, cv=3, time_limit=0.001)
    with pytest.raises(ValueError, match="nothing to draw"):
        empty.plot()


def test_times_are_drawn_against_results(found):
    (axes,) = compared_times(found).axes
    drawn = {(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines[1::2]}
    assert drawn >= {(one.seconds, one.estimates["auc"].value) for one in found.results.values()}
    named = {text.get_text() for text in axes.texts}
    assert f"{found.recommendation} ←" in named
    assert len(named) <= len(found.results)


def test_unbeaten_points_are_those_that_no_other_one_dominates():
    points = [(3.0, 0.9), (1.0, 0.5), (1.0, 0.6), (2.0, 0.6), (4.0, 0.9), (0.5, 0.4)]
    assert find_unbeaten(points) == [5, 2, 0]
