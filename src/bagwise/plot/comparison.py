"""Figures of a comparison: intervals and ties, and results against time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bagwise._documented import documenting
from bagwise.measures import NAMES
from bagwise.plot._display import (
    FAINT,
    NEGATIVE,
    NEUTRAL,
    POSITIVE,
    ROUND,
    name_rows,
    new_axes,
    plain,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bagwise.model_selection import Comparison


_BEFORE = """\
>>> from bagwise import InstanceSVC, MeanSVC
>>> from bagwise.datasets import make_gaussian_bags
>>> from bagwise.model_selection import compare
>>> from bagwise.plot import {}
>>> bags, y = make_gaussian_bags(n_bags=20, random_state=0)
>>> found = compare(bags, y, {{"SIL": InstanceSVC(), "mean": MeanSVC()}}, cv=2, n_repeats=1)
"""  # what the examples go on from
_compares = documenting(
    {
        "comparison": "As `bagwise.model_selection.compare` returns it.",
        "metric": "The metric; that of the comparison when None.",
    },
    before=_BEFORE,
)()


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
    >>> len(compared_models(found).axes)
    1
    """
    metric, results = metric or comparison.protocol.metric, _results(comparison)
    axes = new_axes(len(results) + 1)
    for row, one in enumerate(results):
        found, color = one.estimates[metric], _color(one.name, comparison)
        axes.plot([found.low, found.high], [row, row], color=color)
        axes.plot([found.value], [row], marker="o", color=color)
    axes.axvline(comparison.majority[metric], color=FAINT, linestyle="--", zorder=0)
    name_rows(axes, (_mark(one.name, comparison) for one in results))
    axes.set_ylim(len(results) - 0.5, -0.5)
    _bars(axes, comparison)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    dashed = "always the most frequent label" if len(comparison.sample.classes) else "chance"
    axes.set_xlabel(f"{_name(metric)} with 95 % interval; dashed: {dashed}")
    axes.set_title(
        f"{len(comparison.sample.y)} bags: blue models are tied with the best,\n"
        "bars join tied models, ← is recommended",
        fontsize="medium",
        loc="left",
    )
    return axes.get_figure()  # type: ignore[return-value]


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
    >>> compared_times(found).axes[0].get_xscale()
    'log'
    """
    from matplotlib.ticker import LogLocator, NullLocator

    metric, results = metric or comparison.protocol.metric, _results(comparison)
    points = [(one.seconds, one.estimates[metric].value) for one in results]
    axes, front = new_axes(), find_unbeaten(points)
    for one, at in zip(results, points, strict=True):
        found, color = one.estimates[metric], _color(one.name, comparison)
        axes.plot([at[0], at[0]], [found.low, found.high], color=color, alpha=0.3)
        axes.plot(*at, marker="o", color=color)
    axes.plot(*zip(*(points[i] for i in front), strict=True), color=POSITIVE, zorder=0)
    for i, (one, at) in enumerate(zip(results, points, strict=True)):
        if i in front or one.name == comparison.recommendation:
            text = plain(_mark(one.name, comparison))
            axes.annotate(text, at, xytext=(5, 5), textcoords="offset points", fontsize="small")
    axes.set_xscale("log")
    axes.xaxis.set(major_locator=LogLocator(subs=ROUND), major_formatter="{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set(xlabel="CPU seconds per fold", ylabel=_name(metric))
    axes.spines[["top", "right"]].set_visible(False)
    return axes.get_figure()  # type: ignore[return-value]


def find_unbeaten(points: list[tuple[float, float]]) -> list[int]:
    """Return which (time, value) no other point beats in both, from the fastest on."""
    front: list[int] = []
    for i in sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1])):
        if not front or points[i][1] > points[front[-1]][1]:
            front.append(i)
    return front


def _results(comparison: Comparison) -> list[Any]:
    results = list(comparison.results.values())
    if not results:
        raise ValueError("No model has a result: there is nothing to draw.")
    return results


def _color(name: str, comparison: Comparison) -> str:
    return NEGATIVE if name in comparison.groups[0] else NEUTRAL


def _mark(name: str, comparison: Comparison) -> str:
    return name + " ←" * (name == comparison.recommendation)


def _name(metric: str) -> str:
    return NAMES.get(metric, metric.replace("_", " "))


def _bars(axes: Axes, comparison: Comparison) -> None:
    """Draw a bar over each longest run of tied models, side by side at the right edge."""
    from matplotlib.transforms import ScaledTranslation

    figure: Any = axes.get_figure()
    for i, (first, last) in enumerate(comparison.runs):
        beside = ScaledTranslation(6 * (i + 1) / 72, 0, figure.dpi_scale_trans)  # 6 points each
        place = axes.get_yaxis_transform() + beside
        span = [first - 0.2, last + 0.2]
        axes.plot([1, 1], span, color=POSITIVE, linewidth=3, transform=place, clip_on=False,
                  solid_capstyle="butt")  # fmt: skip
