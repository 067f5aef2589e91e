"""Checks that bad input is refused with an error that names the place."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.testing._problems import needs, planted_bags, raises


def _members() -> tuple[list[Array], Array]:
    bags, y = planted_bags()
    return [bag.copy() for bag in bags], y


def check_empty_bag(estimator: Any) -> None:
    """An empty bag is named, at fit and at predict."""
    members, y = _members()
    model = clone(estimator).fit(members, y)
    members[5] = members[5][:0]
    with raises("bag 5", "empty"):
        clone(estimator).fit(members, y)
    with raises("bag 5", "empty"):
        model.predict(members)
    with raises("bag 1", "empty"):
        clone(estimator).fit(Bags(np.zeros((3, 2)), np.array([0, 2, 2, 3])), [0, 1, 0])


def check_no_bags(estimator: Any) -> None:
    """No bags at all are refused."""
    with raises("no bags"):
        clone(estimator).fit(planted_bags()[0][:0], [])


def check_not_finite(estimator: Any) -> None:
    """NaN and infinity are named by bag, instance and feature."""
    bags, y = planted_bags()
    model = clone(estimator).fit(bags, y)
    for value, name in ((np.nan, "nan"), (np.inf, "infinity")):
        X = bags.X.copy()
        X[bags.offsets[4], 1] = value
        spoiled = bags.replace(X=X)
        for refuse in (lambda b: clone(estimator).fit(b, y), model.decision_function):
            with raises("bag 4", "'b4'", name, "instance 0", "feature 1"):
                refuse(spoiled)


def check_ragged_widths(estimator: Any) -> None:
    """A bag of another width is named with both widths."""
    members, y = _members()
    width = members[0].shape[1]
    members[3] = members[3][:, :-1]
    with raises("bag 3", f"{width - 1} features", f"{width}"):
        clone(estimator).fit(members, y)


def check_width_at_predict(estimator: Any) -> None:
    """Bags of another width than those of the fit are refused with both widths."""
    bags, y = planted_bags()
    model = clone(estimator).fit(bags, y)
    narrow = bags.replace(X=bags.X[:, 1:])
    for form in (narrow, list(narrow), narrow.X):
        with raises(f"{narrow.n_features} features", f"{bags.n_features} features"):
            model.predict(form)


def check_feature_names_at_predict(estimator: Any) -> None:
    """Reordered columns are named."""
    bags, y = planted_bags()
    names = np.array([f"f{i}" for i in range(bags.n_features)])
    model = clone(estimator).fit(bags.replace(feature_names=names), y)
    np.testing.assert_array_equal(model.feature_names_in_, names)
    with raises("feature 0", "f0"):
        model.predict(bags.replace(feature_names=names[::-1]))


def check_one_class(estimator: Any) -> None:
    """Labels of a single class are refused by its name, also if weights leave only one class."""
    bags, y = planted_bags()
    labels = np.array(["absent", "present"])[y]
    with raises("one class", "present"):
        clone(estimator).fit(bags, np.full(len(bags), "present"))
    with raises("one class", "present"):
        clone(estimator).fit(bags, labels, sample_weight=1.0 * (y == 1))
    with raises("weight", "zero"):
        clone(estimator).fit(bags, labels, sample_weight=np.zeros(len(bags)))


def check_length_of_y(estimator: Any) -> None:
    """Labels that are not one per bag are refused with both numbers."""
    bags, y = planted_bags()
    with raises(f"{len(bags) - 1} labels", f"{len(bags)} bags"):
        clone(estimator).fit(bags, y[:-1])
    with raises("one per instance", f"{len(bags)} bags"):
        clone(estimator).fit(bags, np.repeat(y, bags.sizes))
    with raises("y"):
        clone(estimator).fit(bags, None)


def check_offsets(estimator: Any) -> None:
    """Offsets that are not sorted, or do not end at the last instance, are named."""
    bags, y = planted_bags()
    unsorted = bags.offsets.copy()
    unsorted[[2, 4]] = unsorted[[4, 2]]
    with raises("offsets", "not sorted", "bag 2"):
        clone(estimator).fit(Bags(bags.X, unsorted), y)
    with raises("offsets", "number of instances"):
        clone(estimator).fit(Bags(bags.X, bags.offsets[:-1]), y[:-1])


def check_object_dtype(estimator: Any) -> None:
    """Instances that are not numbers are named by their bag."""
    members, y = _members()
    members[2] = members[2].astype(object)
    with raises("bag 2", "object"):
        clone(estimator).fit(members, y)


def check_missing_bag_id(estimator: Any) -> None:
    """NaN or None as a bag id is named by its row."""
    bags, y = planted_bags()
    ids = np.arange(float(len(bags)))
    ids[7] = np.nan
    with raises("ids", "7"):
        clone(estimator).fit(Bags(bags.X, bags.offsets, ids=ids), y)
    with raises("7"):
        clone(estimator).fit(Bags.from_groups(bags.X[: len(bags)], ids), y)


def check_sample_weight(estimator: Any) -> None:
    """Weights that are negative, not finite or one per instance are refused by name."""
    bags, y = planted_bags()
    for value, name in ((-1.0, "negative"), (np.nan, "finite"), (np.inf, "finite")):
        weight = np.ones(len(bags))
        weight[3] = value
        with raises("bag 3", "'b3'", str(value), name):
            clone(estimator).fit(bags, y, sample_weight=weight)
    with raises("sample_weight", "one per instance"):
        clone(estimator).fit(bags, y, sample_weight=np.ones(bags.n_instances))


@needs("parameter C")
def check_parameter_C(estimator: Any) -> None:
    """C must be positive and finite."""
    bags, y = planted_bags()
    for value in (0, -1.0, np.nan, "1"):
        with raises("'C'", repr(value) if isinstance(value, str) else str(value)):
            clone(estimator).set_params(C=value).fit(bags, y)


@needs("parameter kernel")
def check_unknown_kernel(estimator: Any) -> None:
    """An unknown kernel is refused with the list of known ones."""
    bags, y = planted_bags()
    with raises("'kernel'", "'rbff'"):
        clone(estimator).set_params(kernel="rbff").fit(bags, y)


@needs("parameter pos_label")
def check_unknown_pos_label(estimator: Any) -> None:
    """A positive label that no bag has is refused with the list of labels."""
    bags, y = planted_bags()
    with raises("pos_label", "'yes'", "0, 1"):
        clone(estimator).set_params(pos_label="yes").fit(bags, y)


def check_not_fitted(estimator: Any) -> None:
    """Predicting before fitting is refused."""
    with raises("not fitted"):
        clone(estimator).predict(planted_bags()[0])
