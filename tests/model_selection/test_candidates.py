"""Which methods are compared, and why the others are not."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise.bags import Bags
from bagwise.catalog import METHODS
from bagwise.catalog.expected import by_expected_gain
from bagwise.datasets import make_gaussian_bags
from bagwise.model_selection import candidates
from bagwise.model_selection.candidates import by_names


@pytest.fixture(scope="module")
def bags():
    return make_gaussian_bags(n_bags=36, shift=4.0, random_state=0)[0]


def test_candidates_are_all_methods_but_for_reasons(bags):
    models, left_out = candidates(bags)
    assert models.keys() | left_out.keys() == {method.name for method in METHODS}
    assert left_out["SVM-AtLeastOne"] == "is SIL"
    assert left_out["MILSD"] == "needs a graph between the bags"
    assert len({repr(model) for model in models.values()}) == len(models)


def test_the_most_promising_come_first(bags):
    names = list(candidates(bags)[0])
    assert names == by_expected_gain(sorted(names)) or set(names[:5]) == set(
        by_expected_gain(sorted(names))[:5]
    )


def test_large_data_gets_linear_kernels():
    bags = Bags(np.zeros((6000, 1)), np.arange(0, 6001, 10))
    models, left_out = candidates(bags)
    assert models["MI-SVM"].kernel == "linear"
    assert "all pairs of the 6000 instances" in left_out["MILES"]
    assert repr(models["SIL"]) == "InstanceSVC(kernel='linear')"
    assert models["STK"].kernel == models["SimpleMI"].kernel == "rbf"  # of 600 bags
    many = Bags(np.zeros((6000, 1)), np.arange(6001))
    models, left_out = candidates(many)
    assert "all pairs of the 6000 bags" in left_out["STK"]
    assert models["SimpleMI"].kernel == "linear"


def test_of_many_instances_those_that_read_them_seldom_come_first():
    bags = Bags(np.zeros((60_000, 1)), np.arange(0, 60_001, 100))
    names = list(candidates(bags)[0])
    statistics = {"StatisticsForest", "StatisticsSVC", "StatisticsLogistic", "SimpleMI", "STK"}
    assert (names[0], set(names[1:6])) == ("SIL", statistics)
    assert names[6] == "MI-SVM"


@pytest.mark.parametrize(("n_instances", "kernel"), [(60_000, "linear"), (6000, "rbf")])
def test_named_methods_of_many_instances_are_linear(n_instances, kernel):
    """Their kernel matrix would be refused; what is asked for by name stays as it is otherwise."""
    bags = Bags(np.zeros((n_instances, 1)), np.arange(0, n_instances + 1, 100))
    models = by_names(["MI-SVM", "SimpleMI"], bags)
    assert models["MI-SVM"].kernel == kernel
    assert models["SimpleMI"].kernel == "rbf"  # of bags


def test_methods_of_two_classes_are_left_out_for_three(bags):
    left_out = candidates(bags, n_classes=3)[1]
    for method in METHODS:
        if not method.can["several_classes"]:
            assert method.name in left_out
