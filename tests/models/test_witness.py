"""mi-SVM and MI-SVM against brute force over labelings and witnesses, and by hand."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise import Bags, InstanceSVC, LabelSVC, WitnessSVC
from bagwise.losses import LOSSES
from bagwise.testing._problems import planted_bags
from reference.program import reference_solution

SIZES, Y = np.array([2, 3, 2, 3]), np.array([1, 1, 0, 0])
OFFSETS = np.concatenate([[0], np.cumsum(SIZES)])


def small(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 2))
    X[[0, 3]] += 1.5
    return Bags(X, OFFSETS)


def least(X, up, down, C, loss):
    return reference_solution(X, C * up, C * down, LOSSES[loss]).primal


def labelings():
    """All labels of the positive bags' instances with at least one positive in each bag."""
    for signs in product([0.0, 1.0], repeat=5):
        if any(signs[:2]) and any(signs[2:]):
            yield np.array([*signs, *[0.0] * 5])


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("seed", range(3))
def test_label_svc_ends_at_a_labeling_that_none_of_its_kind_beats_by_much(seed, loss):
    bags, C = small(seed), 0.7
    values = {tuple(p): least(bags.X, p, 1 - p, C, loss) for p in labelings()}
    model = LabelSVC(kernel="linear", C=C, loss=loss).fit(bags, Y)
    p = tuple(model.instance_weights_)
    assert model.objective_[0] == pytest.approx(values[p], rel=1e-4)
    assert model.objective_[0] >= min(values.values()) * (1 - 1e-4)
    scores = model.instance_decision_function(bags)
    for bag in (range(2), range(2, 5)):  # where it rests, the labels are the cheapest ones
        expected = {k for k in bag if scores[k] > 0} or {max(bag, key=lambda k: scores[k])}
        assert {k for k in bag if p[k] == 1} == expected


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("init", ["mean", "instances", "random"])
@pytest.mark.parametrize("seed", range(3))
def test_witness_svc_ends_at_witnesses_that_score_highest(seed, init, loss):
    bags, C = small(seed), 0.7
    values = {}
    for one, other in product(range(2), range(2, 5)):
        up = 1.0 * np.isin(np.arange(10), [one, other])
        values[one, other] = least(bags.X, up, np.repeat([0.0, 1.0], 5), C, loss)
    model = WitnessSVC(kernel="linear", C=C, loss=loss, init=init).fit(bags, Y)
    witnesses = tuple(np.flatnonzero(model.instance_weights_))
    assert model.objective_[0] == pytest.approx(values[witnesses], rel=1e-4)
    assert model.objective_[0] >= min(values.values()) * (1 - 1e-4)
    scores = model.instance_decision_function(bags)
    assert witnesses == (int(np.argmax(scores[:2])), 2 + int(np.argmax(scores[2:5])))
    np.testing.assert_array_equal(model.key_instances(bags)[:2], np.array(witnesses) - [0, 2])


@given(st.integers(0, 10**6), st.sampled_from([LabelSVC, WitnessSVC]))
def test_the_objective_falls_from_step_to_step(seed, kind):
    bags, _ = planted_bags(n_bags=20, seed=seed % 100)
    y = np.random.default_rng(seed).permutation(np.arange(20) % 2)
    model = kind(gamma=0.5, C=3.0).fit(bags, y)
    values = [record["objective"] for record in model.history_]
    assert all(after < before for before, after in pairwise(values))
    assert model.objective_[0] == pytest.approx(values[-1], rel=1e-9)
    assert model.gap_[0] <= 1e-8 * model.objective_[0]


def test_label_svc_begins_with_the_labels_of_the_bags():
    bags, y = planted_bags()
    first = LabelSVC(gamma=0.5).fit(bags, y).history_[0]["objective"]
    assert first == pytest.approx(InstanceSVC(gamma=0.5).fit(bags, y).objective_[0], rel=1e-9)


def test_witness_svc_begins_where_init_says():
    bags, y = planted_bags(n_bags=30)
    means = np.array([bag.mean(axis=0) for bag in bags])
    rows = np.vstack([means[y == 1], bags.X[np.repeat(y == 0, bags.sizes)]])
    up = np.arange(len(rows)) < np.sum(y == 1)
    found = reference_solution(rows, 1.0 * up, 1.0 * ~up, LOSSES["squared_hinge"])
    scores = np.split(bags.X @ found.coef, bags.offsets[1:-1])
    best = [bag[np.argmax(f)] for bag, f, label in zip(bags, scores, y, strict=True) if label]
    rows = np.vstack([best, bags.X[np.repeat(y == 0, bags.sizes)]])
    expected = least(rows, 1.0 * up, 1.0 * ~up, 1.0, "squared_hinge")
    model = WitnessSVC(kernel="linear").fit(bags, y)
    assert model.history_[0]["objective"] == pytest.approx(expected, rel=1e-6)
    starts = {
        init: WitnessSVC(kernel="linear", init=init).fit(bags, y).history_[0]["objective"]
        for init in ("mean", "instances", "random")
    }
    assert len(set(starts.values())) >= 2


def test_a_prepared_design_does_not_blunt_the_certificate():
    bags, y = planted_bags(n_bags=40)
    for C in (0.1, 10.0, 1000.0):
        model = LabelSVC(C=C).fit(bags, y)
        assert model.gap_[0] <= 1e-10 * model.objective_[0]


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("model", [LabelSVC, WitnessSVC])
def test_an_annealed_start_ends_no_higher_than_the_annealed_solution(model, loss):
    from bagwise import AnnealedLabelSVC, AnnealedWitnessSVC

    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    bags = [rng.normal(size=(5, 4)) + 0.5 * label for label in y]
    annealed = {LabelSVC: AnnealedLabelSVC, WitnessSVC: AnnealedWitnessSVC}[model]
    settings = {"kernel": "linear", "C": 10.0, "loss": loss}
    reached = annealed(**settings).fit(bags, y)
    ours = model(init="anneal", **settings).fit(bags, y)
    assert ours.objective_ <= reached.objective_ * (1 + 1e-3)
