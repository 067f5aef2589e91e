"""Figures of a comparison: models with intervals and ties, and results against time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagwise.plot._display import draws, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bagwise.model_selection import Comparison

_WIDTH = 8.0  # inches
_TALL = 4.6  # inches of the figure of times
_ROW = 0.27  # inches per model
_INK, _TIED, _BAR, _FAINT = "#8a8a8a", "#1f5fa8", "#d1480f", "#bbbbbb"
_STEP = 0.018  # of the axis, between two bars


_compares = draws(
    comparison="As `bagwise.model_selection.compare` returns it.",
    metric="The metric; that of the comparison when None.",
)


@_compares
def compared_models(comparison: Comparison, metric: str | None = None) -> Figure:
    """Draw models with 95 % intervals; bars join those that the bags cannot tell apart.

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
    marked = [plain(one.name) + " ←" * (one.name == comparison.recommendation) for one in results]
    axes.set_yticks(range(len(results)), marked, fontsize=9)
    axes.set_ylim(len(results) - 0.4, -0.6)
    _bars(axes, comparison)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(
        f"{_worded(metric)} with 95 % interval; dashed: always the most frequent label", fontsize=9
    )
    n_bags = len(comparison.sample.y)
    axes.set_title(f"{n_bags} bags: blue models are tied with the best, bars join tied models, "
                   "← is recommended", fontsize=9, loc="left")  # fmt: skip
    return figure


@_compares
def compared_times(comparison: Comparison, metric: str | None = None) -> Figure:
    """Draw the result of each model against its CPU time per fold.

    Returns
    -------
    matplotlib.figure.Figure
        One point per model with its 95 % interval; the models tied with the best are blue. A line
        joins the models that no other one beats in both, which are named, as is the recommended.

    Examples
    --------
    >>> from bagwise import InstanceSVC, MeanSVC
    >>> from bagwise.datasets import make_gaussian_bags
    >>> from bagwise.model_selection import compare
    >>> from bagwise.plot import compared_times
    >>> bags, y = make_gaussian_bags(n_bags=20, random_state=0)
    >>> found = compare(bags, y, {"SIL": InstanceSVC(), "mean": MeanSVC()}, cv=2, n_repeats=1)
    >>> compared_times(found).axes[0].get_xscale()
    'log'
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    metric = metric or comparison.protocol.metric
    results = list(comparison.results.values())
    if not results:
        raise ValueError("No model has a result: there is nothing to draw.")
    axes = Figure(figsize=(_WIDTH, _TALL), layout="constrained").subplots()
    for one in results:
        found, at = one.estimates[metric], one.seconds
        color = _TIED if one.name in comparison.groups[0] else _INK
        axes.plot([at, at], [found.low, found.high], color=color, linewidth=1, alpha=0.35)
        axes.plot([at], [found.value], marker="o", color=color, markersize=5)
    front = unbeaten([(one.seconds, one.estimates[metric].value) for one in results])
    best = [results[i] for i in front]
    axes.plot([one.seconds for one in best], [one.estimates[metric].value for one in best],
              color=_BAR, linewidth=1, zorder=0)  # fmt: skip
    _name(axes, metric, {*(one.name for one in best), comparison.recommendation}, comparison)
    axes.set_xscale("log")
    axes.xaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), major_formatter="{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set(xlabel="CPU seconds per fold", ylabel=_worded(metric))
    axes.spines[["top", "right"]].set_visible(False)
    return axes.get_figure()  # type: ignore[return-value]


def unbeaten(points: list[tuple[float, float]]) -> list[int]:
    """Return which (time, value) no other point beats in both, from the fastest on."""
    front: list[int] = []
    for i in sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1])):
        if not front or points[i][1] > points[front[-1]][1]:
            front.append(i)
    return front


def _name(axes: Axes, metric: str, names: set[str], comparison: Comparison) -> None:
    for name in names:
        one = comparison.results[name]
        at = (one.seconds, one.estimates[metric].value)
        text = plain(name) + " ←" * (name == comparison.recommendation)
        axes.annotate(text, at, xytext=(5, 4), textcoords="offset points", fontsize=9)


def _worded(metric: str) -> str:
    return "AUC" if metric == "auc" else metric.replace("_", " ")


def _bars(axes: Axes, comparison: Comparison) -> None:
    """Draw a bar over each longest run of tied models, at the right edge."""
    place = axes.get_yaxis_transform()
    for i, (first, last) in enumerate(comparison.runs):
        at = 1.01 + _STEP * i
        span = [first - 0.2, last + 0.2]
        axes.plot([at, at], span, color=_BAR, linewidth=3, transform=place, clip_on=False,
                  solid_capstyle="butt")  # fmt: skip
