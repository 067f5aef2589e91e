"""What a report says of the data: counts, leaks and near-duplicates."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from bagwise import Bags
from bagwise.reports.facts import data_facts, near_duplicates


def facts(bags, n_positive=1):
    y = np.where(np.arange(len(bags)) < n_positive, "ill", "well")
    return dict(data_facts(bags, y, "ill"))


def test_counts_missing_and_constant_features():
    bags = Bags.from_list([[[1.0, 7.0], [np.nan, 7.0]], [[2.0, 7.0]]], feature_names=["a", "b"])
    found = facts(bags)
    assert found["Bags"] == "2 (1 of class ill (positive), 1 of class well)"
    assert found["Missing values"] == "1: a"
    assert found["Constant features"] == "1: b"
    assert found["Instances in several bags"] == "none"


def test_instances_shared_across_groups_are_a_leak():
    rows = np.random.default_rng(0).normal(size=(3, 2))
    bags = Bags.from_list([rows, rows[:1], rows[1:] + 1], groups=["p", "q", "q"])
    found = facts(bags)["Instances in several bags"]
    assert found == "2, 2 of them in several groups: results may be too good"
    same = bags.replace(groups=["p", "p", "q"])
    assert facts(same)["Instances in several bags"] == "2, 0 of them in several groups"


def drawn(n_bags, n_features, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(rng.integers(2, 9), n_features)) for _ in range(n_bags)]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_copy_with_noise_is_found_across_groups(sparse):
    rows = drawn(60, 20)
    rows[7] = rows[41] + 1e-4 * np.random.default_rng(1).normal(size=rows[41].shape)
    rows[8] = rows[9].copy()  # of the same patient: no leak
    groups = [f"p{i // 2}" for i in range(60)]
    bags = Bags.from_list(rows, groups=groups)
    if sparse:
        bags = bags.replace(X=sp.csr_array(bags.X))
    assert near_duplicates(bags).pairs.tolist() == [[7, 41]]
    text = dict(data_facts(bags, np.arange(60) % 2, 1))["Near-duplicate bags"]
    assert "2 bags have a near-duplicate across groups (means closer than 1 %" in text
    assert text.endswith("7 and 41")
    alone = bags.replace(groups=None)
    assert sorted(near_duplicates(alone).pairs.tolist()) == [[7, 41], [8, 9]]


@pytest.mark.parametrize("n_features", [1, 2, 5, 30])
def test_unrelated_bags_are_not_near_duplicates(n_features):
    found = [near_duplicates(Bags.from_list(drawn(400, n_features, seed))) for seed in range(5)]
    assert sum(len(each.pairs) for each in found) == 0
    assert all(each.below <= 0.01 for each in found)


def test_pairs_are_those_of_all_distances():
    rng = np.random.default_rng(2)
    rows = drawn(80, 12)
    for i, j in ((3, 50), (4, 60), (5, 61)):
        rows[i] = rows[j] + rng.normal(scale=[1e-5, 1e-3, 1e-2][i - 3], size=rows[j].shape)
    bags = Bags.from_list(rows)
    pairs, below = near_duplicates(bags)
    means = np.array([each.mean(axis=0) for each in rows])
    apart = pairwise_distances(means / means.std(axis=0))
    upper = np.triu_indices(80, 1)
    close = apart[upper] <= below * np.median(apart[upper])
    assert {*map(tuple, pairs.tolist())} == {*zip(*(u[close].tolist() for u in upper), strict=True)}
    assert [3, 50] in pairs.tolist()


def test_missing_values_constant_features_and_few_bags():
    rows = drawn(30, 4)
    rows[2] = rows[20].copy()
    rows[2][0, 1] = rows[20][0, 1] = np.nan
    bags = Bags.from_list([np.column_stack([each, np.ones(len(each))]) for each in rows])
    assert near_duplicates(bags).pairs.tolist() == [[2, 20]]
    assert len(near_duplicates(bags[:2]).pairs) == 0
    same = Bags.from_list([np.ones((2, 3))] * 5)
    assert len(near_duplicates(same).pairs) == 0  # nothing varies: all features are constant
