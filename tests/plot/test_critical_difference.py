"""The critical-difference diagram: every method once at its rank, bars where they belong."""

from __future__ import annotations

import numpy as np

from bagwise.model_selection import Ranking
from bagwise.plot import critical_difference
from bagwise.plot._display import POSITIVE


def ranking(names, ranks, critical):
    return Ranking(tuple(names), tuple(ranks), 5, 3.0, 0.2, critical, 0.05)


def test_every_method_is_named_once_at_its_rank():
    figure = critical_difference(ranking("abc", [1.0, 2.5, 2.5], 1.0), title="ranks")
    axes = figure.axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert [text for text in texts if "a" in text.split()] == ["a  1.00"]
    assert sum("2.50" in text for text in texts) == 2
    assert "  critical difference 1.00" in texts
    marks = sorted(line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o")
    assert marks == [1.0, 2.5, 2.5]
    assert axes.get_title() == "ranks"


def test_bars_join_similar_methods():
    figure = critical_difference(ranking("abcd", [1.0, 1.8, 2.9, 4.0], 1.2))
    bars = [line for line in figure.axes[0].lines if line.get_color() == POSITIVE]
    spans = sorted(tuple(np.round(line.get_xdata(), 2)) for line in bars)
    ruler = (1.0, 2.2)
    assert spans == sorted([ruler, (0.96, 1.84), (1.76, 2.94), (2.86, 4.04)])
