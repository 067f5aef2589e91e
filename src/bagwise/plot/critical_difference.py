"""The critical-difference diagram: average ranks on a line, bars join similar methods."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from bagwise.plot._display import POSITIVE, draws, new_axes, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bagwise.model_selection import Ranking


@draws(
    ranking=("Average ranks of methods, as `bagwise.model_selection.rank_methods` returns them.")
)
def critical_difference(ranking: Ranking, *, title: str | None = None) -> Figure:
    """Draw average ranks; bars join methods that differ by no more than the critical difference.

    Returns
    -------
    matplotlib.figure.Figure
        Ranks on a line, with the best one, 1, on the left.

    Examples
    --------
    >>> from bagwise.model_selection import rank_methods
    >>> from bagwise.plot import critical_difference
    >>> accuracy = [[0.90, 0.88, 0.80], [0.75, 0.76, 0.70], [0.84, 0.80, 0.81]]
    >>> ranking = rank_methods(["MI-SVM", "mi-SVM", "SIL"], accuracy)
    >>> len(critical_difference(ranking).axes)
    1
    """
    names, bars = ranking.names, ranking.cliques()
    half = (len(names) + 1) // 2
    depth = 1.2 + 0.35 * len(bars) + half
    axes = new_axes(ceil(depth))
    _axis(axes, len(names), ranking.critical_difference)
    for i, (first, last) in enumerate(bars):
        _bar(axes, ranking.ranks[first], ranking.ranks[last], 0.55 + 0.35 * i)
    for i, (name, rank) in enumerate(zip(names, ranking.ranks, strict=True)):
        on_left = i < half
        level = i if on_left else len(names) - 1 - i
        _method(axes, plain(name), rank, 1.2 + 0.35 * len(bars) + level, on_left, len(names))
    axes.set(xlim=(0.0, len(names) + 1.0), ylim=(depth, -2.3))
    axes.axis("off")
    if title:
        axes.set_title(title, fontsize="medium")
    return axes.get_figure()  # type: ignore[return-value]


def _axis(axes: Axes, n_methods: int, critical: float) -> None:
    axes.plot([1, n_methods], [0, 0], color="black", linewidth=1)
    for rank in range(1, n_methods + 1):
        axes.plot([rank, rank], [0, -0.2], color="black", linewidth=1)
        axes.text(rank, -0.35, str(rank), ha="center", va="bottom", fontsize="small")
    axes.plot([1, 1 + critical], [-1.5, -1.5], color=POSITIVE, linewidth=2.5, solid_capstyle="butt")
    text = f"  critical difference {critical:.2f}"
    axes.text(1 + critical, -1.5, text, va="center", fontsize="small")


def _bar(axes: Axes, left: float, right: float, level: float) -> None:
    span = [left - 0.04, right + 0.04]
    axes.plot(span, [level, level], color=POSITIVE, linewidth=3, solid_capstyle="butt")


def _method(
    axes: Axes, name: str, rank: float, level: float, on_left: bool, n_methods: int
) -> None:
    end = 0.85 if on_left else n_methods + 0.15
    axes.plot([rank, rank, end], [0, level, level], color="black", linewidth=0.8)
    axes.plot([rank], [0], marker="o", color="black", markersize=3)
    side = "right" if on_left else "left"
    text = f"{name}  {rank:.2f}" if on_left else f"{rank:.2f}  {name}"
    shift = -0.07 if on_left else 0.07
    axes.text(end + shift, level, text, ha=side, va="center", fontsize="small")
