"""Decision trees are rebuilt from their parts, and forged ones are not."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from bagwise.persistence.decision_trees import build_tree, is_tree, tree_parts


def a_tree():
    return DecisionTreeClassifier(max_depth=2, random_state=0).fit(np.eye(6, 3), [0, 1] * 3)


def test_a_tree_is_rebuilt():
    tree = a_tree().tree_
    assert is_tree(tree)
    assert not is_tree(a_tree())
    found = build_tree(tree_parts(tree))
    rows = np.random.default_rng(0).random((20, 3)).astype(np.float32)
    np.testing.assert_array_equal(found.predict(rows), tree.predict(rows))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("left_child", 10**6, "leads nowhere"),
        ("right_child", 0, "leads nowhere"),
        ("feature", 3, "leads nowhere"),
        ("feature", -2, "leads nowhere"),
    ],
)
def test_a_forged_tree_is_not_followed(field, value, message):
    parts = tree_parts(a_tree().tree_)
    parts["nodes"] = parts["nodes"].copy()
    parts["nodes"][field][0] = value
    with pytest.raises(ValueError, match=message):
        build_tree(parts)


def test_a_tree_of_another_shape_is_not_built():
    parts = tree_parts(a_tree().tree_)
    for name, value in {
        "nodes": np.zeros(3),
        "values": parts["values"][:-1],
        "n_classes": np.array([], dtype=int),
    }.items():
        with pytest.raises(ValueError, match="contains a tree"):
            build_tree({**parts, name: value})


def test_a_tree_that_is_deeper_than_it_states_is_not_built():
    with pytest.raises(ValueError, match="depth is not the one it states"):
        build_tree({**tree_parts(a_tree().tree_), "max_depth": 0})
