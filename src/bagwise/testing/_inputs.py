"""Checks that every form of the same data gives the same model."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from bagwise.bags import Bags
from bagwise.bags.segments import bag_index
from bagwise.estimators.tags import bag_tags
from bagwise.testing._problems import (
    assert_close,
    assert_same_bits,
    needs,
    outputs,
    planted_bags,
    score_bags,
    with_fixed_width,
)


def check_forms_of_input_agree(estimator: Any) -> None:
    """A list, an object array, Bags and flat rows with bag ids give the same bits."""
    bags, y = planted_bags()
    expected = outputs(clone(estimator).fit(bags, y), bags)
    for name, form in _forms(bags).items():
        model = clone(estimator).fit(form, y)
        assert_same_bits(expected, outputs(model, form), f"{name} against Bags")


def _forms(bags: Bags) -> dict[str, Any]:
    members = list(bags)
    objects = np.empty(len(bags), dtype=object)
    objects[:] = members
    return {"list": members, "object array": objects, "groups": _regroup(bags)}


def _regroup(bags: Bags) -> Bags:
    """Write the rows in mixed order and let their bag ids bring them together again."""
    position = np.arange(bags.n_instances) - np.repeat(bags.offsets[:-1], bags.sizes)
    mixed = np.argsort(position, kind="stable")  # first instances of all bags, second ones, ...
    return Bags.from_groups(bags.X[mixed], bags.ids[bag_index(bags.offsets)][mixed])


def check_table_is_bags_of_one(estimator: Any) -> None:
    """A plain 2-D array is the same as bags of one instance, also as a 3-D array."""
    bags, y = planted_bags()
    X = bags.X[bags.offsets[:-1]]
    expected = outputs(clone(estimator).fit([row[None] for row in X], y), X)
    for form in (X, X[:, None, :]):
        assert_same_bits(expected, outputs(clone(estimator).fit(form, y), X), f"{form.ndim}-D")


@needs("sparse")
def check_sparse_equals_dense(estimator: Any) -> None:
    """Sparse instances give the scores of the same instances written densely."""
    bags, y = planted_bags()
    bags = bags.replace(X=np.where(bags.X > 0.3, bags.X, 0.0))
    sparse = bags.replace(X=sp.csr_array(bags.X))
    expected = score_bags(with_fixed_width(estimator).fit(bags, y), bags)
    model = with_fixed_width(estimator).fit(sparse, y)
    tolerance = bag_tags(estimator).tolerance
    assert_close(expected, score_bags(model, sparse), tolerance, "sparse against dense")
    assert_close(expected, score_bags(model, bags), tolerance, "sparse fit, dense predict")


def check_lower_precision(estimator: Any) -> None:
    """Single and half precision give the scores of double precision to a thousandth."""
    bags, y = planted_bags()
    for dtype in (np.float32, np.float16):
        low = bags.replace(X=bags.X.astype(dtype))
        same = bags.replace(X=low.X.astype(np.float64))
        expected = score_bags(with_fixed_width(estimator).fit(same, y), same)
        scores = score_bags(with_fixed_width(estimator).fit(low, y), low)
        assert scores.dtype == np.float64, "scores are float64 whatever the instances are"
        tolerance = max(1e-3, bag_tags(estimator).tolerance)
        assert_close(expected, scores, tolerance, f"{low.dtype} against float64")


def check_memory_map(estimator: Any) -> None:
    """Instances on disk give the same bits as instances in memory."""
    bags, y = planted_bags()
    expected = outputs(clone(estimator).fit(bags, y), bags)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "instances.npy"
        np.save(path, bags.X)
        mapped = bags.replace(X=np.load(path, mmap_mode="r"))
        assert_same_bits(expected, outputs(clone(estimator).fit(mapped, y), mapped), "memory map")


@needs("classes")
def check_labels_of_any_kind(estimator: Any) -> None:
    """Strings, booleans and unusual numbers as labels change names only."""
    bags, y = planted_bags()
    model = clone(estimator).fit(bags, y)
    scores, codes = model.decision_function(bags), model.predict(bags)
    for names in (["absent", "present"], [False, True], [-1, 1], [7.0, 8.0]):
        labels = np.array(names)
        renamed = clone(estimator).fit(bags, labels[y])
        np.testing.assert_array_equal(renamed.classes_, labels)
        np.testing.assert_array_equal(renamed.decision_function(bags), scores)
        np.testing.assert_array_equal(renamed.predict(bags), labels[codes])


@needs("parameter pos_label")
def check_pos_label(estimator: Any) -> None:
    """Naming the first class as positive mirrors the problem with swapped labels."""
    bags, y = planted_bags()
    expected = outputs(clone(estimator).fit(bags, y), bags)
    mirrored = outputs(clone(estimator).set_params(pos_label=0).fit(bags, 1 - y), bags)
    for name in expected.keys() & {"decision_function", "instance_decision_function"}:
        np.testing.assert_array_equal(mirrored[name], -expected[name], err_msg=name)
    np.testing.assert_array_equal(mirrored["predict"], 1 - expected["predict"])
    if "key_instances" in expected:
        np.testing.assert_array_equal(mirrored["key_instances"], expected["key_instances"])
