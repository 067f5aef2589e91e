"""The order in which methods are tried, and their usual cost."""

from __future__ import annotations

import numpy as np

from bagwise.catalog import METHODS
from bagwise.catalog.expected import _order, _table, by_expected_gain, usual_cost


def test_the_table_names_methods_of_the_catalog():
    areas, costs = _table()
    assert areas.keys() <= {method.name for method in METHODS}
    assert all(0 <= value <= 1 for values in areas.values() for value in values)
    assert min(costs.values()) >= 1


def test_every_method_adds_most_to_the_best_so_far():
    areas, _ = _table()
    order = _order()
    assert sorted(order) == sorted(areas)
    best = np.full(len(areas[order[0]]), 0.5)
    for i, name in enumerate(order):
        gains = [np.maximum(best, areas[other]).mean() for other in order[i:]]
        assert gains[0] == max(gains)
        best = np.maximum(best, areas[name])


def test_unknown_names_come_last_in_their_order():
    assert by_expected_gain(["b", "MI-SVM", "a"]) == ["MI-SVM", "b", "a"]
    assert usual_cost("b") == np.inf
