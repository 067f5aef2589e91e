"""Bad input to estimators: name of the check, words of the message, the call, what it needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.testing._problems import planted_bags

B, Y = planted_bags()
N, D = len(B), B.n_features
NAMES = np.array([f"f{i}" for i in range(D)])
ONES = np.ones(N)
UNSORTED = B.offsets[[0, 1, 4, 3, 2, *range(5, N + 1)]]


def _with(bag: int, rows: Any) -> list[Any]:
    return [rows if i == bag else member.copy() for i, member in enumerate(B)]


def _put(array: Any, place: Any, value: Any, dtype: Any = None) -> Array:
    changed = np.array(array, dtype=dtype)
    changed[place] = value
    return changed


def _spoiled(value: float, sparse: bool = False) -> Bags:
    X = _put(B.X, (B.offsets[4], 1), value)
    return B.replace(X=sp.csr_array(X) if sparse else X)


def _of(e: Any, values: dict[str, Any]) -> Any:
    return e.set_params(**values).fit(B, Y)


# fmt: off
ROWS: list[tuple[Any, ...]] = [
    ("empty_bag", "bag 5|empty", lambda e: e.fit(_with(5, B[5][:0]), Y)),
    ("empty_bag", "bag 5|empty", lambda e: e.fit(B, Y).predict(_with(5, B[5][:0]))),
    ("empty_bag", "bag 1|empty", lambda e: e.fit(Bags(np.zeros((3, 2)), [0, 2, 2, 3]), [0, 1, 0])),
    ("no_bags", "no bags", lambda e: e.fit(B[:0], [])),
    ("not_finite", "bag 4|'b4'|nan|instance 0|feature 1", lambda e: e.fit(_spoiled(np.nan), Y)),
    ("not_finite", "bag 4|'b4'|infinity|feature 1", lambda e: e.fit(_spoiled(np.inf), Y)),
    ("not_finite", "bag 4|'b4'|nan|instance 0|feature 1",
        lambda e: e.fit(B, Y).decision_function(_spoiled(np.nan))),
    ("not_finite", "bag 4|'b4'|infinity", lambda e: e.fit(B, Y).predict(_spoiled(-np.inf))),
    ("not_finite_sparse", "bag 4|nan|feature 1", lambda e: e.fit(_spoiled(np.nan, True), Y)),
    ("ragged_widths", f"bag 3|{D - 1} features|{D}", lambda e: e.fit(_with(3, B[3][:, 1:]), Y)),
    ("width_at_predict", f"{D - 1} features|{D} features",
        lambda e: e.fit(B, Y).predict(B.replace(X=B.X[:, 1:]))),
    ("width_at_predict", f"{D - 1} features|{D} features",
        lambda e: e.fit(B, Y).predict([member[:, 1:] for member in B])),
    ("width_at_predict", f"{D - 1} features|{D} features",
        lambda e: e.fit(B, Y).predict(B.X[:, 1:])),
    ("feature_names_at_predict", "feature 0|f0", lambda e: e.fit(
        B.replace(feature_names=NAMES), Y).predict(B.replace(feature_names=NAMES[::-1]))),
    ("one_class", "one class|present", lambda e: e.fit(B, ["present"] * N)),
    ("one_class", "one class|present", lambda e: e.fit(
        B, np.array(["absent", "present"])[Y], sample_weight=1.0 * (Y == 1))),
    ("one_class", "weight|zero", lambda e: e.fit(B, Y, sample_weight=0 * ONES)),
    ("length_of_y", f"{N - 1} labels|{N} bags", lambda e: e.fit(B, Y[:-1])),
    ("length_of_y", f"one per instance|{N} bags", lambda e: e.fit(B, np.repeat(Y, B.sizes))),
    ("kind_of_y", "y", lambda e: e.fit(B, None)),
    ("kind_of_y", "label|continuous", lambda e: e.fit(B, Y + 0.25 * ONES + 0.01 * np.arange(N))),
    ("kind_of_y", "y|nan", lambda e: e.fit(B, _put(Y, 2, np.nan, float))),
    ("kind_of_y", "y|shape", lambda e: e.fit(B, np.stack([Y, Y], axis=1))),
    ("offsets", "offsets|not sorted|bag 2", lambda e: e.fit(Bags(B.X, UNSORTED), Y)),
    ("offsets", "offsets|number of instances", lambda e: e.fit(Bags(B.X, B.offsets[:-1]), Y[:-1])),
    ("object_dtype", "bag 2|object", lambda e: e.fit(_with(2, B[2].astype(object)), Y)),
    ("kind_of_instances", "bag 2|<U", lambda e: e.fit(_with(2, B[2].astype(str)), Y)),
    ("kind_of_instances", "bag 2|complex", lambda e: e.fit(_with(2, B[2] + 1j), Y)),
    ("kind_of_instances", "bag 2|dimension", lambda e: e.fit(_with(2, B[2][0]), Y)),
    ("kind_of_bags", "2D array|scalar", lambda e: e.fit(5, Y)),
    ("kind_of_bags", "2D array|scalar", lambda e: e.fit(None, Y)),
    ("missing_bag_id", "ids|7", lambda e: e.fit(
        Bags(B.X, B.offsets, ids=_put(np.arange(N), 7, np.nan, float)), Y)),
    ("missing_bag_id", "7", lambda e: e.fit(
        Bags.from_groups(B.X[:N], _put(np.arange(N), 7, np.nan, float)), Y)),
    ("sample_weight", "bag 3|'b3'|-1.0|negative",
        lambda e: e.fit(B, Y, sample_weight=_put(ONES, 3, -1))),
    ("sample_weight", "bag 3|'b3'|nan|finite",
        lambda e: e.fit(B, Y, sample_weight=_put(ONES, 3, np.nan))),
    ("sample_weight", "bag 3|inf|finite",
        lambda e: e.fit(B, Y, sample_weight=_put(ONES, 3, np.inf))),
    ("sample_weight", "sample_weight|one per instance",
        lambda e: e.fit(B, Y, sample_weight=np.ones(B.n_instances))),
    ("not_fitted", "not fitted", lambda e: e.predict(B)),
    ("parameter_C", "'C'|0", lambda e: _of(e, {"C": 0}), "C"),
    ("parameter_C", "'C'|-1.0", lambda e: _of(e, {"C": -1.0}), "C"),
    ("parameter_C", "'C'|nan", lambda e: _of(e, {"C": np.nan}), "C"),
    ("parameter_C", "'C'|inf", lambda e: _of(e, {"C": np.inf}), "C"),
    ("parameter_C", "'C'|'1'", lambda e: _of(e, {"C": "1"}), "C"),
    ("parameter_C", "'C'", lambda e: _of(e, {"C": 10**400}), "C"),
    ("unknown_kernel", "'kernel'|'rbff'", lambda e: _of(e, {"kernel": "rbff"}), "kernel"),
    ("gamma", "'gamma'|-1", lambda e: _of(e, {"gamma": -1.0}), "gamma"),
    ("gamma", "'gamma'|'auto'", lambda e: _of(e, {"gamma": "auto"}), "gamma"),
    ("unknown_pos_label", "pos_label|'yes'|0, 1", lambda e: _of(e, {"pos_label": "yes"}),
        "pos_label"),
    ("class_weight", "class_weight|'even'", lambda e: _of(e, {"class_weight": "even"}),
        "class_weight"),
    ("class_weight", "class_weight|7", lambda e: _of(e, {"class_weight": {7: 1.0}}),
        "class_weight"),
    ("class_weight", "class_weight|-1", lambda e: _of(e, {"class_weight": {1: -1.0}}),
        "class_weight"),
    ("threshold", "threshold|'high'", lambda e: _of(e, {"threshold": "high"}), "threshold"),
    ("threshold", "threshold|nan", lambda e: _of(e, {"threshold": np.nan}), "threshold"),
    ("max_iter", "'max_iter'|0", lambda e: _of(e, {"max_iter": 0}), "max_iter"),
    ("tol", "'tol'|-1", lambda e: _of(e, {"tol": -1.0}), "tol"),
    ("random_state", "random_state|'now'", lambda e: _of(e, {"random_state": "now"}),
        "random_state"),
]
# fmt: on
