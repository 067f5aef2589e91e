"""Scores of instances and bags: by label, and against the size of the bag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.segments import expand
from bagwise.metrics import positive_class, unwrap_model
from bagwise.plot._display import Display, by_class, displays, score_bags

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
