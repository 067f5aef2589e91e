"""sMIL, stMIL and sbMIL against clarabel, brute force over labels, and their limits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bagwise import Bags, InstanceSVC, SparseMIL
from bagwise.datasets import load_digits_bags
from bagwise.losses import LOSSES
from reference.program import reference_solution


def small(seed: int) -> tuple[Bags, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = np.array([2, 3, 1, 3, 2, 2])
    y = np.array([1, 0, 1, 1, 0, 0])
    X = rng.normal(size=(sizes.sum(), 2))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X[offsets[:-1][y == 1]] += 2
    return Bags(X, offsets), y


def least(rows, labels, margins, weights, loss) -> float:
    """min 1/2|w|^2 + sum weight_k loss(label_k (row_k.w + b) + 1 - margin_k), by clarabel."""
    sides = weights * (labels > 0), weights * (labels < 0)
    return reference_solution(rows, *sides, LOSSES[loss], margins).primal


def smil_rows(bags: Bags, y):
    """The rows of Eq. 6 written by hand."""
    members = list(bags)
    means = [bag.mean(axis=0) for bag, label in zip(members, y, strict=True) if label]
    margins = [2 / len(bag) - 1 for bag, label in zip(members, y, strict=True) if label]
    negatives = np.vstack([bag for bag, label in zip(members, y, strict=True) if not label])
    rows = np.vstack([means, negatives])
    labels = np.repeat([1.0, -1.0], [len(means), len(negatives)])
    share = np.count_nonzero(y == 0) / len(negatives)
    weights = np.where(labels > 0, 1.0, share)
    return rows, labels, np.concatenate([margins, np.ones(len(negatives))]), weights


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("seed", range(3))
def test_smil_equals_clarabel(seed, loss):
    bags, y = small(seed)
    model = SparseMIL(kernel="linear", C=3.0, loss=loss).fit(bags, y)
    rows, labels, margins, weights = smil_rows(bags, y)
    expected = least(rows, labels, margins, 3 * weights, loss)
    assert model.objective_[0] == pytest.approx(expected, rel=1e-4 if loss == "hinge" else 1e-7)
    assert model.gap_[0] <= 1e-4 * model.objective_[0]


@pytest.mark.parametrize("seed", range(3))
def test_stmil_is_a_local_minimum_over_labels_and_never_beats_all_labelings(seed):
    bags, y = small(seed)
    C = 0.5
    model = SparseMIL(variant="transductive", kernel="linear", C=C).fit(bags, y)
    rows, labels, margins, weights = smil_rows(bags, y)
    free = np.vstack([bag for bag, label in zip(bags, y, strict=True) if label])
    share = np.count_nonzero(y == 1) / len(free)
    values = {}
    for signs in itertools.product([-1.0, 1.0], repeat=len(free)):
        values[signs] = least(
            np.vstack([rows, free]),
            np.concatenate([labels, signs]),
            np.concatenate([margins, np.ones(len(free))]),
            C * np.concatenate([weights, np.full(len(free), share)]),
            "squared_hinge",
        )
    assert min(values.values()) <= model.objective_[0] + 1e-6
    chosen = np.where(model.instance_weights_[np.repeat(y, bags.sizes) == 1] > 0, 1.0, -1.0)
    assert model.objective_[0] == pytest.approx(values[tuple(chosen)], rel=1e-6)
    objectives = [record["objective"] for record in model.history_]
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(objectives))


def test_sbmil_with_all_positive_is_the_single_instance_model():
    bags, y = small(1)
    balanced = SparseMIL(variant="balanced", positive_fraction=1.0).fit(bags, y)
    single = InstanceSVC().fit(bags, y)
    np.testing.assert_allclose(
        balanced.decision_function(bags), single.decision_function(bags), atol=1e-8
    )


@pytest.mark.parametrize("balance", [0.1, 0.5])
def test_sbmil_calls_the_asked_fraction_positive(balance):
    bags, y = load_digits_bags(digit=0, n_bags=40, random_state=0)
    model = SparseMIL(variant="balanced", positive_fraction=balance).fit(bags, y)
    in_positive = np.repeat(y, bags.sizes) == 1
    assert model.instance_weights_[~in_positive].sum() == 0
    assert model.instance_weights_.sum() == np.ceil(balance * in_positive.sum())
