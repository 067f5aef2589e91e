"""What estimators are given, checked: bags, weights, classes, spreads, and known instances."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted, validate_data

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.checks import warn_of_single_instances
from bagwise.bags.forms import is_plain_table
from bagwise.bags.ids import name_of
from bagwise.bags.segments import bag_of_row, expand, segment_max
from bagwise.errors import SCALE, Message, Parameter, PositiveClassWarning, ScaleWarning
from bagwise.estimators.params import Parameters
from bagwise.kernels.instance import MEDIAN_SAMPLE
from bagwise.tolerances import UNEVEN

# Beginnings of a negative and of a positive label whose order is their meaning.
_MEANINGS = (("neg", "pos"), ("no", "yes"), ("false", "true"), ("absent", "present"))
MOST_CLASSES = 20  # distinct numbers; more are measured
_MOST_GRADES = 5  # whole numbers from 0 that may be grades or classes: 0 to 4


def _name_learned(estimator: Any) -> list[str]:
    """Name what an estimator has learned: the attributes whose names end in an underscore."""
    return [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]


class BagInput(Parameters):
    """What classifiers and transformers of bags share: checked bags of the fitted width."""

    _accepts_nan: ClassVar[bool] = False
    _follows_rows: ClassVar[bool] = False  # whether it works where the rows are
    _uses_known: ClassVar[bool | None] = None  # known labels of instances; None: no matter

    def _make_fresh(self) -> Self:
        return type(self)(**self.get_params(deep=False))

    def _begin_fit(self, bags: Any, sample_weight: Any) -> tuple[Self, Bags, Array]:
        """Return a fresh copy with checked parameters, the bags and their weights."""
        fresh = self._make_fresh()
        fresh._validate_params()
        bags = fresh._validate_bags(bags, reset=True)
        return fresh, bags, check_weight(bags, sample_weight)

    def _become(self, other: BagInput) -> Self:
        """Replace everything learned so far by what ``other`` has learned."""
        for name in _name_learned(self):
            delattr(self, name)
        for name in _name_learned(other):
            setattr(self, name, getattr(other, name))
        return self

    def _check_bags(self, bags: Any) -> Bags:
        check_is_fitted(self)
        return self._validate_bags(bags, reset=False)

    def _validate_bags(self, bags: Any, reset: bool) -> Bags:
        """Return checked bags and compare their width (and names) with those seen in fit."""
        if isinstance(bags, Bags) and not self._follows_rows:
            bags = bags.to("host")
        if not isinstance(bags, Bags) and is_plain_table(bags):
            X = validate_data(
                self,
                bags,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32, np.float16],
                ensure_all_finite=False,
            )
            warn_of_single_instances(X.shape[0])
            bags = Bags(X, np.arange(X.shape[0] + 1))
            return check_bags(bags, finite=not self._accepts_nan)
        bags = check_bags(bags, finite=not self._accepts_nan)
        if reset:
            self.n_features_in_ = bags.n_features
            if hasattr(self, "feature_names_in_"):  # of an earlier fit
                delattr(self, "feature_names_in_")
            if bags.feature_names is not None:
                self.feature_names_in_ = bags.feature_names
        elif bags.n_features != self.n_features_in_:
            raise ValueError(
                f"The bags have {bags.n_features} features, but {type(self).__name__} was fitted "
                f"with {self.n_features_in_} features as input."
            )
        else:
            self._check_names(bags)
        return bags

    def _check_names(self, bags: Bags) -> None:
        names = getattr(self, "feature_names_in_", None)
        if names is None or bags.feature_names is None:
            return
        wrong = np.flatnonzero(names != bags.feature_names)
        if len(wrong):
            i = wrong[0]
            raise ValueError(
                f"Feature {i} is called {bags.feature_names[i]!r} here and was {names[i]!r} in "
                "fit: bring the columns in the same order."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# Labels, and weights of bags and of classes -------------------------------------------------------


def check_target(model: Any, bags: Bags, y: Any) -> Array:
    """Return one label per bag, of any kind but event and time."""
    kind = type(model).__name__
    if y is None:
        raise ValueError(f"{kind} requires y to be passed, but the target y is None.")
    values = np.asarray(y)
    names, shape = values.dtype.names, values.shape
    if names or shape[1:] == (2,):
        what = f"the fields {', '.join(names)}" if names else f"two columns, shape {shape}"
        raise ValueError(
            f"y has {what}, and {kind} takes one label per bag: take BagSurvival or CoxBag for "
            "events and times."
        )
    y = column_or_1d(y, warn=True)
    if len(y) != len(bags):
        hint = " (that is one per instance)" if len(y) == bags.n_instances else ""
        raise ValueError(
            f"y has {len(y)} labels{hint}, there are {len(bags)} bags: one label per bag."
        )
    return y


def refuse_missing_labels(bags: Bags, y: Array) -> None:
    """Refuse labels that are None, NaN or NA among texts; scikit-learn names NaN among numbers."""
    values = y.tolist() if y.dtype == object else []
    # NaN does not equal itself, and whether NA does is NA.
    i = next((i for i, v in enumerate(values) if v is None or str(v == v) != "True"), None)
    if i is not None:
        remedy = "give it one, or leave the bag out."
        raise ValueError(f"{name_of(bags.ids, i)} has no label, but {values[i]}: {remedy}")


def check_weight(bags: Bags, sample_weight: Any) -> Array:
    """Return one finite weight per bag that is not negative; ones when none are given."""
    if sample_weight is None:
        return np.ones(len(bags))
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(len(bags), float(weight))
    if weight.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar: one weight per bag.")
    if len(weight) != len(bags):
        hint = " (that is one per instance)" if len(weight) == bags.n_instances else ""
        raise ValueError(
            f"sample_weight.shape == {weight.shape}{hint}, expected {(len(bags),)}: one per bag."
        )
    if not np.any(weight):
        raise ValueError("Sample weights must contain at least one non-zero number.")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        i = bad[0]
        raise ValueError(
            f"The sample weight of bag {i} (id {bags.ids.tolist()[i]!r}) is {weight[i]}: weights "
            "must be finite and not negative."
        )
    return weight


def class_weights(class_weight: Any, classes: Array, codes: Array, weight: Array) -> Array:
    """Return one positive, finite weight per class; 1 for classes without one of their own."""
    if isinstance(class_weight, str):
        numbers = np.arange(len(classes))
        return compute_class_weight("balanced", classes=numbers, y=codes, sample_weight=weight)
    given, labels = class_weight or {}, classes.tolist()
    for label, value in given.items():
        if label not in labels:
            raise ValueError(
                f"class_weight names class {label!r}, which is not among the labels {labels}: "
                "remove it or correct it."
            )
        if not isinstance(value, Real) or not np.isfinite(float(value)) or value < 0:
            raise ValueError(
                f"class_weight of class {label!r} is {value!r}: weights must be finite numbers "
                "and not negative."
            )
        if value == 0:
            raise ValueError(
                f"class_weight of class {label!r} is 0, and learning needs every class: give it a "
                "small weight, or fit without its bags."
            )
    return np.array([float(given.get(label, 1.0)) for label in labels])


# Which of two classes is the positive one, where nobody said it. Multiple-instance learning is
# asymmetric: a positive bag contains an instance of interest, a negative one contains none. With
# the classes exchanged, most models learn nothing.


def order_is_meaning(classes: list[Any]) -> bool:
    """Return whether the second of two classes is the positive one by the usual conventions.

    Examples
    --------
    >>> from bagwise.estimators.input import order_is_meaning
    >>> order_is_meaning([-1, 1]), order_is_meaning(["neg", "pos"]), order_is_meaning(["mut", "wt"])
    (True, True, False)
    """
    if len(classes) != 2 or not all(isinstance(each, str) for each in classes):
        return True
    first, second = (str(each).strip().casefold() for each in classes)
    try:
        return float(first) < float(second)
    except ValueError:
        pass  # not numbers: words
    if (first, second) == ("n", "y"):
        return True
    return any(first.startswith(no) and second.startswith(yes) for no, yes in _MEANINGS)


def warn_of_unclear(classes: list[Any]) -> None:
    """Warn where the labels do not say which class is positive."""
    if order_is_meaning(classes):
        return
    other, taken = classes
    start = f"{taken!r} is taken as the positive class, whose bags contain an instance of interest."
    named = (Parameter("pos_label", repr(other)), Parameter("pos_label", repr(taken)))
    text = Message(start, " If it is the other one, pass ", named[0], "; ", named[1], " confirms.")
    warnings.warn(PositiveClassWarning(text), stacklevel=2)


# Features on scales that no kernel of distances can compare --------------------------------------


def feature_spreads(bags: Bags) -> Array:
    """Return the standard deviation of every feature, on some of the instances of large bags."""
    rows = bags.X[:: -(-bags.n_instances // MEDIAN_SAMPLE)]
    if sp.issparse(rows):
        return np.sqrt(mean_variance_axis(rows.astype(np.float64), axis=0)[1])
    return np.asarray(rows, dtype=np.float64).std(axis=0)


def far_apart(spreads: Array) -> tuple[int, int] | None:
    """Return the features of smallest and largest spread where these differ by more than 1,000.

    Constant features say nothing, and rounding gives some of them a tiny spread.
    """
    varying = np.flatnonzero(spreads > 1e-12 * spreads.max(initial=0.0))
    if not len(varying):
        return None
    low, high = (varying[pick(spreads[varying])] for pick in (np.argmin, np.argmax))
    return (int(low), int(high)) if spreads[high] > UNEVEN * spreads[low] else None


def warn_of_spreads(bags: Bags) -> None:
    """Warn of features that a kernel of distances cannot see beside others."""
    found = far_apart(feature_spreads(bags))
    if found is None:
        return
    names = range(bags.n_features) if bags.feature_names is None else bags.feature_names
    low, high = (f"{names[j]!r}" if isinstance(names[j], str) else names[j] for j in found)
    text = (
        f"Feature {high} varies more than 1,000 times as much as feature {low}, which the kernel "
    )
    warnings.warn(
        ScaleWarning(Message(text, "cannot see beside it. Scale the features with ", SCALE, ".")),
        stacklevel=2,
    )


REMEDY = "Correct known_labels or the label of the bag."


def known_signs(classes: list[Any], positive: list[Any], bags: Bags) -> list[Array | None]:
    """Return, for each class that is learned, 1 for its known instances, -1 for known others.

    0 is for instances of which nothing is known (NaN, None or an empty text); None where that is
    all of them. Labels are those of bags, or 1 and 0 (or -1) for two classes. ``positive`` names
    the classes that are learned.
    """
    labels = bags.known_labels
    known = np.flatnonzero(find_known(labels)) if labels is not None else np.empty(0, dtype=int)
    if not len(known):
        return [None] * len(positive)
    values = labels[known].tolist()
    names = _name_positives(set(values), classes, positive)
    if names is None:
        raise ValueError(_explain_unknown(bags, known, values, classes))
    signs = np.zeros((len(positive), bags.n_instances))
    for row, name in zip(signs, names, strict=True):
        row[known] = [1.0 if value == name else -1.0 for value in values]
    return list(signs)


def find_known(labels: Array) -> Array:
    """Return which labels are known, rather than NaN or empty."""
    if labels.dtype.kind == "f":
        return ~np.isnan(labels)
    return labels != "" if labels.dtype.kind == "U" else np.ones(len(labels), dtype=bool)


def _name_positives(present: set[Any], classes: list[Any], positive: list[Any]) -> Any:
    """Return what the learned classes are called among the known labels."""
    if present <= set(classes):
        return positive
    numbers = len(positive) == 1 and (1 not in classes or positive == [1])
    return [1] if numbers and (present <= {0, 1} or present <= {-1, 1}) else None


def _explain_unknown(bags: Bags, known: Array, values: list[Any], classes: list[Any]) -> str:
    at = next((i for i, value in enumerate(values) if value not in classes), 0)
    bag = bag_of_row(int(known[at]), bags.offsets)
    place = f"{name_of(bags.ids, bag)}, instance {known[at] - bags.offsets[bag]}"
    return (
        f"{place}: its known label {values[at]!r} is none of the classes {classes}. For two "
        "classes, 1 is a positive and 0 a negative; NaN or None is unknown (-1 is a negative)."
    )


def check_known(bags: Bags, signs: Array, positive: Array, used: Array) -> Array | None:
    """Return the signs within positive bags, None where all are 0; contradictions are errors."""
    wrong = np.flatnonzero((signs > 0) & expand(~positive & used, bags.offsets))
    if len(wrong):
        row, bag = int(wrong[0]), bag_of_row(int(wrong[0]), bags.offsets)
        name = f"(id {bags.instance_ids[row]!s}) " if bags.has_instance_ids else ""
        at = f"its instance {row - bags.offsets[bag]} {name}"
        raise ValueError(
            f"{name_of(bags.ids, bag)} is negative, but {at}is known to be positive. {REMEDY}"
        )
    empty = np.flatnonzero((segment_max(signs, bags.offsets) < 0) & positive)
    if len(empty):
        what = "is positive, but all of its instances are known to be negative"
        raise ValueError(f"{name_of(bags.ids, int(empty[0]))} {what}. {REMEDY}")
    signs = np.where(expand(positive, bags.offsets), signs, 0.0)
    return signs if signs.any() else None


def warn_if_unused(model: Any, bags: Bags) -> None:
    """Warn that a model learns from labels of bags alone, where some of instances are known."""
    if bags.known_labels is None or not find_known(bags.known_labels).any():
        return
    warnings.warn(
        f"{type(model).__name__} learns from the labels of bags: the known labels of instances "
        "play no role. LabelSVC, WitnessSVC, InstanceSVC, the annealed SVMs and "
        "MarkovNetworkClassifier use them.",
        UserWarning,
        stacklevel=3,
    )


# Which task labels set ----------------------------------------------------------------------------


def is_measurement(y: Any) -> bool:
    """Return whether labels are numbers that are measured, not classes."""
    values = np.asarray(y)
    if values.dtype.kind not in "fiu":
        return False
    distinct = len(np.unique(values))
    return distinct > MOST_CLASSES and (distinct > len(values) / 2 or bool(np.any(values % 1)))


def are_classes_in_disguise(y: Any) -> bool:
    """Return whether numbers look like classes or grades: two values, or 0 to 4 at most.

    Examples
    --------
    >>> from bagwise.estimators.input import are_classes_in_disguise
    >>> are_classes_in_disguise([0.0, 2.0, 1.0]), are_classes_in_disguise([0.0, 2.5, 1.0])
    (True, False)
    """
    values = np.unique(np.asarray(y))
    few = len(values) <= _MOST_GRADES and values.tolist() == list(range(len(values)))
    return len(values) > 1 and (len(values) == 2 or few)


def read_task(y: Any) -> str:
    """Return the task that labels set where nobody names it; grades are classes then.

    Examples
    --------
    >>> from bagwise.estimators.input import read_task
    >>> read_task(["no", "yes"]), read_task([n / 7 for n in range(50)])
    ('classes', 'numbers')
    """
    y = np.asarray(y)
    if y.dtype.names is not None or y.ndim == 2:
        return "times"
    return "numbers" if is_measurement(y) else "classes"
