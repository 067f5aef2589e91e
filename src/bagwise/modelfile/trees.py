"""scikit-learn's decision trees, which keep their nodes in memory of their own.

A tree is followed without checks when it predicts, so that a forged one could lead anywhere: every
child must come after its parent and every feature must exist before a tree is built.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["build_tree", "is_tree", "tree_parts"]

Array = NDArray[Any]


def is_tree(value: Any) -> bool:
    """Tell whether a value is the inner tree of a fitted decision tree."""
    module = sys.modules.get("sklearn.tree._tree")  # who has a tree has loaded it
    return module is not None and type(value) is module.Tree


def tree_parts(tree: Any) -> dict[str, Any]:
    """Return numbers and arrays that describe a tree."""
    state = tree.__getstate__()
    return {
        "n_features": int(tree.n_features),
        "n_classes": np.asarray(tree.n_classes),
        "max_depth": int(state["max_depth"]),
        "nodes": state["nodes"],
        "values": state["values"],
    }


def build_tree(parts: dict[str, Any]) -> Any:
    """Build the tree again; a ValueError says what is wrong with it."""
    from sklearn.tree._tree import NODE_DTYPE, Tree

    nodes, values, classes = (np.asarray(parts[name]) for name in ("nodes", "values", "n_classes"))
    if nodes.dtype != NODE_DTYPE or nodes.ndim != 1 or len(nodes) == 0:
        raise ValueError("a tree has nodes of an unknown kind: another scikit-learn wrote it")
    some = classes.ndim == 1 and classes.size > 0 and classes.dtype.kind in "iu"
    if not some or classes.min() < 1:
        raise ValueError("a tree has no classes")
    if values.shape != (len(nodes), len(classes), classes.max()) or values.dtype != np.float64:
        raise ValueError("a tree has values of a wrong shape")
    _check_links(nodes, int(parts["n_features"]))
    tree = Tree(int(parts["n_features"]), classes.astype(np.intp), len(classes))
    tree.__setstate__(
        {
            "max_depth": int(parts["max_depth"]),
            "node_count": len(nodes),
            "nodes": np.ascontiguousarray(nodes),
            "values": np.ascontiguousarray(values),
        }
    )
    return tree


def _check_links(nodes: Array, n_features: int) -> None:
    left, right, feature = nodes["left_child"], nodes["right_child"], nodes["feature"]
    place = np.arange(len(nodes))
    leaf = (left == -1) & (right == -1)
    inside = (left > place) & (right > place) & (left < len(nodes)) & (right < len(nodes))
    known = (feature >= 0) & (feature < n_features)
    if not np.all(leaf | (inside & known)):
        raise ValueError("a tree has a node that leads nowhere")
