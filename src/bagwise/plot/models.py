"""Figures of one fitted model: its scores, which features matter to it, and its training."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bagwise._typing import Array
from bagwise.bags import check_bags
from bagwise.bags.segments import expand
from bagwise.metrics import positive_class, unwrap_model
from bagwise.plot._display import (
    FAINT,
    NEGATIVE,
    POSITIVE,
    STYLES,
    by_class,
    draws,
    name_rows,
    new_axes,
    plain,
    score_bags,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@draws(model="Fitted; two classes, with instance scores.")
def score_histogram(model: Any, bags: Any, y: ArrayLike, *, ax: Axes | None = None) -> Figure:
    """Draw histograms of instance scores, each of area 1, by the label of the bag.

    Examples
    --------
    >>> score_histogram(model, bags, y)
    <Figure size ... with 1 Axes>
    """
    inner, seen = unwrap_model(model, check_bags(bags, finite=False))
    if not hasattr(inner, "instance_decision_function"):
        raise ValueError(f"{type(inner).__name__} does not score instances: choose another model.")
    positive, sign = positive_class(inner)
    scores = sign * inner.instance_decision_function(seen)
    ax = ax or new_axes()
    bins = np.histogram_bin_edges(scores, "sqrt").tolist()
    for part, color, name in by_class(expand(np.asarray(y) == positive, seen.offsets)):
        label = f"instances of {name} ({part.sum():,})"
        ax.hist(scores[part], bins, density=True, color=color, alpha=0.5, label=label)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set(xlabel="instance score", ylabel="density")
    ax.legend(fontsize="small")
    return ax.get_figure()  # type: ignore[return-value]


@draws()
def score_by_size(model: Any, bags: Any, y: ArrayLike, *, ax: Axes | None = None) -> Figure:
    """Draw the score of each bag against its number of instances.

    A maximum over more instances is higher.

    Examples
    --------
    >>> score_by_size(model, bags, y)
    <Figure size ... with 1 Axes>
    """
    seen = score_bags(model, bags, y)
    return draw_sizes(seen.bags.sizes, seen.scores, seen.truth, ax)


def draw_sizes(sizes: Array, scores: Array, truth: Array, ax: Axes | None = None) -> Figure:
    """Draw given scores against sizes; ``truth`` says which bags are positive."""
    ax = ax or new_axes()
    for part, color, name in by_class(truth):
        ax.plot(sizes[part], scores[part], "o", color=color, alpha=0.6, label=name)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set(xlabel="instances in the bag", ylabel="bag score")
    if sizes.max() > 20 * sizes.min():
        ax.set_xscale("log")
    else:
        ax.locator_params(axis="x", integer=True)
    ax.legend(fontsize="small")
    return ax.get_figure()  # type: ignore[return-value]


@draws(
    model="Fitted.",
    bags="Bags that the model has not seen.",
    metric="As in `bagwise.inspection.permutation_importance`.",
    top="Maximum number of features drawn.",
)
def importance(
    model: Any,
    bags: Any,
    y: Any,
    *,
    metric: str = "auc",
    n_repeats: int = 5,
    top: int = 15,
    random_state: Any = 0,
    ax: Axes | None = None,
) -> Figure:
    """Draw how much a metric falls when a feature is shuffled, the most important one on top.

    Bars are means over repeats, lines their standard deviations.

    See Also
    --------
    bagwise.inspection.permutation_importance : Computes it.

    Examples
    --------
    >>> importance(model, bags, y, n_repeats=2, top=3)
    <Figure size ... with 1 Axes>
    """
    from bagwise.inspection import permutation_importance

    found = permutation_importance(
        model, bags, y, metric=metric, n_repeats=n_repeats, random_state=random_state
    )
    order = np.argsort(-found.importances_mean, kind="stable")[:top]
    inner, n_features = unwrap_model(model, check_bags(bags))[0], len(found.importances_mean)
    names = getattr(inner, "feature_names_in_", [f"feature {j}" for j in range(n_features)])
    ax = ax or new_axes(len(order))
    falls, spread = found.importances_mean[order], found.importances_std[order]
    colors = np.where(falls > 0, POSITIVE, NEGATIVE).tolist()
    ax.barh(range(len(order)), falls, color=colors, xerr=spread)
    name_rows(ax, np.array(names)[order])
    ax.invert_yaxis()
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set(xlabel=f"fall of {metric} when the feature is shuffled")
    return ax.get_figure()  # type: ignore[return-value]


_PANELS = {
    "objective": "objective at T",
    "entropy": "entropy",
    "p_hat": "mean p in positive bags",
    "factorizations": "factorizations",
}


@draws(
    model=(
        "AnnealedLabelSVC, AnnealedWitnessSVC or AnnealedProportionSVC",
        "Fitted. Its ``history_`` is drawn.",
    ),
    title="Title of the figure; the name of the estimator when not given.",
)
def annealing_path(model: Any, *, title: str | None = None) -> Figure:
    """Draw what happened at each temperature of an annealed model's fit.

    Returns
    -------
    matplotlib.figure.Figure
        Objective, entropy, mean probability in positive bags and number of factorizations by
        temperature, hot on the left. One line per class if there are more than two.

    Examples
    --------
    >>> from bagwise import AnnealedLabelSVC
    >>> from bagwise.datasets import make_toy2d
    >>> from bagwise.plot import annealing_path
    >>> model = AnnealedLabelSVC(C=50, gamma=0.5).fit(*make_toy2d())
    >>> len(annealing_path(model).axes)
    4
    """
    histories = _histories(model)
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    for axis, (field, label) in zip(axes.flat, _PANELS.items(), strict=True):
        for history, style, name in zip(histories, cycle(STYLES), model.classes_, strict=False):
            points = [(record["temperature"], record[field]) for record in history]
            name = f"class {plain(name)}"
            axis.plot(*zip(*points, strict=True), markersize=3, label=name, **style)
        axis.set_ylabel(label)
        axis.grid(color=FAINT)
    axes[0, 0].set_xscale("log")
    axes[0, 0].xaxis.set_major_formatter("{x:g}")
    axes[0, 0].invert_xaxis()
    axes[1, 0].set_ylim(0, 1)
    axes[1, 1].set_ylim(bottom=0)
    for axis in axes[1]:
        axis.set_xlabel("temperature")
    if len(histories) > 1:
        axes[0, 0].legend(frameon=False, fontsize="small")
    figure.suptitle(title or type(model).__name__)
    return figure


def _histories(model: Any) -> list[list[dict[str, Any]]]:
    """Return one history per model."""
    check_is_fitted(model)
    histories = model.history_ if isinstance(model.history_[0], list) else [model.history_]
    if "temperature" not in histories[0][0]:
        raise ValueError(
            f"{type(model).__name__} was not annealed: its history_ has no temperatures. "
            "Pass an AnnealedLabelSVC, AnnealedWitnessSVC or AnnealedProportionSVC."
        )
    return histories
