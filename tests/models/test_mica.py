"""MICA: both steps against general solvers, descent, limits, storage."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from bagwise import MICA, Bags, WitnessSVC
from bagwise.bags.segments import segment_sum
from bagwise.datasets import load_digits_bags, make_gaussian_bags
from bagwise.estimators.rows import Task
from bagwise.losses import Hinge, SquaredHinge
from bagwise.models.mica import _Steps
from bagwise.solvers.l1_hinge import solve_l1_hinge
from reference.program import kernel_features, minimize, reference_solution

FORMS = [("l2", "squared_hinge"), ("l2", "hinge"), ("l1", "squared_hinge"), ("l1", "hinge")]


@pytest.fixture(scope="module")
def gaussian():
    return make_gaussian_bags(n_bags=30, n_features=8, witness_rate=0.3, shift=4.0, random_state=0)


@pytest.fixture(scope="module")
def digits():
    return load_digits_bags(n_bags=24, random_state=0)


def combined_rows(model, bags, y):
    """One row a positive bag by the model's nu, then the negative instances, with their labels."""
    nu, inside = model.instance_weights_, np.repeat(y == 1, bags.sizes)
    of_bags = segment_sum(nu[:, None] * bags.X, bags.offsets)[y == 1]
    rows = np.vstack([of_bags, bags.X[~inside]])
    return rows, np.repeat([1.0, -1.0], [len(of_bags), np.sum(~inside)])


# The step in w -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loss", [SquaredHinge(), Hinge()])
def test_l2_solves_the_svm_over_combinations(gaussian, loss, kernel):
    bags, y = gaussian
    name = "hinge" if isinstance(loss, Hinge) else "squared_hinge"
    model = MICA(kernel=kernel, gamma=0.1, loss=name, C=0.5).fit(bags, y)
    X = bags.X if kernel == "linear" else kernel_features(model.kernel_(bags.X, bags.X))
    rows, labels = combined_rows(model, Bags(X, bags.offsets), y)
    reference = reference_solution(rows, 0.5 * (labels > 0), 0.5 * (labels < 0), loss)
    assert model.objective_[0] == pytest.approx(reference.primal, rel=1e-5)
    assert model.gap_[0] <= 1e-4 * model.objective_[0]
    if kernel == "linear":
        np.testing.assert_allclose(model.coef_[0], reference.coef, atol=1e-4)


def l1_program(rows, labels, C, squared):
    """The 1-norm SVM with all columns at once; the square by clarabel."""
    n, d = rows.shape
    margins = labels[:, None] * np.hstack([rows, -rows, np.ones((n, 1))])
    cost = np.concatenate([np.ones(2 * d), [0.0], np.zeros(n) if squared else np.full(n, C)])
    if not squared:
        bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
        whole = np.hstack([margins, np.eye(n)])
        return linprog(cost, A_ub=-whole, b_ub=-np.ones(n), bounds=bounds).fun
    square = np.concatenate([np.zeros(2 * d + 1), np.full(n, 2 * C)])
    signs = np.eye(2 * d + 1 + n)[[*range(2 * d), *range(2 * d + 1, 2 * d + 1 + n)]]
    A = np.vstack([np.hstack([margins, np.eye(n)]), signs])
    bound = np.concatenate([np.ones(n), np.zeros(2 * d + n)])
    return minimize(np.diag(square), cost, -A, -bound, tol=1e-8).obj_val


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(("kernel", "C"), [("linear", 0.2), ("linear", 5.0), ("rbf", 2.0)])
def test_l1_solves_the_whole_program(gaussian, loss, kernel, C):
    bags, y = gaussian
    model = MICA(penalty="l1", kernel=kernel, gamma=0.1, loss=loss, C=C).fit(bags, y)
    X = bags.X if kernel == "linear" else model.kernel_(bags.X, bags.X)
    rows, labels = combined_rows(model, Bags(X, bags.offsets), y)
    expected = l1_program(rows, labels, C, loss == "squared_hinge")
    assert model.objective_[0] == pytest.approx(expected, rel=1e-6)
    assert model.gap_[0] <= 1e-8 * model.objective_[0]
    assert kernel == "linear" or 0 < len(model.support_) < 40


def test_the_squared_program_stops_with_a_true_gap():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 300)), np.where(rng.random(60) < 0.5, 1.0, -1.0)
    weights = rng.uniform(0.5, 2.0, 60)
    best = solve_l1_hinge(X, labels, weights, squared=True)
    assert best.converged
    assert best.gap <= 1e-9 * best.objective
    early = solve_l1_hinge(X, labels, weights, squared=True, max_iter=2)
    assert not early.converged
    assert early.objective - early.gap <= best.objective < early.objective
    stored = solve_l1_hinge(sp.csr_array(X), labels, weights, squared=True)
    assert stored.objective == pytest.approx(best.objective, rel=1e-10)


# The step in nu ----------------------------------------------------------------------------------


def test_the_step_in_nu_solves_its_linear_program():
    rng = np.random.default_rng(0)
    offsets = np.array([0, 3, 4, 9, 12])
    task = Task(None, offsets, np.array([True, True, True, False]), np.ones(4), Hinge())
    for _ in range(50):
        steps, scores = _Steps(task, "l2"), rng.normal(0.5, 1.0, 12)
        old = steps.shares
        new = steps.assign(scores)
        for a, b in pairwise(offsets[:4]):
            # min slack: slack >= 1 - f.nu, nu on the simplex
            f, m = scores[a:b], b - a
            cost = np.concatenate([np.zeros(m), [1.0]])
            best = linprog(
                cost,
                A_ub=-np.concatenate([f, [1.0]])[None, :],
                b_ub=[-1.0],
                A_eq=np.concatenate([np.ones(m), [0.0]])[None, :],
                b_eq=[1.0],
            ).fun
            assert max(0.0, 1 - new[a:b] @ f) == pytest.approx(best, abs=1e-9)
            assert new[a:b].sum() == pytest.approx(1.0)
            if old[a:b] @ f >= 1:
                np.testing.assert_array_equal(new[a:b], old[a:b])


@pytest.mark.parametrize(("penalty", "loss"), FORMS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_objective_falls_and_combinations_are_of_positive_bags(gaussian, penalty, loss, kernel):
    bags, y = gaussian
    model = MICA(penalty=penalty, loss=loss, kernel=kernel, gamma=0.1, C=3.0).fit(bags, y)
    values = [record["objective"] for record in model.history_]
    # libsvm's five digits; the others are exact
    assert np.all(np.diff(values) <= 1e-5 * values[0])
    np.testing.assert_allclose(segment_sum(model.instance_weights_, bags.offsets), y, atol=1e-12)
    assert model.gap_[0] <= 1e-4 * model.objective_[0]
    if loss == "squared_hinge":  # the hinge's first SVM may be w = 0, and stay
        assert model.score(bags, y) >= 0.9


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_inside_the_margin_it_is_witness_svc(digits, kernel):
    bags, y = digits
    C = 1e-3 if kernel == "linear" else 0.3
    mica, witness = MICA(C=C, kernel=kernel).fit(bags, y), WitnessSVC(C=C, kernel=kernel)
    witness.fit(bags, y)
    assert mica.instance_decision_function(bags).max() < 1  # nu is never free
    np.testing.assert_array_equal(mica.instance_weights_, witness.instance_weights_)
    np.testing.assert_allclose(mica.objective_, witness.objective_, rtol=1e-10)


def test_beyond_the_margin_combinations_stay(gaussian):
    bags, y = gaussian
    far = bags.X.copy()
    first = np.flatnonzero(y == 1)[0]
    rows = slice(bags.offsets[first], bags.offsets[first + 1])
    far[rows] = bags.X[bags.instance_labels == 1].mean(axis=0) * 20  # none of it near the margin
    model = MICA(C=10.0, kernel="linear").fit(Bags(far, bags.offsets), y)
    nu = model.instance_weights_
    np.testing.assert_allclose(nu[rows], 1 / bags.sizes[first])
    mixed = segment_sum(1.0 * ((nu > 0) & (nu < 1)), bags.offsets) > 0
    assert mixed.sum() == 1


# Storage and weights ---------------------------------------------------------------------------


def test_a_model_without_support_still_scores(digits):
    """With the hinge and few positives, w = 0 can be the best of the 1-norm SVMs."""
    bags, y = digits
    model = MICA(penalty="l1", loss="hinge", C=0.01).fit(bags, y)
    assert len(model.support_) == 0
    np.testing.assert_allclose(model.decision_function(bags), model.intercept_[0])
