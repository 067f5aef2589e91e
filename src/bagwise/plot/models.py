"""Figures of one fitted model: its scores, which features matter to it, and its training."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.segments import expand
from bagwise.metrics import positive_class, unwrap_model
from bagwise.plot._display import (
    FAINT,
    NEGATIVE,
    POSITIVE,
    STYLES,
    Display,
    by_class,
    displays,
    draws,
    name_rows,
    plain,
    score_bags,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def instance_scores(model: Any, bags: Any) -> tuple[Any, Bags, Array]:
    """Return the classifier, the bags as it sees them, and scores towards the positive class."""
    inner, seen = unwrap_model(model, check_bags(bags, finite=False))
    if not hasattr(inner, "instance_decision_function"):
        raise ValueError(f"{type(inner).__name__} does not score instances: choose another model.")
    _, sign = positive_class(inner)
    return inner, seen, sign * inner.instance_decision_function(seen)


@dataclass
class InstanceScoreDisplay(Display):
    """Histogram of instance scores, by the label of the bag.

    Parameters
    ----------
    scores : ndarray of shape (n_instances,)
        Scores of the instances.
    in_positive : ndarray of bool of shape (n_instances,)
        Which instances lie in positive bags.

    Examples
    --------
    >>> shown = InstanceScoreDisplay.from_estimator(model, bags, y)
    >>> len(shown.scores) == bags.n_instances
    True
    """

    scores: Array
    in_positive: Array

    @classmethod
    @displays(model="Fitted; two classes, with instance scores.")
    def from_estimator(cls, model: Any, bags: Any, y: ArrayLike, *, ax: Axes | None = None) -> Self:
        """Draw the histogram of a fitted model's instance scores."""
        inner, seen, scores = instance_scores(model, bags)
        truth = np.asarray(y) == positive_class(inner)[0]
        return cls(scores, expand(truth, seen.offsets)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        """Draw the histograms, each with area 1."""
        bins = np.histogram_bin_edges(self.scores, "sqrt").tolist()
        for part, color, name in by_class(self.in_positive):
            label = f"instances of {name} ({part.sum():,})"
            ax.hist(self.scores[part], bins, density=True, color=color, alpha=0.5, label=label)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set(xlabel="instance score", ylabel="density")
        ax.legend(fontsize="small")


@dataclass
class BagSizeDisplay(Display):
    """Score of each bag against its number of instances: a maximum over more instances is higher.

    Parameters
    ----------
    sizes, scores : ndarray of shape (n_bags,)
        Number of instances and score of each bag.
    truth : ndarray of bool of shape (n_bags,)
        Which bags are positive.

    Examples
    --------
    >>> -1 <= BagSizeDisplay.from_estimator(model, bags, y).correlation <= 1
    True
    """

    sizes: Array
    scores: Array
    truth: Array

    @property
    def correlation(self) -> float:
        """Spearman's rank correlation of size and score among the negative bags."""
        from scipy.stats import spearmanr

        return float(spearmanr(self.sizes[~self.truth], self.scores[~self.truth]).statistic)

    @classmethod
    @displays()
    def from_estimator(cls, model: Any, bags: Any, y: ArrayLike, *, ax: Axes | None = None) -> Self:
        """Draw a fitted model's bag scores against the sizes of the bags."""
        seen = score_bags(model, bags, y)
        return cls(seen.bags.sizes, seen.scores, seen.truth).plot(ax)

    def _draw(self, ax: Axes) -> None:
        """Draw the bags."""
        for part, color, name in by_class(self.truth):
            ax.plot(self.sizes[part], self.scores[part], "o", color=color, alpha=0.6, label=name)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set(xlabel="instances in the bag", ylabel="bag score")
        if self.sizes.max() > 20 * self.sizes.min():
            ax.set_xscale("log")
        else:
            ax.locator_params(axis="x", integer=True)
        ax.legend(fontsize="small")


@dataclass
class ImportanceDisplay(Display):
    """Permutation importance of features: how much a metric falls when a feature is shuffled.

    Parameters
    ----------
    names : ndarray of str
        Names of the features, the most important first.
    values : ndarray of shape (n_shown, n_repeats)
        The fall of the metric in each repeat.
    metric : str, default="auc"
        Name of the metric.

    See Also
    --------
    bagwise.inspection.permutation_importance : Computes it.

    Examples
    --------
    >>> ImportanceDisplay.from_estimator(model, bags, y, n_repeats=2, top=3).values.shape
    (3, 2)
    """

    names: Array
    values: Array
    metric: str = "auc"

    @classmethod
    @displays(
        model="Fitted.",
        bags="Bags that the model has not seen.",
        metric="As in `bagwise.inspection.permutation_importance`.",
        top="Maximum number of features drawn.",
    )
    def from_estimator(
        cls,
        model: Any,
        bags: Any,
        y: Any,
        *,
        metric: str = "auc",
        n_repeats: int = 5,
        top: int = 15,
        random_state: Any = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Compute and draw the importance of features for a fitted model."""
        from bagwise.inspection import permutation_importance

        found = permutation_importance(
            model, bags, y, metric=metric, n_repeats=n_repeats, random_state=random_state
        )
        order = np.argsort(-found.importances_mean, kind="stable")[:top]
        inner, n_features = unwrap_model(model, check_bags(bags))[0], len(found.importances_mean)
        names = getattr(inner, "feature_names_in_", [f"feature {j}" for j in range(n_features)])
        return cls(np.array(names)[order], found.importances[order], metric).plot(ax)

    def _n_lines(self) -> int:
        return len(self.names)

    def _draw(self, ax: Axes) -> None:
        """Draw one bar per feature with the spread over repeats, the first on top."""
        falls = self.values.mean(axis=1)
        colors = np.where(falls > 0, POSITIVE, NEGATIVE).tolist()
        ax.barh(range(len(falls)), falls, color=colors, xerr=self.values.std(axis=1))
        name_rows(ax, self.names)
        ax.invert_yaxis()
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set(xlabel=f"fall of {self.metric} when the feature is shuffled")


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
