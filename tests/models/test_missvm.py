"""MissSVM: clarabel over all witnesses and labels, its limit, its objective, its descent."""

import itertools

import numpy as np
import pytest

from bagwise import Bags, MissSVM, WitnessSVC
from bagwise.datasets import load_digits_bags
from bagwise.losses import LOSSES
from reference.program import reference_solution


@pytest.fixture(scope="module")
def digits():
    return load_digits_bags(digit=0, n_bags=100, subset="train", random_state=0)


def test_without_the_unlabeled_term_it_is_mi_svm(digits):
    bags, y = digits
    miss, witness = MissSVM(unlabeled_weight=0.0, C=2).fit(bags, y), WitnessSVC(C=2).fit(bags, y)
    np.testing.assert_allclose(miss.objective_, witness.objective_, rtol=1e-9)
    np.testing.assert_allclose(
        miss.decision_function(bags), witness.decision_function(bags), atol=1e-7
    )


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("seed", range(2))
def test_is_the_svm_of_its_witnesses_and_labels_and_none_beats_the_best(seed, loss):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 2))
    X[[0, 3]] += 2
    bags = Bags(X, np.array([0, 2, 5, 7, 9]))
    y, C, u, inside = np.array([1, 1, 0, 0]), 2.0, 0.3, bags.X[:5]
    values = {}
    for first, second in itertools.product([0, 1], [2, 3, 4]):
        for signs in itertools.product([-1.0, 1.0], repeat=5):
            rows = np.vstack([bags.X[[first, second]], bags.X[5:], inside])
            labels = np.concatenate([[1, 1, -1, -1, -1, -1], signs])
            weight = C * np.concatenate([np.ones(6), np.full(5, u)])
            found = reference_solution(
                rows, weight * (labels > 0), weight * (labels < 0), LOSSES[loss]
            )
            values[first, second, signs] = found.primal
    model = MissSVM(unlabeled_weight=u, C=C, kernel="linear", loss=loss).fit(bags, y)
    assert model.objective_[0] >= min(values.values()) - 1e-4
    f = model.instance_decision_function(bags)
    signs = tuple(np.where(f[:5] > 0, 1.0, -1.0))
    ended = int(np.argmax(f[:2])), 2 + int(np.argmax(f[2:5])), signs
    assert model.objective_[0] == pytest.approx(values[ended], rel=1e-4)


def test_every_step_descends(digits):
    bags, y = digits
    model = MissSVM(unlabeled_weight=0.5, C=5).fit(bags, y)
    objectives = [record["objective"] for record in model.history_]
    assert len(objectives) > 1
    assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(objectives))
