"""Bad input to `Bags`, to metrics and to model selection: name, words of the message, the call."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise import metrics, model_selection, persistence
from bagwise.bags import Bags
from bagwise.models.graph.svc import GraphSVC
from bagwise.models.witness import WitnessSVC
from bagwise.testing._problems import planted_bags

B, Y = planted_bags()
E = np.eye(3)


@cache
def _fitted(n_classes: int = 2) -> Any:
    return WitnessSVC(kernel="linear").fit(*planted_bags(n_classes))


def _csr(**parts: Any) -> Any:
    """Return a CSR matrix of which a part was exchanged behind SciPy's back."""
    rows = sp.csr_array(E)
    for name, values in parts.items():
        setattr(rows, name, np.array(values, dtype=np.int32))
    return rows


def _frame(**columns: Any) -> Any:
    import pandas as pd

    return pd.DataFrame({"bag": ["a", "a", "b"], "y": [1, 1, 0], "f": [1.0, 2.0, 3.0], **columns})


# fmt: off
ROWS: list[tuple[Any, ...]] = [
    ("one dimension", "2-D|Bags.from_list", lambda: Bags(np.arange(3.0), [0, 3])),
    ("text as instances", "dtype|<U1|astype(float)", lambda: Bags([["a"], ["b"]], [0, 2])),
    ("complex numbers", "complex128|float64", lambda: Bags(E + 1j, [0, 3])),
    ("masked array", "masked|filled", lambda: Bags(np.ma.masked_equal(E, 0), [0, 3])),
    ("ragged rows", "ragged|same length", lambda: Bags([[1, 2], [3]], [0, 2])),
    ("offsets as floats", "offsets|integers", lambda: Bags(E, [0.0, 3.0])),
    ("offsets from 1", "offsets|start at 0", lambda: Bags(E, [1, 3])),
    ("offsets not sorted", "offsets|not sorted|bag 1", lambda: Bags(E, [0, 2, 1, 3])),
    ("offsets too short", "offsets|number of instances (3)", lambda: Bags(E, [0, 2])),
    ("an empty bag", "bag 1|empty|drop", lambda: Bags(E, [0, 2, 2, 3])),
    ("ids too short", "ids|1|2", lambda: Bags(E, [0, 1, 3], ids=["a"])),
    ("an id is missing", "ids|1", lambda: Bags(E, [0, 1, 3], ids=["a", None])),
    ("an id cannot be hashed", "position 0|list|hash", lambda: Bags(E, [0, 1, 3], ids=[["a"], {}])),
    ("instance ids too short", "instance_ids|2|3", lambda: Bags(E, [0, 3], instance_ids=[1, 2])),
    ("priors above 1", "bag 1|prior 2.0|[0, 1]", lambda: Bags(E, [0, 1, 3], priors=[0.5, 2.0])),
    ("feature names too short", "feature_names|3", lambda: Bags(E, [0, 3], feature_names=["a"])),
    ("feature name twice", "feature|'a'", lambda: Bags(E, [0, 3], feature_names=["a", "a", "b"])),
    ("sparse column out of range", "damaged|coo_array",
        lambda: Bags(_csr(indices=[0, 1, 2**30]), [0, 3])),
    ("sparse column negative", "damaged", lambda: Bags(_csr(indices=[0, 1, -1]), [0, 3])),
    ("sparse pointers fall", "damaged", lambda: Bags(_csr(indptr=[0, 2, 1, 3]), [0, 3])),
    ("list without bags", "no bags", lambda: Bags.from_list([])),
    ("a bag is a number", "bag 1|dimension", lambda: Bags.from_list([E, 5])),
    ("a bag is narrower", "bag 1|2 features|3", lambda: Bags.from_list([E, E[:, :2]])),
    ("groups too short", "2|3", lambda: Bags.from_groups(E, ["a", "b"])),
    ("two labels in a bag", "label|'a'", lambda: Bags.from_groups(E, [*"aab"], y=[0, 1, 1])),
    ("no frame", "pandas|polars|list", lambda: Bags.from_frame([1, 2], "b"),
        (TypeError, ValueError)),
    ("no such column", "'slide'|bag, y, f", lambda: Bags.from_frame(_frame(), "slide")),
    ("bag is label", "bag|label|'bag'", lambda: Bags.from_frame(_frame(), "bag", "bag")),
    ("text feature", "'t'", lambda: Bags.from_frame(_frame(t=[*"xyz"]), "bag", "y")),
    ("mask of another shape", "mask|(2, 3)", lambda: Bags.from_padded(np.ones((2, 3, 1)), [[1]])),
    ("mask without instances", "bag 1|empty",
        lambda: Bags.from_padded(np.ones((2, 1, 1)), [[1], [0]])),
    ("parts that are no bags", "part 1|ndarray|Bags", lambda: Bags.concat([B, E]), TypeError),
    ("parts of other widths", "number of features|3 and 2",
        lambda: Bags.concat([B, B.replace(X=B.X[:, :2])])),
    ("no such attribute", "colour", lambda: B.replace(colour=1), TypeError),
    ("key instance too large", "bag 0", lambda: B.flat(np.full(len(B), 99))),
    ("metric without truth", "instance_labels|bags.replace",
        lambda: metrics.key_instance_rate(_fitted(), B, Y)),
    ("metric for two classes", "two classes|3",
        lambda: metrics.instance_auc(_fitted(3), B.replace(instance_labels=0 * B.X[:, 0]))),
    ("metric with short y", f"3 labels|{len(B)} bags", lambda: metrics.key_instance_rate(
        _fitted(), B.replace(instance_labels=np.zeros(B.n_instances, int)), Y[:3])),
    ("unknown metric", "'acuracy'|accuracy",
        lambda: model_selection.compare(B, Y, {"a": _fitted()}, metric="acuracy")),
    ("more folds than bags", "99|bags", lambda: model_selection.cross_validate_bags(
        WitnessSVC(), B, Y, cv=99)),
    ("model not fitted", "not fitted", lambda: persistence.save(WitnessSVC(), "m.bagwise")),
    ("object that is no model", "ndarray|bagwise", lambda: persistence.save(E, "m.bagwise"),
        (TypeError, ValueError)),
    ("graph that is no graph", "bag_graph", lambda: GraphSVC(bag_graph=5).fit(B, Y)),
    ("bags without ids and a graph", "ids", lambda: GraphSVC(
        bag_graph=_graph()).fit(Bags(B.X, B.offsets), Y)),
]
# fmt: on


def _graph() -> Any:
    from bagwise.graphs import Graph

    return Graph.from_edges([("b0", "b1")])
