"""scikit-learn's decision trees, whose nodes are stored in a compiled class.

Prediction follows the nodes without checks, so that a forged tree could read any memory. A tree is
therefore built only if every child comes after its parent and every feature exists.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bagwise._typing import Array


def is_tree(value: Any) -> bool:
    """Return whether a value is the inner tree of a fitted decision tree."""
    module = sys.modules.get("sklearn.tree._tree")  # loaded if there is any tree
    return module is not None and type(value) is module.Tree


def tree_parts(tree: Any) -> dict[str, Any]:
    """Return the numbers and arrays that describe a tree."""
    state = tree.__getstate__()
    return {
        "n_features": int(tree.n_features),
        "n_classes": np.asarray(tree.n_classes),
        "max_depth": int(state["max_depth"]),
        "nodes": state["nodes"],
        "values": state["values"],
    }


def build_tree(parts: dict[str, Any]) -> Any:
    """Build a tree from its parts; a ValueError says what is wrong with them."""
    from sklearn.tree._tree import NODE_DTYPE, Tree

    nodes, values, classes = (np.asarray(parts[name]) for name in ("nodes", "values", "n_classes"))
    if nodes.dtype != NODE_DTYPE or nodes.ndim != 1 or len(nodes) == 0:
        raise ValueError("contains a tree whose nodes this version of scikit-learn does not know")
    is_count = classes.ndim == 1 and classes.size > 0 and classes.dtype.kind in "iu"
    if not is_count or classes.min() < 1:
        raise ValueError("contains a tree without classes")
    if values.shape != (len(nodes), len(classes), classes.max()) or values.dtype != np.float64:
        raise ValueError("contains a tree whose values have a wrong shape")
    _check_links(nodes, int(parts["n_features"]))
    if int(parts["max_depth"]) != _depth(nodes):  # scikit-learn reserves memory by it
        raise ValueError("contains a tree whose depth is not the one it states")
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
        raise ValueError("contains a tree with a node that leads nowhere")


def _depth(nodes: Array) -> int:
    depth = np.zeros(len(nodes), dtype=np.int64)
    for i in np.flatnonzero(nodes["left_child"] >= 0):  # every child comes after its parent
        for child in (nodes["left_child"][i], nodes["right_child"][i]):
            depth[child] = max(depth[child], depth[i] + 1)
    return int(depth.max())
