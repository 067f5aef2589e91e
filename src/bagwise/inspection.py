"""What a fitted model depends on."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_consistent_length

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.crossfit import bag_scores
from bagwise.metrics import bag_measures

__all__ = ["permutation_importance"]


def permutation_importance(
    model: Any,
    bags: Any,
    y: ArrayLike,
    *,
    metric: str = "auc",
    n_repeats: int = 5,
    random_state: Any = 0,
) -> Bunch:
    """Measure how much a metric falls when a feature is shuffled over all instances.

    A feature that another one can replace has a small importance although both matter.

    Parameters
    ----------
    model : BagClassifier, Pipeline or search
        Fitted.
    bags : Bags, or anything check_bags takes
        Bags that the model has not seen.
    y : array-like of shape (n_bags,)
        Their labels.
    metric : str, default="auc"
        "accuracy", "balanced_accuracy", "auc" or "f1".
    n_repeats : int, default=5
        Number of shuffles per feature.
    random_state : int, RandomState or None, default=0
        Seed of the shuffles.

    Returns
    -------
    Bunch
        ``importances`` of shape (n_features, n_repeats), ``importances_mean`` and
        ``importances_std`` of shape (n_features,), as in scikit-learn.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> from bagwise.datasets import make_gaussian_bags
    >>> from bagwise.inspection import permutation_importance
    >>> bags, y = make_gaussian_bags(n_bags=40)
    >>> model = WitnessSVC(kernel="linear").fit(bags, y)
    >>> found = permutation_importance(model, bags, y, n_repeats=2)
    >>> found.importances.shape == (bags.n_features, 2)
    True
    """
    bags, y = check_bags(bags), np.asarray(y)
    check_consistent_length(bags, y)
    rng = check_random_state(random_state)

    def value(of: Bags) -> float:
        found = bag_measures(y, bag_scores(model, of), model.classes_, (metric,))[metric]
        if found is None:
            raise ValueError(f"{metric} is not defined: every class needs a bag.")
        return found

    whole = value(bags)
    falls = np.array(
        [
            [whole - value(_shuffled(bags, j, rng)) for _ in range(n_repeats)]
            for j in range(bags.n_features)
        ]
    )
    return Bunch(
        importances=falls, importances_mean=falls.mean(axis=1), importances_std=falls.std(axis=1)
    )


def _shuffled(bags: Bags, feature: int, rng: np.random.RandomState) -> Bags:
    """Return the bags with one feature permuted over all instances."""
    order = rng.permutation(bags.n_instances)
    if not sp.issparse(bags.X):
        X: Array = np.array(bags.X)
        X[:, feature] = X[order, feature]
        return bags.replace(X=X)
    columns = bags.X.tocsc()
    parts = [
        columns[:, :feature],
        columns[order, feature].reshape(-1, 1),
        columns[:, feature + 1 :],
    ]
    return bags.replace(X=sp.csr_array(sp.hstack(parts)))
