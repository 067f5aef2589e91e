"""mi-SPSVM: relabeling falls and ends, and the control does not relabel."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise import Bags, SemiProximalSVC
from bagwise.designs import matrix_design
from bagwise.solvers.semiproximal import semiproximal


def planted(seed, n_bags=20, far=4.0):
    """Most instances of positive bags lie around +2, the rest among the negatives around -2."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_bags) % 2
    arrays = []
    for label in y:
        rows = rng.normal(-far / 2, 0.7, size=(rng.integers(2, 6), 3))
        if label:
            rows[np.append(True, rng.random(len(rows) - 1) < 0.7)] += far
        arrays.append(rows)
    return Bags.from_list(arrays), y


def by_hand(bags, y, C):
    """Run Steps 0-4 as printed, one bag at a time."""
    kept = np.repeat(y == 1, bags.sizes)
    objectives = []
    while True:
        solution = semiproximal(matrix_design(bags.X), kept, np.full(bags.n_instances, C))
        objectives.append(solution.objective)
        leaving = []
        for i in np.flatnonzero(y == 1):
            rows = [k for k in range(bags.offsets[i], bags.offsets[i + 1]) if kept[k]]
            witness = max(rows, key=lambda k: solution.scores[k])
            leaving += [k for k in rows if k != witness and solution.scores[k] <= -1]
        if not leaving:
            return solution, kept, objectives
        kept[leaving] = False


@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 10.0]))
def test_is_the_printed_algorithm_and_falls_by_2C_per_move(seed, C):
    bags, y = planted(seed)
    model = SemiProximalSVC(C=C).fit(bags, y)
    solution, kept, objectives = by_hand(bags, y, C)
    np.testing.assert_allclose(model.coef_[0], solution.coef, atol=1e-7)
    np.testing.assert_array_equal(model.instance_weights_, 1.0 * kept)
    found = [record["objective"] for record in model.history_]
    np.testing.assert_allclose(found, objectives, rtol=1e-8)
    n_moved = np.array([len(rows) for rows in model.moved_])
    assert np.all(np.diff(found) <= -2 * C * n_moved + 1e-7)
    assert model.n_iter_ == len(n_moved) + 1 <= np.sum(bags.sizes[y == 1]) + 1


def test_the_control_does_not_move():
    bags, y = planted(0)
    control = SemiProximalSVC(relabel=False, C=10).fit(bags, y)
    assert control.moved_ == []
    assert control.n_iter_ == 1
    assert control.objective_[0] > SemiProximalSVC(C=10).fit(bags, y).objective_[0]


def test_the_worked_example():
    """The printed result: 35 instances, 3 + 4 bags, C = 1, at rest in iteration 0, all bags right.

    The data are shown in a figure only, so they are rebuilt from the printed optimum: instances
    whose values f = v.x - gamma meet the conditions of optimality of Problem 3 at (v, gamma),

        v = sum_{J+} r x - sum_{J-} l x,   gamma = -sum r + sum l,

    r = 1 - f, multipliers l = 1 for f > -1 and 0 for f < -1 in negative bags.
    """
    v, gamma = np.array([-0.00856, 0.00350]), -0.6074
    negative = np.append(np.linspace(-0.95, -0.15, 12), np.linspace(-1.9, -1.05, 8))
    multiplier = 1.0 * (negative > -1)
    known = np.array(
        [-0.9, -0.76, 0.06, 1.39, -0.62, -0.48, 0.14, 0.36, -0.33, -0.19, 0.5, 0.54, 1.2]
    )
    # The last two values of positive instances solve the two conditions along v and gamma.
    total = 15 + gamma - multiplier.sum() - known.sum()
    squares = total + known.sum() - multiplier @ negative - (v @ v + gamma**2) - known @ known
    half = np.sqrt(squares / 2 - total**2 / 4)
    positive = np.append(known, [total / 2 - half, total / 2 + half])
    f = np.concatenate([positive, negative])
    dual = np.concatenate([1 - positive, -multiplier])
    across = np.random.default_rng(0).normal(scale=50.0, size=35)
    across[0] -= dual @ across / dual[0]  # the condition across v
    X = np.outer((f + gamma) / (v @ v), v) + np.outer(across, [-v[1], v[0]]) / np.linalg.norm(v)
    bags, y = Bags(X, np.arange(0, 36, 5)), np.array([1, 1, 1, 0, 0, 0, 0])
    model = SemiProximalSVC(C=1.0).fit(bags, y)
    np.testing.assert_allclose(model.coef_[0], v, atol=5e-9)
    assert model.intercept_[0] == pytest.approx(-gamma, abs=1e-6)
    assert model.n_iter_ == 1
    assert model.moved_ == []
    assert model.predict(bags).tolist() == y.tolist()


def test_a_precomputed_kernel_is_the_linear_one():
    bags, y = planted(1)
    plain = SemiProximalSVC(C=3).fit(bags, y)
    products = bags.replace(X=bags.X @ bags.X.T, feature_names=None)
    precomputed = SemiProximalSVC(C=3, kernel="precomputed").fit(products, y)
    expected = plain.decision_function(bags)
    np.testing.assert_allclose(precomputed.decision_function(products), expected, atol=1e-6)
    assert [list(m) for m in precomputed.moved_] == [list(m) for m in plain.moved_]
