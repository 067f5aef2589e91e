"""Sums over shards do not depend on who adds them up."""

import numpy as np
import pytest

from bagwise.designs.tree import Node, add_neighbors, add_up


class Number:
    def __init__(self, value):
        self.value, self.text = np.float32(value), str(value)

    def add(self, other):
        self.value += other.value
        self.text = f"({self.text}+{other.text})"


def leaves(values, which):
    return [Node(0, int(i), Number(values[i])) for i in which]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 13])
def test_the_order_does_not_depend_on_the_division(n):
    rng = np.random.default_rng(n)
    values = rng.normal(size=n).astype(np.float32)
    alone = add_up(leaves(values, range(n)))
    assert alone.value == pytest.approx(values.sum(), rel=1e-5, abs=1e-6)
    for _ in range(20):
        owner = rng.integers(0, 3, n)
        parts = [add_neighbors(leaves(values, np.flatnonzero(owner == k))) for k in range(3)]
        nodes = sorted((node for part in parts for node in part), key=lambda node: node.first)
        shared = add_up(nodes)
        assert shared.text == alone.text
        assert shared.value == alone.value
