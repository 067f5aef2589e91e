"""How a model improves with more bags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.bags import check_bags
from bagwise.crossfit import bag_scores, fit_folds, folds
from bagwise.metrics import bag_measures
from bagwise.plot._display import NEGATIVE, Display, displays

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class LearningCurveDisplay(Display):
    """A metric on held-out bags against the number of training bags.

    Parameters
    ----------
    sizes : ndarray of int
        Numbers of training bags (means over folds).
    values : ndarray of shape (n_sizes, n_folds)
        The metric in each fold.
    metric : str, default="auc"
        Name of the metric.

    Examples
    --------
    >>> LearningCurveDisplay.from_estimator(model, bags, y, fractions=(0.5, 1.0)).values.shape
    (2, 5)
    """

    sizes: Array
    values: Array
    metric: str = "auc"

    @classmethod
    @displays(
        model=("BagClassifier or Pipeline", "The estimator; it is not changed."),
        fractions="Parts of each training fold, each class in proportion.",
        cv=("int or splitter", "Folds; they keep ``bags.groups`` together."),
        random_state=("int, RandomState or None", "Seed of the folds and the parts."),
    )
    def from_estimator(
        cls,
        model: Any,
        bags: Any,
        y: ArrayLike,
        *,
        metric: str = "auc",
        fractions: Sequence[float] = (0.25, 0.5, 0.75, 1.0),
        cv: Any = 5,
        random_state: Any = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Fit copies of a model on growing parts of the training folds."""
        bags, y = check_bags(bags), np.asarray(y)
        classes, codes = np.unique(y, return_inverse=True)
        rng = check_random_state(random_state)
        splits = folds(bags, y, cv, rng)
        shuffled = [(rng.permutation(train), test) for train, test in splits]  # parts are nested

        def judge(fitted: Any, held_out: Any, labels: Array) -> float:
            value = bag_measures(labels, bag_scores(fitted, held_out), classes, (metric,))[metric]
            return float("nan") if value is None else value

        sizes, values = [], []
        for fraction in fractions:
            parts = [(_part(train, codes, fraction), test) for train, test in shuffled]
            sizes.append(np.mean([len(train) for train, _ in parts]))
            values.append(list(fit_folds(clone(model), bags, y, None, parts, judge)))
        return cls(np.array(sizes), np.array(values), metric).plot(ax)

    def _draw(self, ax: Axes) -> None:
        """Draw the mean over folds, and the folds as dots."""
        ax.plot(np.repeat(self.sizes, self.values.shape[1]), self.values.ravel(), ".", color="gray")
        ax.plot(self.sizes, np.nanmean(self.values, axis=1), "o-", color=NEGATIVE)
        ax.set(xlabel="training bags", ylabel=f"{self.metric} on held-out bags (dots: folds)")


def _part(train: Array, codes: Array, fraction: float) -> Array:
    """Return the first bags of each class."""
    kept = [
        rows[: max(1, round(fraction * len(rows)))]
        for rows in (train[codes[train] == code] for code in np.unique(codes))
        if len(rows)
    ]
    return np.sort(np.concatenate(kept))
