"""The figure of a comparison: models with intervals, and bars over those that are tied."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bagwise.model_selection import Comparison

_WIDTH = 8.0  # inches
_ROW = 0.27  # inches per model
_INK, _TIED, _BAR, _FAINT = "#8a8a8a", "#1f5fa8", "#d1480f", "#bbbbbb"
_STEP = 0.018  # of the axis, between two bars


def compared_models(comparison: Comparison, metric: str | None = None) -> Figure:
    """Draw models with 95 % intervals; bars join those that the bags cannot tell apart.

    Parameters
    ----------
    comparison : Comparison
        As `bagwise.model_selection.compare` returns it.
    metric : str, default=None
        The metric; that of the comparison when None.

    Returns
    -------
    matplotlib.figure.Figure
        One line per model, the best on top; the models tied with it are blue. A bar covers models
        of which none is significantly worse than the first one under it.

    Examples
    --------
    >>> from bagwise import InstanceSVC, MeanSVC
    >>> from bagwise.datasets import make_gaussian_bags
    >>> from bagwise.model_selection import compare
    >>> from bagwise.plot import compared_models
    >>> bags, y = make_gaussian_bags(n_bags=20, random_state=0)
    >>> found = compare(bags, y, {"SIL": InstanceSVC(), "mean": MeanSVC()}, cv=2, n_repeats=1)
    >>> len(compared_models(found).axes)
    1
    """
    from matplotlib.figure import Figure

    metric = metric or comparison.protocol.metric
    results = list(comparison.results.values())
    if not results:
        raise ValueError("No model has a result: there is nothing to draw.")
    figure = Figure(figsize=(_WIDTH, _ROW * len(results) + 1.3), layout="constrained")
    axes = figure.subplots()
    for row, one in enumerate(results):
        found, tied = one.estimates[metric], one.name in comparison.groups[0]
        color = _TIED if tied else _INK
        axes.plot([found.low, found.high], [row, row], color=color, linewidth=1.5)
        axes.plot([found.value], [row], marker="o", color=color, markersize=5)
    axes.axvline(comparison.majority[metric], color=_FAINT, linestyle="--", linewidth=1, zorder=0)
    marked = [f"{one.name} ←" if one.name == comparison.recommendation else one.name
              for one in results]  # fmt: skip
    axes.set_yticks(range(len(results)), marked, fontsize=9)
    axes.set_ylim(len(results) - 0.4, -0.6)
    _bars(axes, comparison)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    name = "AUC" if metric == "auc" else metric.replace("_", " ")
    axes.set_xlabel(
        f"{name} with 95 % interval; dashed: always the most frequent label", fontsize=9
    )
    n_bags = len(comparison.sample.y)
    axes.set_title(f"{n_bags} bags: blue models are tied with the best, bars join tied models, "
                   "← is recommended", fontsize=9, loc="left")  # fmt: skip
    return figure


def _bars(axes: Axes, comparison: Comparison) -> None:
    """Draw a bar over each longest run of tied models, at the right edge."""
    place = axes.get_yaxis_transform()
    for i, (first, last) in enumerate(comparison.runs):
        at = 1.01 + _STEP * i
        span = [first - 0.2, last + 0.2]
        axes.plot([at, at], span, color=_BAR, linewidth=3, transform=place, clip_on=False,
                  solid_capstyle="butt")  # fmt: skip
