"""What a report says of the data: counts and leaks."""

import numpy as np

from bagwise import Bags
from bagwise.reports.facts import data_facts


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
