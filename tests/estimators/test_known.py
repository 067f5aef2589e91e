"""Known labels of instances, over all models that learn from them."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from bagwise import (
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
    BagKernelSVC,
    Bags,
    InstanceSVC,
    LabelSVC,
    MarkovNetworkClassifier,
    WitnessSVC,
    io,
    load,
    save,
)
from bagwise.datasets import make_gaussian_bags
from bagwise.estimators.known import known_signs

SVMS = [InstanceSVC, LabelSVC, WitnessSVC, AnnealedLabelSVC, AnnealedWitnessSVC]
SVMS += [partial(AnnealedProportionSVC, positive_fraction=0.3)]
NETWORKS = [MarkovNetworkClassifier]


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
    return getattr(kind, "func", kind).__name__


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


def test_a_network_learns_from_known_instances_as_bags_of_one():
    bags, y = planted(known=0.2)
    signs = known_signs([0, 1], [1], bags)[0] * np.repeat(y, bags.sizes)
    rest = [
        (bag[of_bag == 0], label)
        for bag, of_bag, label in zip(bags, np.split(signs, bags.offsets[1:-1]), y, strict=True)
        if of_bag.max() <= 0 and np.any(of_bag == 0)
    ]
    singles = [(bags.X[[row]], int(signs[row] > 0)) for row in np.flatnonzero(signs)]
    parts, labels = zip(*rest, *singles, strict=True)
    expected = MarkovNetworkClassifier().fit(list(parts), labels)
    found = MarkovNetworkClassifier().fit(bags, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)
    np.testing.assert_allclose(found.objective_, expected.objective_)


@pytest.mark.parametrize("kind", [LabelSVC, AnnealedWitnessSVC], ids=by_name)
@pytest.mark.parametrize("where", ["file", "device", "folds", "weights", "classes"])
def test_known_instances_follow_the_bags(kind, where, tmp_path):
    bags, y = planted(known=0.2)
    model, other, weight = kind(kernel="linear"), bags, None
    if where == "file":
        io.write(tmp_path / "b.bags", bags, y)
        other = io.read(tmp_path / "b.bags", mmap=True)[0]
    elif where == "device":
        pytest.importorskip("torch")
        other = bags.to("cpu")
    elif where == "folds":
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
    for model in (BagKernelSVC(), MarkovNetworkClassifier(cardinality="ratio")):
        with pytest.warns(UserWarning, match="known labels of instances play no role"):
            model.fit(bags, y)
    with pytest.raises(ValueError, match="known instances of two classes, and there are 3"):
        MarkovNetworkClassifier().fit(bags, np.arange(60) % 3)
