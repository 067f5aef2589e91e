"""The figure of a comparison shows what the comparison says."""

from __future__ import annotations

import pytest

from bagwise import InstanceSVC, MeanSVC, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.model_selection import compare
from bagwise.plot import compared_models


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
