"""What estimators are given: weights, the meaning of labels, spreads of features."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import (
    MILES,
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
    BagKernelSVC,
    Bags,
    InstanceSVC,
    LabelSVC,
    MarkovNetworkClassifier,
    PerInstance,
    WitnessSVC,
    load,
    save,
)
from bagwise.datasets import make_gaussian_bags
from bagwise.errors import PositiveClassWarning, ScaleWarning, message_of
from bagwise.estimators.input import class_weights, far_apart, feature_spreads, order_is_meaning
from bagwise.models.markov import descents
from bagwise.testing._problems import planted_bags


@pytest.mark.parametrize(
    ("class_weight", "told"),
    [
        ({"normal": -1.0}, r"class 'normal' is -1\.0: weights must be finite numbers and not neg"),
        ({"tumor": np.nan}, r"class 'tumor' is nan: weights must be finite"),
        ({"tumor": np.inf}, r"class 'tumor' is inf: weights must be finite"),
        ({"tumor": "2"}, r"class 'tumor' is '2': weights must be finite numbers"),
        ({"normal": 0.0, "tumor": 0.0}, r"class 'normal' is 0, .* give it a small weight"),
        ({"normal": 1.0, "tumor": 0}, r"class 'tumor' is 0, .* fit without its bags"),
        ({"Tumor": 2.0}, r"names class 'Tumor', .* labels \['normal', 'tumor'\]: remove it"),
    ],
)
def test_wrong_class_weights_are_named(class_weight, told):
    bags, y = planted_bags()
    with pytest.raises(ValueError, match=told):
        WitnessSVC(class_weight=class_weight).fit(bags, np.array(["normal", "tumor"])[y])


def test_class_weights_multiply_the_weights_of_bags_and_are_one_where_not_given():
    bags, y = planted_bags()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    by_bag = WitnessSVC(gamma=0.3).fit(bags, y, weight * np.where(y == 1, 4.0, 1.0))
    for chosen in ({1: 4}, {0: 1.0, 1: np.float32(4.0)}):
        by_class = WitnessSVC(gamma=0.3, class_weight=chosen).fit(bags, y, weight)
        np.testing.assert_array_equal(by_class.dual_coef_, by_bag.dual_coef_)


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0.1, 5.0)), min_size=6, max_size=15))
def test_balanced_classes_have_equal_totals(drawn):
    codes = np.array([0, 1, 2, *(code for code, _ in drawn)])
    weight = np.array([1.0, 1.0, 1.0, *(value for _, value in drawn)])
    of_class = class_weights("balanced", np.arange(3), codes, weight)
    totals = np.bincount(codes, weight * of_class[codes])
    np.testing.assert_allclose(totals, weight.sum() / 3, rtol=1e-9)


# Positive classes --------------------------------------------------------------------------------

DRAWN, LABELS = make_gaussian_bags(30, 3, shift=4.0)

CLEAR = [
    *([0, 1], [-1, 1], [False, True], [2.0, 7.0], ["neg", "pos"], ["Negative", "positive"]),
    *(["no", "yes"], ["NO", "YES"], ["absent", "present"], ["0", "1"], ["-1", "1"], ["n", "y"]),
    *(["False", "True"], ["neg. bag", "pos. bag"], ["a", "b", "c"]),
]
UNCLEAR = [
    *(["mut", "wt"], ["Yes", "no"], ["normal", "tumor"], ["+", "-"], ["1", "0"], ["a", "b"]),
    *(["present", "wanting"], ["negative", "tumor"]),
]


@pytest.mark.parametrize("classes", [*CLEAR, *UNCLEAR], ids=str)
def test_labels_whose_order_is_their_meaning(classes):
    assert order_is_meaning(classes) == (classes in CLEAR)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_label_names_its_bag(missing):
    y = np.array(["yes", "no", "yes", missing], dtype=object)
    with pytest.raises(ValueError, match=r"Bag 3 \(id 'd'\) has no label, but (None|nan|<NA>): "):
        LabelSVC().fit(Bags(np.arange(4.0)[:, None], range(5), ids=list("abcd")), y)


def test_fit_names_the_class_taken_and_how_to_name_the_other():
    with pytest.warns(PositiveClassWarning, match="'wt' is taken as the positive class") as caught:
        WitnessSVC(kernel="linear").fit(DRAWN, np.array(["mut", "wt"])[LABELS])
    assert "pass pos_label='mut'; pos_label='wt' confirms." in str(caught[0].message)
    worded = message_of(caught[0].message).reword(lambda a: f"--positive {a.value}")
    assert "pass --positive 'mut'; --positive 'wt' confirms." in worded


@pytest.mark.parametrize("settings", [{}, {"threshold": "calibrated"}, {"probability": "sigmoid"}])
def test_it_is_said_once_even_if_folds_are_fitted(settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AnnealedWitnessSVC(kernel="linear", **settings).fit(DRAWN, np.array(["mut", "wt"])[LABELS])
    assert [w.category for w in caught].count(PositiveClassWarning) == 1


def test_a_named_class_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error", PositiveClassWarning)
        WitnessSVC(kernel="linear", pos_label="mut").fit(DRAWN, np.array(["wt", "mut"])[LABELS])


# Spreads -----------------------------------------------------------------------------------------

BAGS, Y = make_gaussian_bags(20, 3, bag_size=4)
FAR = BAGS.replace(X=BAGS.X * [1.0, 1.0, 1e4], feature_names=["a", "texture", "area"])


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_spreads_are_standard_deviations(store):
    bags = BAGS.replace(X=store(BAGS.X))
    np.testing.assert_allclose(feature_spreads(bags), np.asarray(BAGS.X).std(axis=0))


def test_many_instances_are_sampled():
    many = Bags(np.tile([[0.0], [2.0], [0.0]], (5000, 1)), [0, 15000])
    assert feature_spreads(many)[0] == pytest.approx(0.94, abs=0.1)


@pytest.mark.parametrize(
    ("spreads", "found"),
    [
        ([1.0, 2.0, 999.0], None),
        ([1.0, 0.5, 1001.0], (1, 2)),
        ([0.0, 1.0, 5.0], None),  # a constant feature is not a small one
        ([1e-14, 1.0, 5.0], None),  # nor is rounding
        ([0.0, 0.0], None),
    ],
)
def test_a_thousand_is_far(spreads, found):
    assert far_apart(np.array(spreads)) == found


@pytest.mark.parametrize("model", [WitnessSVC(), BagKernelSVC(), MILES()], ids=repr)
def test_kernels_of_distances_warn(model):
    with pytest.warns(ScaleWarning, match="Feature 'area' varies more than 1,000 times as much"):
        model.fit(FAR, Y)


@pytest.mark.parametrize(
    "model",
    [WitnessSVC(kernel="linear"), make_pipeline(PerInstance(StandardScaler()), WitnessSVC())],
    ids=["linear", "scaled"],
)
def test_linear_and_scaled_models_are_silent(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        model.fit(FAR, Y)


SVMS = [InstanceSVC, LabelSVC, WitnessSVC, AnnealedLabelSVC, AnnealedWitnessSVC]
SVMS += [partial(AnnealedProportionSVC, positive_fraction=0.3)]
RULES = [{}, {"cardinality": "ratio", "positive_fraction": 0.1}, {"cardinality": "learned"}]
NETWORKS = [partial(MarkovNetworkClassifier, **rule) for rule in RULES]


def planted(known=0.0, seed=0):
    """Bags of which a fraction of the instances is known, and their labels."""
    bags, y = make_gaussian_bags(60, n_features=6, random_state=seed)
    truth = bags.instance_labels.astype(float)
    draw = np.random.default_rng(seed).random(bags.n_instances)
    return bags.replace(known_labels=np.where(draw < known, truth, np.nan)), y


def alone(bags):
    """Every instance as a bag of its own label."""
    singles = Bags(bags.X, np.arange(bags.n_instances + 1))
    return singles, bags.instance_labels.astype(int)


def by_name(kind):
    kwargs = getattr(kind, "keywords", {})
    return getattr(kind, "func", kind).__name__ + kwargs.get("cardinality", "")


kinds = pytest.mark.parametrize("kind", [*SVMS, *NETWORKS], ids=by_name)
kernels = pytest.mark.parametrize("kernel", ["linear", "rbf"])
losses = pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])


@kinds
def test_nothing_known_changes_no_bit(kind):
    bags, y = planted()
    plain = kind().fit(bags.replace(known_labels=None), y).decision_function(bags)
    np.testing.assert_array_equal(kind().fit(bags, y).decision_function(bags), plain)


@losses
@kernels
@pytest.mark.parametrize("kind", SVMS, ids=by_name)
def test_everything_known_is_an_svm_of_instances(kind, kernel, loss):
    bags, y = planted(known=1.0)
    options = {"kernel": kernel, "loss": loss, "gamma": 0.1}
    model, svm = kind(**options).fit(bags, y), InstanceSVC(**options).fit(*alone(bags))
    found, expected = model.instance_decision_function(bags), svm.decision_function(alone(bags)[0])
    np.testing.assert_allclose(found, expected, atol=1e-7)
    assert model.gap_[0] <= 1e-6 * model.objective_[0]


@kinds
def test_some_known_are_fixed_whatever_the_start(kind):
    bags, y = planted(known=0.2)
    inside = ~np.isnan(bags.known_labels) & (np.repeat(y, bags.sizes) == 1)
    starts = [{}]
    if "init" in kind().get_params() and "C" in kind().get_params():
        words = kind()._parameter_constraints["init"][0].words
        starts = [{"init": word, "n_init": n} for word in words for n in (1, 2)]
    for start in starts:
        for kernel in ({"kernel": "linear"}, {"kernel": "rbf"}) if len(starts) > 1 else [{}]:
            weights = kind(**start, **kernel).fit(bags, y).instance_weights_
            np.testing.assert_array_equal(weights[inside], bags.known_labels[inside])


@pytest.mark.torch
@pytest.mark.parametrize("many", [0, descents.MANY_ROWS])
@kinds
def test_known_instances_on_a_device_lead_to_the_same_objective(kind, many, monkeypatch):
    monkeypatch.setattr(descents, "MANY_ROWS", many)
    bags, y = planted(known=0.2)
    model = kind(**({"kernel": "linear"} if kind in SVMS else {"n_bins": 2}))
    here = clone(model).fit(bags, y)
    there = model.fit(bags.to("cpu"), y)
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-6)
    np.testing.assert_array_equal(there.instance_weights_ > 0.5, here.instance_weights_ > 0.5)


@pytest.mark.parametrize("kind", [LabelSVC, AnnealedWitnessSVC], ids=by_name)
@pytest.mark.parametrize("where", ["folds", "weights", "classes"])
def test_known_instances_follow_the_bags(kind, where, tmp_path):
    bags, y = planted(known=0.2)
    model, other, weight = kind(kernel="linear"), bags, None
    if where == "folds":
        model.set_params(probability="sigmoid", calibration_cv=3)
        save(clone(model).fit(bags, y), tmp_path / "m.bagwise")
        assert load(tmp_path / "m.bagwise").decision_function(bags).std() > 0
    elif where == "weights":
        weight = np.r_[np.ones(50), np.zeros(10)]
        other = bags.replace(known_labels=np.where(np.arange(bags.n_instances) < bags.offsets[50],
                                                   bags.known_labels, 1.0))  # fmt: skip
    elif where == "classes":
        names = np.array(["none", "some"])
        texts = np.array(["" if np.isnan(k) else names[int(k)] for k in bags.known_labels])
        other = bags.replace(known_labels=texts)
        model.set_params(pos_label="some")
        np.testing.assert_array_equal(
            clone(model).fit(other, names[y]).decision_function(bags),
            kind(kernel="linear").fit(bags, y).decision_function(bags),
        )
        return
    found = clone(model).fit(other, y, sample_weight=weight).decision_function(bags)
    expected = clone(model).fit(bags, y, sample_weight=weight).decision_function(bags)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_three_classes_know_their_own_instances():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 8)
    X = rng.normal(size=(24, 4, 3)) + 3 * np.eye(3)[np.repeat([0, 1, 2], 8)][:, None]
    known = np.where(rng.random((24, 4)) < 0.4, y[:, None], "").ravel()
    bags = Bags.from_padded(X, known_labels=known)
    weights = LabelSVC(kernel="linear").fit(bags, y).instance_weights_
    for row, name in zip(weights, "abc", strict=True):
        assert np.all(row[known == name] == 1)
    with pytest.raises(ValueError, match=r"Bag 8 \(id 8\) is negative, but its instance 0"):
        LabelSVC().fit(bags.replace(known_labels=np.where(np.arange(96) == 32, "a", known)), y)


BAD = {
    "a known positive in a negative bag": (
        [0, 0, 1, 0],
        r"Bag 1 \(id 'n'\) is negative, but its instance 0 \(id r3\) is known to be positive",
    ),
    "a positive bag of known negatives": (
        [0, 0, None, None],
        r"Bag 0 \(id 'p'\) is positive, but all of its instances are known to be negative",
    ),
    "no such class": (
        [None, 3, None, None],
        r"Bag 0 \(id 'p'\), instance 1: its known label 3.0 is none of the classes \[0, 1\]",
    ),
    "unknown as -1": ([1, -1, 0, -1], "its known label -1 is none of the classes"),
    "mixed": ([1, "no", None, None], "must be all numbers or all texts"),
    "too few": ([1, 0], "known_labels has 2 entries, there are 4 instances"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("model", [LabelSVC(), MarkovNetworkClassifier()], ids=repr)
def test_bad_labels_are_named(model, name):
    known, message = BAD[name]
    given = {"ids": ["p", "n"], "instance_ids": ["r1", "r2", "r3", "r4"], "known_labels": known}
    with pytest.raises(ValueError, match=message):
        model.fit(Bags([[2.0], [0.0], [0.1], [0.2]], [0, 2, 4], **given), [1, 0])


def test_models_that_do_not_learn_from_them_say_so():
    bags, y = planted(known=0.2)
    with pytest.warns(UserWarning, match="known labels of instances play no role"):
        BagKernelSVC().fit(bags, y)
