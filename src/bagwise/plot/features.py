"""Which features matter: contributions to the scores of a linear model, permutation importance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.metrics import unwrap_model
from bagwise.plot._display import NEGATIVE, POSITIVE, Display, displays, name_rows
from bagwise.rowstores import here

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_FEATURES = 5  # that a report and `bagwise explain` name per instance: what fits on a line


def feature_names(model: Any, n_features: int) -> Array:
    """Return the names a model was fitted with, or "feature 0", ..."""
    names = getattr(model, "feature_names_in_", None)
    return np.array([f"feature {i}" for i in range(n_features)] if names is None else names)


def mean_instance(bags: Bags) -> Array:
    """Return the mean of all instances."""
    return np.asarray(bags.X.mean(axis=0, dtype=np.float64)).ravel()


def contributions(coef: Array, bags: Bags, row: int, mean: Array) -> Array:
    """Return what each feature of an instance adds to a linear score, compared with the mean."""
    x = here(bags.X[[row]])
    return coef * (np.asarray(x.todense() if hasattr(x, "todense") else x).ravel() - mean)


def name_contributions(
    model: Any, bags: Bags, row: int, mean: Array
) -> list[tuple[str, float]] | None:
    """Return the features that contribute most to an instance's score; None if it is not linear."""
    coef = linear_weights(model)
    if coef is None:
        return None
    values, names = contributions(coef, bags, row, mean), feature_names(model, len(coef))
    order = np.argsort(-np.abs(values), kind="stable")[:MOST_FEATURES]
    return [(str(names[j]), float(values[j])) for j in order]


def linear_weights(model: Any) -> Array | None:
    """Return the weights towards the positive class of a linear model of two classes, or None."""
    coef = getattr(model, "coef_", None)
    if coef is None or len(coef) != 1 or coef.shape[1] != model.n_features_in_:
        return None
    return coef[0]


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
        names = feature_names(unwrap_model(model, check_bags(bags))[0], len(found.importances_mean))
        return cls(names[order], found.importances[order], metric).plot(ax)

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
