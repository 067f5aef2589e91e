"""The attributes of a model as a tree of JSON values, with its arrays stored separately.

Texts, integers, finite floats, booleans, None, lists, and dicts with texts as keys are written as
they are. Everything else is a dict with a key that begins with "$" and says what it is. Floats are
restored exactly: JSON contains the shortest decimal that gives the same bits.

An object is written as the name of its class and its attributes. It is read by assigning these to
an empty object of that class, if it is one of a fixed list: every estimator of the catalog, and
their parts. No constructor and no other code runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.tree._tree import NODE_DTYPE, Tree

from bagwise import preprocessing
from bagwise._removed import CLASSES, drop_removed, regroup_parameters
from bagwise._typing import Array
from bagwise.bags.arrays import in_range
from bagwise.catalog import EVERY
from bagwise.graphs import Graph

_SPARSE = {
    kind.__name__: kind for kind in (sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix)
}
_PARTS = ("data", "indices", "indptr")
# What models are made of beside our estimators and their steps, by module.
_ALLOWED = {
    "bagwise.assumptions": "AtLeastPotential BinnedPotential",
    "bagwise.estimators.pipeline": "BagPipeline",
    "bagwise.kernels": "Kernel",
    "bagwise.models.intersection": "IntersectionMap",
    "bagwise.models.markov.inputs": "NetworkInputs",
    "bagwise.models.markov.scores": "Network",
    "bagwise.models.miles": "MILESEmbedding",
    "bagwise.procedures": "Run",
    "bagwise.solvers": "Solution",
    "sklearn.decomposition": "IncrementalPCA PCA TruncatedSVD",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.ensemble": "ExtraTreesClassifier ExtraTreesRegressor "
    "GradientBoostingClassifier GradientBoostingRegressor",
    "sklearn.feature_selection": "VarianceThreshold",
    "sklearn.impute": "SimpleImputer",
    "sklearn.kernel_approximation": "Nystroem PolynomialCountSketch RBFSampler",
    "sklearn.linear_model": "LogisticRegression",
    "sklearn.pipeline": "Pipeline",
    "sklearn.preprocessing": "Binarizer MaxAbsScaler MinMaxScaler Normalizer PolynomialFeatures "
    "PowerTransformer QuantileTransformer RobustScaler StandardScaler",
    "sklearn.svm": "SVC",
    "sklearn.tree": "DecisionTreeClassifier DecisionTreeRegressor "
    "ExtraTreeClassifier ExtraTreeRegressor",
}
_MODULES = {name: module for module, names in _ALLOWED.items() for name in names.split()}


class UnsavableError(ValueError):
    """A model contains something that cannot be written; the message names it and the remedy."""


# Classes ----------------------------------------------------------------------------------------


def holds_sklearn(state: str) -> bool:
    """Return whether the text of a state names classes of scikit-learn."""
    theirs = [name for name, module in _MODULES.items() if module.startswith("sklearn.")]
    return any(f'"$object": "{name}"' in state for name in theirs)


@cache
def _ours() -> dict[str, type]:
    steps = [getattr(preprocessing, name) for name in preprocessing.__all__]
    classifiers = [entry.estimator for entry in EVERY]
    groups = [kind for owner in classifiers for kind in owner._groups.values()]
    kinds = [kind for kind in (*classifiers, *steps, *groups) if isinstance(kind, type)]
    return {kind.__name__: kind for kind in kinds}


def find_class(name: str) -> type[Any] | None:
    """Return the class with a given name in model files, None if there is none."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    return _ours().get(name)


def name_of_class(kind: type) -> str | None:
    """Return the name under which a class is written, None if it is not allowed."""
    return kind.__name__ if find_class(kind.__name__) is kind else None


# Writing -----------------------------------------------------------------------------------------


def encode(value: Any, place: str, keep: Callable[[Array], str]) -> Any:
    """Convert a model, or an attribute of one, to JSON without arrays.

    ``place`` says where the value is, for errors: "WitnessSVC.kernel". ``keep`` takes an array and
    returns the name under which it is stored.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, np.ndarray):
        return _encode_array(value, place, keep)
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        return {"$scalar": encode(value.item(), place, keep), "dtype": value.dtype.str}
    if type(value) in (list, tuple):
        items = [encode(item, f"{place}[{i}]", keep) for i, item in enumerate(value)]
        return items if type(value) is list else {"$tuple": items}
    if type(value) is dict:
        return _encode_dict(value, place, keep)
    if isinstance(value, np.dtype) and not value.hasobject:
        return {"$dtype": value.str}
    return _encode_object(value, place, keep)


def _encode_array(value: Array, place: str, keep: Callable[[Array], str]) -> Any:
    if value.dtype.kind == "O":
        items = [encode(item, f"{place}[{i}]", keep) for i, item in enumerate(value.ravel())]
        return {"$objects": items, "shape": list(value.shape)}
    if value.dtype.hasobject:
        raise _refuse(value, place)
    return {"$array": keep(np.asarray(value))}


def _encode_dict(value: dict[Any, Any], place: str, keep: Callable[[Array], str]) -> Any:
    items = {key: encode(item, f"{place}[{key!r}]", keep) for key, item in value.items()}
    if all(type(key) is str and not key.startswith("$") for key in items):
        return items
    return {"$dict": [[encode(key, place, keep), item] for key, item in items.items()]}


def _encode_object(value: Any, place: str, keep: Callable[[Array], str]) -> Any:
    if type(value).__name__ in _SPARSE and sp.issparse(value):
        parts = {part: {"$array": keep(getattr(value, part))} for part in _PARTS}
        return {"$sparse": type(value).__name__, "shape": list(value.shape), **parts}
    if isinstance(value, Graph):
        ends = value.ids[value.source], value.ids[value.target]
        edges = [encode(part, place, keep) for part in (*ends, value.weight)]
        return {"$graph": edges, "directed": value.directed}
    if isinstance(value, Tree):
        return {"$tree": encode(tree_parts(value), place, keep)}
    name = name_of_class(type(value))
    if name is None:
        raise _refuse(value, place)
    attributes = _attributes_to_write(value).items()
    state = {key: encode(item, f"{place}.{key}", keep) for key, item in attributes}
    return {"$object": name, "state": state}


def _attributes_to_write(value: Any) -> dict[str, Any]:
    """Return the attributes of an object that a model file contains."""
    attributes = dict(vars(value))
    if isinstance(value, BaseGradientBoosting):
        attributes.pop("_loss", None)  # it follows from the parameters
        attributes.pop("_rng", None)  # only `fit` draws
    if not isinstance(value, BaseEstimator):
        return attributes
    if "callback" in attributes:
        attributes["callback"] = None  # it only reports the progress of `fit`
    if hasattr(value, "tree_") and isinstance(value.random_state, np.random.RandomState):
        attributes["random_state"] = None  # the generator of the boosted model that grew the tree
    return attributes


def _refuse(value: Any, place: str) -> UnsavableError:
    kind = type(value)
    what = f"the {kind.__name__} {getattr(value, '__qualname__', kind.__name__)!r}"
    if hasattr(value, "best_estimator_"):
        remedy = "Save its best_estimator_."
    elif isinstance(value, BaseEstimator) and (is_classifier(value) or is_regressor(value)):
        remedy = (
            "Of scikit-learn's models, model files contain ExtraTreesClassifier, "
            "GradientBoostingClassifier, LogisticRegression, SVC, DecisionTreeClassifier and the "
            "regressors of the same trees."
        )
    elif callable(value):
        remedy = "A model file stores data, not code: use a kernel with a name, or set it to None."
    else:
        remedy = "Replace it by numbers, texts or arrays, as in random_state=0, and fit again."
    return UnsavableError(f"{place} is {what}, which cannot be written to a model file. {remedy}")


# Reading -----------------------------------------------------------------------------------------


def decode(value: Any, arrays: Callable[[str], Array]) -> Any:
    """Convert the output of `encode` back to a value; ``arrays`` takes the name of an array.

    Anything that `encode` does not write raises ValueError.
    """
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next((key for key in value if key.startswith("$")), None)
    if tag is None:
        return {key: decode(item, arrays) for key, item in value.items()}
    try:
        return _decode_tagged(tag, value, arrays)
    except (LookupError, TypeError, AttributeError, ArithmeticError, MemoryError) as error:
        raise ValueError(f"has a malformed {tag!r} ({error!r})") from error


def _decode_tagged(tag: str, value: dict[str, Any], arrays: Callable[[str], Array]) -> Any:
    content = value[tag]
    match tag:
        case "$float":
            return float(content)
        case "$tuple":
            return tuple(decode(content, arrays))
        case "$dict":
            return {decode(key, arrays): decode(item, arrays) for key, item in content}
        case "$dtype":
            return np.dtype(str(content))
        case "$scalar":
            return np.dtype(str(value["dtype"])).type(decode(content, arrays))
        case "$array":
            return arrays(content)
        case "$objects":
            array = np.empty(len(content), dtype=object)
            array[:] = decode(content, arrays)
            return array.reshape(value["shape"])
        case "$sparse":
            parts = tuple(decode(value[part], arrays) for part in _PARTS)
            return in_range(_SPARSE[content](parts, shape=tuple(value["shape"])))
        case "$graph":
            source, target, weight = decode(content, arrays)
            return Graph(source, target, weight, directed=value["directed"])
        case "$tree":
            return build_tree(decode(content, arrays))
        case "$object":
            return _decode_object(content, value["state"], arrays)
    raise ValueError(f"contains something of the unknown kind {tag!r}")


def _decode_object(name: str, attributes: dict[str, Any], arrays: Callable[[str], Array]) -> Any:
    kind = find_class(name)
    if kind is None:
        removed = f" ({CLASSES[name]} Fit the model again)" if name in CLASSES else ""
        raise ValueError(f"contains a {name!r}, which is not among the known classes{removed}")
    state = {str(key): decode(item, arrays) for key, item in attributes.items()}
    if any(key.startswith("__") for key in state):
        raise ValueError(f"gives {name!r} a special attribute of Python")
    made = object.__new__(kind)
    vars(made).update(_with_parameters(kind, state) if issubclass(kind, BaseEstimator) else state)
    if isinstance(made, BaseGradientBoosting) and hasattr(made, "n_features_in_"):
        made._loss = made._get_loss(None)  # which `_attributes_to_write` left out
    return made


def _with_parameters(kind: Any, state: dict[str, Any]) -> dict[str, Any]:
    """Drop and regroup parameters of 0.2, and add the defaults of those newer than the file."""
    for group, values in regroup_parameters(kind, state).items():
        state[group] = kind._groups[group](**values)
    drop_removed(kind, state)
    parameters = signature(kind.__init__).parameters
    for name in kind._get_param_names():
        default = parameters[name].default
        if name not in state and default is Parameter.empty:
            raise ValueError(f"lacks the parameter {name!r} of {kind.__name__}")
        state.setdefault(name, default)
    return state


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
