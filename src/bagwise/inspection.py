"""What a fitted model depends on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_consistent_length

from bagwise._documented import documenting
from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.crossfit import bag_scores, fit_weighted
from bagwise.metrics import bag_measures
from bagwise.rowstores import RowStore
from bagwise.rowstores.base import lies_in_files, map_ranges, row_blocks
from bagwise.rowstores.files import Replaced

__all__ = ["key_stability", "permutation_importance"]


_inspects = documenting(
    {
        "model": ("BagClassifier, Pipeline or search", "Fitted."),
        "bags": ("Bags, or anything check_bags takes", ""),
        "y": ("array-like of shape (n_bags,)", "Their labels."),
        "metric": '"accuracy", "balanced_accuracy", "auc" or "f1".',
        "n_repeats": "Number of shuffles per feature.",
        "random_state": ("int, RandomState or None", "Seed of the shuffles."),
    }
)


@_inspects(bags="Bags that the model has not seen.")
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
    if isinstance(bags.X, RowStore) and not bags.X.is_here:
        raise ValueError(
            "permutation_importance changes features, and these instances are on a device or on a "
            "cluster: pass the bags as they were before bags.to(...). Instances of a store are "
            "read in blocks, without a copy."
        )
    rng = check_random_state(random_state)

    def value(of: Bags) -> float:
        found = bag_measures(y, bag_scores(model, of), model.classes_, (metric,))[metric]
        if found is None:
            raise ValueError(f"{metric} is not defined: every class needs a bag.")
        return found

    whole = value(bags)
    falls = np.array(
        [
            [whole - value(shuffled(rng)) for _ in range(n_repeats)]
            for shuffled in (_column(bags, j) for j in range(bags.n_features))
        ]
    )
    return Bunch(
        importances=falls, importances_mean=falls.mean(axis=1), importances_std=falls.std(axis=1)
    )


@_inspects(
    model="Fitted to these bags; it is not changed.",
    bags="The training bags. Bags of one group are drawn together.",
    n_bootstrap="Number of samples: bags (or groups) drawn with replacement, within each class "
    "where there are no groups.",
    random_state="Seed of the samples.",
    n_jobs="Number of fits in parallel.",
)
def key_stability(
    model: Any,
    bags: Any,
    y: ArrayLike,
    *,
    n_bootstrap: int = 20,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Bunch:
    """Measure how often models fitted to bootstrap samples point at the same key instances.

    A key instance that changes with the sample of training bags is no finding about its bag.

    Returns
    -------
    Bunch
        ``stability`` of shape (n_bags,): the fraction of the samples whose model has the same key
        instance in the bag. ``expected`` of shape (n_bags,): the same for keys at random, 1 / m.
        ``key_instances`` of shape (n_bootstrap, n_bags): those of every sample.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> from bagwise.datasets import make_gaussian_bags
    >>> from bagwise.inspection import key_stability
    >>> bags, y = make_gaussian_bags(n_bags=40, shift=3.0)
    >>> model = WitnessSVC(kernel="linear").fit(bags, y)
    >>> found = key_stability(model, bags, y, n_bootstrap=5)
    >>> found.stability[y == 1].mean() > found.expected[y == 1].mean()
    np.True_
    """
    bags, y = check_bags(bags), np.asarray(y)
    check_consistent_length(bags, y)
    rng = check_random_state(random_state)
    weights = [_draw_weights(bags, y, rng) for _ in range(n_bootstrap)]

    def keys_of(weight: Array) -> Array:
        used = np.flatnonzero(weight)
        fresh = clone(model)
        fit_weighted(fresh, bags[used], y[used], weight[used])
        return np.asarray(fresh.key_instances(bags))

    keys = np.stack(Parallel(n_jobs=n_jobs)(delayed(keys_of)(w) for w in weights))
    same = keys == np.asarray(model.key_instances(bags))
    return Bunch(stability=same.mean(axis=0), expected=1.0 / bags.sizes, key_instances=keys)


def _draw_weights(bags: Bags, y: Array, rng: np.random.RandomState) -> Array:
    """Return how often each bag is drawn; every class is."""
    if bags.groups is None:
        times = np.zeros(len(bags))
        for label in np.unique(y):
            members = np.flatnonzero(y == label)
            np.add.at(times, rng.choice(members, len(members)), 1.0)
        return times
    names, group = np.unique(bags.groups, return_inverse=True)
    while True:  # a sample without one of the classes says nothing
        weight = np.bincount(rng.choice(len(names), len(names)), minlength=len(names))[group] * 1.0
        if len(np.unique(y[weight > 0])) == len(np.unique(y)):
            return weight


def _column(bags: Bags, feature: int) -> Callable[[np.random.RandomState], Bags]:
    """Return a function that permutes one feature of the bags over all instances."""
    if not lies_in_files(bags.X):
        return partial(_shuffle, bags, feature)
    ranges = row_blocks(bags.n_instances, bags.n_features * bags.dtype.itemsize)
    parts = map_ranges(bags.X, ranges, lambda rows: np.array(bags.X[rows])[:, feature])
    values = np.concatenate(parts)
    return lambda rng: bags.replace(X=Replaced(bags.X, feature, rng.permutation(values)))


def _shuffle(bags: Bags, feature: int, rng: np.random.RandomState) -> Bags:
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
