"""The critical-difference diagram: average ranks on a line, bars over methods not told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["critical_difference"]

_WIDTH = 8.0  # inches
_ROW = 0.26
_INK, _BAR = "#222222", "#d1480f"


def critical_difference(
    names: Sequence[str],
    ranks: Sequence[float],
    critical: float,
    *,
    title: str | None = None,
) -> Figure:
    """Draw average ranks; bars join methods that differ by no more than the critical difference.

    Parameters
    ----------
    names : sequence of str
        The methods.
    ranks : sequence of float
        Their average ranks; 1 is best and on the left.
    critical : float
        The critical difference.
    title : str, default=None
        Written on top.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from bagwise.plot import critical_difference
    >>> figure = critical_difference(["MI-SVM", "mi-SVM", "SIL"], [1.2, 2.1, 2.7], 1.0)
    >>> len(figure.axes)
    1
    """
    from matplotlib.figure import Figure

    if len(names) != len(ranks) or len(names) < 2:
        raise ValueError(
            f"There are {len(names)} names and {len(ranks)} ranks: two or more of each."
        )
    order = np.argsort(ranks, kind="stable")
    names, placed = [names[i] for i in order], np.asarray(ranks, dtype=float)[order]
    bars = _runs(placed, critical)
    half = (len(names) + 1) // 2
    depth = 1.2 + 0.35 * len(bars) + half
    figure = Figure(figsize=(_WIDTH, _ROW * (depth + 3.5)), layout="constrained")
    axes = figure.subplots()
    _axis(axes, len(names), critical)
    for i, (first, last) in enumerate(bars):
        _bar(axes, placed[first], placed[last], 0.55 + 0.35 * i)
    for i, (name, rank) in enumerate(zip(names, placed, strict=True)):
        on_left = i < half
        level = i if on_left else len(names) - 1 - i
        _method(axes, name, rank, 1.2 + 0.35 * len(bars) + level, on_left, len(names))
    axes.set(xlim=(0.0, len(names) + 1.0), ylim=(depth, -2.3))
    axes.axis("off")
    if title:
        axes.set_title(title, fontsize=10)
    return figure


def _runs(ranks: Any, critical: float) -> list[tuple[int, int]]:
    """Return the longest runs (first, last) of methods within the critical difference."""
    runs: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = int(np.flatnonzero(ranks - rank <= critical + 1e-12).max())
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def _axis(axes: Axes, n_methods: int, critical: float) -> None:
    axes.plot([1, n_methods], [0, 0], color=_INK, linewidth=1)
    for rank in range(1, n_methods + 1):
        axes.plot([rank, rank], [0, -0.2], color=_INK, linewidth=1)
        axes.text(rank, -0.35, str(rank), ha="center", va="bottom", fontsize=9)
    axes.plot([1, 1 + critical], [-1.5, -1.5], color=_BAR, linewidth=2.5, solid_capstyle="butt")
    axes.text(
        1 + critical + 0.1, -1.5, f"critical difference {critical:.2f}", va="center", fontsize=9
    )


def _bar(axes: Axes, left: float, right: float, level: float) -> None:
    span = [left - 0.04, right + 0.04]
    axes.plot(span, [level, level], color=_BAR, linewidth=3, solid_capstyle="butt")


def _method(
    axes: Axes, name: str, rank: float, level: float, on_left: bool, n_methods: int
) -> None:
    end = 0.85 if on_left else n_methods + 0.15
    axes.plot([rank, rank, end], [0, level, level], color=_INK, linewidth=0.8)
    axes.plot([rank], [0], marker="o", color=_INK, markersize=3)
    side = "right" if on_left else "left"
    text = f"{name}  {rank:.2f}" if on_left else f"{rank:.2f}  {name}"
    shift = -0.07 if on_left else 0.07
    axes.text(end + shift, level, text, ha=side, va="center", fontsize=9)
