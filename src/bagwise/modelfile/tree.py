"""A model's attributes as a tree of JSON values, with its arrays beside it.

Texts, whole numbers, finite floats, booleans, None and lists stand for themselves; so do dicts with
texts as keys. All else is a dict with one key that begins with "$": what it is. Floats come back to
the bit: JSON holds the shortest decimal that does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bagwise.graphs import Graph
from bagwise.modelfile.allowed import allowed_class, is_estimator, name_of_class
from bagwise.modelfile.trees import build_tree, is_tree, tree_parts

__all__ = ["UnsavableError", "decode", "encode"]

Array = NDArray[Any]
_SPARSE = {
    kind.__name__: kind for kind in (sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix)
}


class UnsavableError(ValueError):
    """Something in a model is not data of a known kind; the message names it and the remedy."""


# Writing -----------------------------------------------------------------------------------------


def encode(value: Any, place: str, keep: Callable[[Array], str]) -> Any:
    """Turn a value into JSON.

    Parameters
    ----------
    value : object
        A model, or an attribute of one.
    place : str
        Where it is, for errors: "WitnessSVC.kernel".
    keep : callable
        Takes an array and returns the name under which it is kept.

    Returns
    -------
    object
        JSON without arrays.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, np.ndarray):
        return _encode_array(value, place, keep)
    if isinstance(value, np.generic):
        return _encode_scalar(value, place, keep)
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
        raise _refused(value, place)
    return {"$array": keep(np.asarray(value))}


def _encode_scalar(value: np.generic, place: str, keep: Callable[[Array], str]) -> Any:
    if value.dtype.kind not in "biufU":
        raise _refused(value, place)
    return {"$scalar": encode(value.item(), place, keep), "dtype": value.dtype.str}


def _encode_dict(value: dict[Any, Any], place: str, keep: Callable[[Array], str]) -> Any:
    items = {key: encode(item, f"{place}[{key!r}]", keep) for key, item in value.items()}
    if all(type(key) is str and not key.startswith("$") for key in items):
        return items
    return {"$dict": [[encode(key, place, keep), item] for key, item in items.items()]}


def _encode_object(value: Any, place: str, keep: Callable[[Array], str]) -> Any:
    if type(value).__name__ in _SPARSE and sp.issparse(value):
        parts = {
            part: {"$array": keep(getattr(value, part))} for part in ("data", "indices", "indptr")
        }
        return {"$sparse": type(value).__name__, "shape": list(value.shape), **parts}
    if isinstance(value, Graph):
        ends = value.ids[value.source], value.ids[value.target]
        edges = [encode(part, place, keep) for part in (*ends, value.weight)]
        return {"$graph": edges, "directed": value.directed}
    if is_tree(value):
        return {"$tree": encode(tree_parts(value), place, keep)}
    name = name_of_class(type(value))
    if name is None:
        raise _refused(value, place)
    state = {key: encode(item, f"{place}.{key}", keep) for key, item in vars(value).items()}
    return {"$object": name, "state": state}


def _refused(value: Any, place: str) -> UnsavableError:
    kind = type(value)
    what = f"the {kind.__name__} {getattr(value, '__qualname__', kind.__name__)!r}"
    if hasattr(value, "best_estimator_"):
        remedy = "Save its best_estimator_."
    elif callable(value):
        remedy = "A model file holds data, not code: use a kernel with a name, or set it to None."
    else:
        remedy = "Replace it by numbers, texts or arrays, as in random_state=0, and fit again."
    return UnsavableError(f"{place} is {what}, which cannot be written to a model file. {remedy}")


# Reading -----------------------------------------------------------------------------------------


def decode(value: Any, arrays: Callable[[str], Array]) -> Any:
    """Turn JSON back into a value.

    Parameters
    ----------
    value : object
        What `encode` returned.
    arrays : callable
        Takes the name of an array and returns it.

    Returns
    -------
    object
        The value. What is not of the known kinds raises ValueError.
    """
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next((key for key in value if key.startswith("$")), None)
    if tag is None:
        return {key: decode(item, arrays) for key, item in value.items()}
    if tag not in _DECODERS:
        raise ValueError(f"holds something of the unknown kind {tag!r}")
    try:
        return _DECODERS[tag](value, arrays)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{tag!r} is not as it should be ({error!r})") from error


def _decode_float(value: dict[str, Any], arrays: Callable[[str], Array]) -> float:
    return float(value["$float"])


def _decode_tuple(value: dict[str, Any], arrays: Callable[[str], Array]) -> tuple[Any, ...]:
    return tuple(decode(value["$tuple"], arrays))


def _decode_dict(value: dict[str, Any], arrays: Callable[[str], Array]) -> dict[Any, Any]:
    return {decode(key, arrays): decode(item, arrays) for key, item in value["$dict"]}


def _decode_dtype(value: dict[str, Any], arrays: Callable[[str], Array]) -> np.dtype:
    return np.dtype(str(value["$dtype"]))


def _decode_scalar(value: dict[str, Any], arrays: Callable[[str], Array]) -> np.generic:
    return np.dtype(str(value["dtype"])).type(decode(value["$scalar"], arrays))


def _decode_array(value: dict[str, Any], arrays: Callable[[str], Array]) -> Array:
    return arrays(value["$array"])


def _decode_objects(value: dict[str, Any], arrays: Callable[[str], Array]) -> Array:
    items = decode(value["$objects"], arrays)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(value["shape"])


def _decode_sparse(value: dict[str, Any], arrays: Callable[[str], Array]) -> Any:
    parts = tuple(decode(value[part], arrays) for part in ("data", "indices", "indptr"))
    matrix = _SPARSE[value["$sparse"]](parts, shape=tuple(value["shape"]))
    matrix.check_format(full_check=True)
    return matrix


def _decode_graph(value: dict[str, Any], arrays: Callable[[str], Array]) -> Graph:
    source, target, weight = decode(value["$graph"], arrays)
    return Graph(source, target, weight, directed=value["directed"])


def _decode_tree(value: dict[str, Any], arrays: Callable[[str], Array]) -> Any:
    return build_tree(decode(value["$tree"], arrays))


def _decode_object(value: dict[str, Any], arrays: Callable[[str], Array]) -> Any:
    kind = allowed_class(value["$object"])
    if kind is None:
        raise ValueError(f"holds a {value['$object']!r}, which is not among the known classes")
    state = {str(key): decode(item, arrays) for key, item in value["state"].items()}
    if any(key.startswith("__") for key in state):
        raise ValueError(f"gives {value['$object']!r} an attribute of Python's own")
    made = object.__new__(kind)
    vars(made).update(_with_parameters(kind, state) if is_estimator(kind) else state)
    return made


def _with_parameters(kind: Any, state: dict[str, Any]) -> dict[str, Any]:
    """Add the defaults of parameters that are newer than the file."""
    parameters = signature(kind.__init__).parameters
    for name in kind._get_param_names():
        default = parameters[name].default
        if name not in state and default is Parameter.empty:
            raise ValueError(f"lacks {name!r} of {kind.__name__}")
        state.setdefault(name, default)
    return state


_DECODERS: dict[str, Callable[[dict[str, Any], Callable[[str], Array]], Any]] = {
    "$array": _decode_array,
    "$dict": _decode_dict,
    "$dtype": _decode_dtype,
    "$float": _decode_float,
    "$graph": _decode_graph,
    "$object": _decode_object,
    "$objects": _decode_objects,
    "$scalar": _decode_scalar,
    "$sparse": _decode_sparse,
    "$tree": _decode_tree,
    "$tuple": _decode_tuple,
}
