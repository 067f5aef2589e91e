"""Trees on binned features against scikit-learn's, which sort."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from bagwise.models import trees
from bagwise.models.trees import BinnedFeatures, Forest


def problem(n_rows=300, n_features=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    X[:, 1] = np.round(2 * X[:, 1])  # many equal values
    X[rng.random(X.shape) < 0.3] = 0.0
    pull = rng.normal(size=n_rows) + X[:, 2] * np.abs(X[:, 3])
    pull[::17] = 0.0  # rows without weight
    return X, pull


def impurity(votes_of_leaf, pull):
    """Return the weighted Gini impurity of the partition into leaves."""
    value = 0.0
    for leaf in np.unique(votes_of_leaf):
        inside = pull[votes_of_leaf == leaf]
        up, down = inside[inside > 0].sum(), -inside[inside < 0].sum()
        value += up + down - (up**2 + down**2) / max(up + down, 1e-300)
    return value


def leaves_of(forest, X):
    return np.stack(
        [Forest(forest.starts, *_with_vote(forest, i)).votes(0, X) for i in range(len(forest.vote))]
    ).argmax(axis=0)


def _with_vote(forest, leaf):
    vote = np.zeros(len(forest.vote))
    vote[leaf] = 1.0
    return forest.feature, forest.threshold, forest.left, forest.right, vote


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("depth", "least"), [(1, 0.0), (1, 0.2), (2, 0.0), (4, 0.05)])
def test_the_same_tree_as_sorting(make, depth, least):
    X, pull = problem()
    ours = Forest.of([BinnedFeatures(make(X)).tree(pull, depth, least)])
    sorting = DecisionTreeClassifier(
        max_depth=depth, min_weight_fraction_leaf=least, random_state=0
    ).fit(X, pull > 0, sample_weight=np.abs(pull))
    expected = np.where(sorting.predict(X), 1.0, -1.0)
    np.testing.assert_array_equal(
        ours.votes(0, sp.csc_array(make(X)) if make is not np.asarray else X), expected
    )
    inner = ours.feature >= 0
    assert inner.sum() == (sorting.tree_.feature >= 0).sum()
    theirs = np.sort(sorting.tree_.threshold[sorting.tree_.feature >= 0])
    np.testing.assert_allclose(np.sort(ours.threshold[inner]), theirs, rtol=1e-6)


def test_few_bins_come_close_to_the_best_split(monkeypatch):
    X, pull = problem(2000, seed=1)
    exact = Forest.of([BinnedFeatures(X).tree(pull, 1, 0.0)])
    monkeypatch.setattr(trees, "_MOST_BINS", 64)
    features = BinnedFeatures(X)
    assert features.n_bins.max() <= 65
    coarse = Forest.of([features.tree(pull, 1, 0.0)])
    best = impurity(leaves_of(exact, X), pull)
    assert best <= impurity(leaves_of(coarse, X), pull) <= 1.01 * best


def test_bins_hold_their_values_in_order(monkeypatch):
    monkeypatch.setattr(trees, "_MOST_BINS", 10)
    values = np.random.default_rng(0).exponential(size=500).astype(np.float32)
    codes, lowest, highest = trees._bins(values)
    assert len(lowest) == 10
    assert np.all(lowest[1:] > highest[:-1])
    assert np.all((lowest[codes] <= values) & (values <= highest[codes]))
    assert np.bincount(codes).max() <= 51


def test_a_pure_node_is_a_leaf_and_no_cut_is_none():
    X = np.array([[1.0], [1.0], [1.0]], dtype=np.float32)
    assert len(BinnedFeatures(X).tree(np.array([1.0, 2.0, -1.0]), 3, 0.0)) == 1
    pure = BinnedFeatures(np.arange(3, dtype=np.float32)[:, None])
    assert pure.tree(np.array([1.0, 2.0, 0.0]), 3, 0.0) == [
        (-1, pytest.approx(np.nan, nan_ok=True), -1, -1, 1.0)
    ]
