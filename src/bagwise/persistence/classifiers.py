"""scikit-learn's classifiers in model files: their trees, and what must agree.

Compiled code follows the arrays of a SVM and the nodes of trees
without checks, so that forged ones could read any memory: their sizes are compared before anything
is predicted, and a tree is built only if every child comes after its parent and every feature
exists.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array


def check_svm(svm: Any, width: int | None) -> None:
    """Raise ValueError if the arrays of a fitted SVM do not fit each other."""
    k, vectors = len(svm.classes_), svm.support_vectors_
    n, d = vectors.shape
    pairs = k * (k - 1) // 2
    coef = svm._dual_coef_
    n_coef = coef.data.size if sp.issparse(coef) else np.asarray(coef).size
    agree = (
        d == svm.n_features_in_ == (d if width is None else width)
        and sp.issparse(vectors) == sp.issparse(coef) == bool(svm._sparse)
        and svm._n_support.shape == (k,)
        and svm._n_support.min() >= 0
        and svm._n_support.sum() == n == len(svm.support_)
        and (coef.shape, n_coef) == ((k - 1, n), (k - 1) * n)
        and svm._intercept_.shape == (pairs,)
        and svm._probA.size == svm._probB.size == 0
        and len(svm.class_weight_) == k
        and svm.kernel in ("linear", "rbf", "poly", "sigmoid")
    )
    if not agree:
        raise ValueError("contains a SVC whose arrays do not fit each other")


def check_boosting(model: Any) -> None:
    """Raise ValueError if a boosted model has not one tree per round and column of scores.

    Its own parts must have been checked before: they are used here.
    """
    trees, n_classes = model.estimators_, len(getattr(model, "classes_", (0, 1)))
    columns = 1 if n_classes == 2 else n_classes
    if not isinstance(trees, np.ndarray) or trees.ndim != 2 or trees.shape[1] != columns:
        raise ValueError(f"contains boosted trees for {np.shape(trees)[1:]} of {columns} models")
    if not all(hasattr(tree, "tree_") for tree in trees.flat):
        raise ValueError("contains boosted trees that were not grown")
    first = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))
    if first.shape != (1, columns) or first.dtype != np.float64:
        raise ValueError("contains boosted trees whose first scores have a wrong shape")


# Decision trees --------------------------------------------------------------------------------


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
