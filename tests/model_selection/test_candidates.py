"""Which methods are compared, and why the others are not."""

import sys

import numpy as np
import pytest

from bagwise.bags import Bags
from bagwise.catalog import METHODS, rank_cost
from bagwise.datasets import make_gaussian_bags
from bagwise.model_selection import candidates
from bagwise.model_selection.candidates import by_names


def test_candidates_are_all_methods_but_for_reasons_those_that_cost_little_first():
    bags, _ = make_gaussian_bags(n_bags=36, shift=4.0, random_state=0)
    models, left_out = candidates(bags)
    assert models.keys() | left_out.keys() == {method.name for method in METHODS}
    assert left_out["SVM-AtLeastOne"] == "is SIL"
    assert left_out["MILSD"] == "needs a graph between the bags"
    assert len({repr(model) for model in models.values()}) == len(models)
    ranks = [rank_cost(name) for name in models]
    assert ranks == sorted(ranks)
    assert np.isfinite(ranks).all()
    of_two = {method.name for method in METHODS if not method.can["several_classes"]}
    assert of_two <= candidates(bags, n_classes=3)[1].keys()


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


@pytest.mark.parametrize(("memory", "kernel"), [(1e8, "linear"), (1e9, "rbf")])
def test_named_methods_are_linear_where_memory_holds_no_kernel_matrix(memory, kernel, monkeypatch):
    """What is asked for by name stays as it is otherwise."""
    monkeypatch.setattr(sys.modules[by_names.__module__], "memory_limit", lambda: memory)
    bags = Bags(np.zeros((6000, 1)), np.arange(0, 6001, 100))
    models = by_names(["MI-SVM", "SimpleMI"], bags)
    assert models["MI-SVM"].kernel == kernel
    assert models["SimpleMI"].kernel == "rbf"  # of bags
