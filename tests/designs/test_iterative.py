"""Iterative kernel designs against factors and an independent solver; certificates; bits."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from bagwise import AnnealedLabelSVC, InstanceSVC, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.designs import Gram, Iterative, Point, gram, iterative, kernel_design
from bagwise.designs.iterative import Woodbury, solve_projected
from bagwise.kernels import MANY_ROWS, Kernel
from bagwise.losses import MarginBand, SquaredHinge
from bagwise.problems import Problem
from bagwise.solvers import newton
from reference.program import kernel_features
from reference.ridge import ridge_by_hand

LOSSES = [SquaredHinge(), MarginBand(0.3, 0.2), MarginBand(0.3, 0.0)]


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch):
    """Let small problems take the route of large ones."""
    monkeypatch.setattr(iterative, "_FACTORED", 20)


def data(n=400, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0.2


def rbf(X, gamma=0.2, dtype=np.float32):
    return Kernel("rbf", gamma).gram(X, dtype)


def problem(K, y, C=1.0, loss=None, design=Iterative):
    return Problem(design(K), C * y, C * (1.0 - y), loss or SquaredHinge())


def two_sided(K, C=1.0, loss=None, design=Iterative, seed=0):
    p = np.random.default_rng(seed).random(len(K))
    return Problem(design(K), C * p, C * (1 - p), loss or SquaredHinge())


def exact(ours):
    """Solve the same problem by factors, in float64."""
    return newton(ours.on(Gram(ours.design.K.astype(np.float64))))


# The convex problem -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "C"),
    [*product((np.float32, np.float64), (1e-3, 1.0, 100.0)), (np.float64, 1e3), (np.float64, 1e5)],
)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_objective_is_that_of_factors_and_the_gap_proves_it(dtype, loss, C):
    X, y = data()
    K = rbf(X, dtype=dtype)
    for ours in (problem(K, y, C, loss), two_sided(K, C, loss)):
        solution, theirs = newton(ours), exact(ours)
        assert solution.converged
        assert solution.gap <= 1e-6 * solution.objective
        assert solution.objective == pytest.approx(theirs.objective, rel=1e-6)
        assert solution.objective - solution.gap <= theirs.objective * (1 + 1e-12)
        assert np.allclose(solution.scores, theirs.scores, atol=2e-3)
        assert np.allclose(solution.scores, K @ solution.coef + solution.intercept, atol=1e-4)
        assert abs(solution.dual.sum()) <= 1e-5 * np.abs(solution.dual).sum()


def test_the_gap_without_a_product_bounds_the_distance_from_the_optimum_at_any_point():
    X, y = data(120)
    rng = np.random.default_rng(0)
    for ours in (problem(rbf(X), y), two_sided(rbf(X), loss=MarginBand(0.3, 0.2))):
        best = newton(ours)
        for size in (1e-6, 1e-3, 1.0):
            coef = best.coef + size * rng.normal(size=120)
            point = Point(coef, best.intercept + size * rng.normal(), ours.design @ coef)
            duals = ours.own_duals(point)
            free = ours.objective(point) - ours.dual_objective(*duals, point)
            paid = ours.objective(point) - ours.dual_objective(*duals)
            assert free >= paid - 1e-9 * best.objective
            assert paid >= ours.objective(point) - best.objective - 1e-7 * best.objective


@pytest.mark.parametrize(
    "rows",
    [
        lambda X: np.repeat(X[:60], 5, axis=0),
        lambda X: np.ones((300, 5)),
        lambda X: X * [1, 0, 0, 0, 0],
    ],
    ids=["copies", "identical", "one feature"],
)
@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.2), Kernel("linear"), Kernel("poly", 1.0, 2)])
def test_copies_of_rows_and_kernels_without_full_rank(rows, kernel):
    X, y = data(300)
    ours = problem(kernel.gram(rows(X), np.float32), y)
    solution, theirs = newton(ours), exact(ours)
    assert solution.converged
    assert solution.objective == pytest.approx(theirs.objective, rel=1e-6)


# Parts --------------------------------------------------------------------------------------------


def test_ridge_problems_by_repeated_steps():
    X, _ = data(200)
    K = rbf(X, dtype=np.float64)
    rng = np.random.default_rng(0)
    design, point = Iterative(K), Iterative(K).start()
    for active in (200, 190, 60, 80, 150, 15, 70):  # gathers, extends, shrinks and factors
        s = rng.uniform(0.5, 3, 200) * (rng.permutation(200) < active)
        t = rng.normal(size=200)
        for _ in range(6):
            point = design.weighted_ridge(s, t, point, 1e-12)
        coef, intercept = ridge_by_hand(kernel_features(K), s, t)
        assert np.allclose(point.scores, kernel_features(K) @ coef, atol=1e-5)
        assert point.intercept == pytest.approx(intercept, abs=1e-5)
        assert not point.coef[s == 0].any()
        assert abs(point.coef.sum()) <= 1e-9 * np.abs(point.coef).sum()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_combinations_and_subsets(dtype):
    X, _ = data(90)
    K = rbf(X, dtype=dtype)
    design = Iterative(K)
    mix = sp.vstack(
        [
            sp.random_array((7, 90), density=0.2, random_state=np.random.default_rng(1)),
            2 * sp.eye_array(90).tocsr()[40:],
        ]
    )
    combined = design.aggregate(mix.tocsr())
    assert np.allclose(combined.K, mix @ K @ mix.T, atol=1e-5)
    few = np.random.default_rng(0).normal(size=57)
    assert np.allclose(design @ design.lift(mix, few), K @ (mix.T @ few), atol=1e-4)
    rows = np.arange(0, 90, 3)
    assert np.array_equal(design.subset(rows).K, K[np.ix_(rows, rows)])
    assert design.subset(rows).K.dtype == np.float64  # factored: digits matter more than memory


def test_the_number_of_rows_chooses_the_design():
    assert type(kernel_design(np.eye(MANY_ROWS))) is Gram
    assert type(kernel_design(np.eye(MANY_ROWS + 1, dtype=np.float32))) is Iterative


# Bits ---------------------------------------------------------------------------------------------


def test_runs_do_not_depend_on_what_a_twin_did_before():
    X, y = data()
    K = rbf(X)
    alone = newton(problem(K, y))
    shared = Iterative(K)
    newton(problem(K, y, 100.0).on(shared.twin()))
    newton(two_sided(K, 0.1).on(shared.twin()))
    again = newton(problem(K, y).on(shared.twin()))
    assert np.array_equal(alone.coef, again.coef)
    assert alone.gap == again.gap


def test_same_bits_on_repeat_and_with_two_threads():
    bags, y = make_gaussian_bags(n_bags=MANY_ROWS // 9, bag_size=10, random_state=0)
    assert bags.n_instances > MANY_ROWS
    scores = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            model = InstanceSVC().fit(bags, y)
        scores.append(model.decision_function(bags))
        assert model.gap_[0] <= 1e-6 * model.objective_[0]
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[1], scores[2])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", [InstanceSVC, WitnessSVC, AnnealedLabelSVC])
def test_estimators_certify_fits_on_a_large_matrix(kind, loss, monkeypatch):
    monkeypatch.setattr(gram, "MANY_ROWS", 100)
    bags, y = make_gaussian_bags(n_bags=40, bag_size=5, random_state=0)
    model = kind(loss=loss).fit(bags, y)
    assert model.gap_[0] <= 1e-4 * model.objective_[0]


def system(n=80, rank=10, seed=0):
    rng = np.random.default_rng(seed)
    K = Kernel("rbf", 0.1).gram(rng.normal(size=(n, 3)), np.float64)
    root = rng.uniform(0.5, 3, n)
    values, vectors = np.linalg.eigh(K)
    L = (vectors * np.sqrt(np.maximum(values, 0)))[:, -rank:]
    near = Woodbury(L, root, L.T @ (root[:, None] ** 2 * L))
    return K, root, near, rng.normal(size=n)


@pytest.mark.parametrize("rank", [1, 10, 80])
def test_solution_of_the_bordered_system(rank):
    K, root, near, target = system(rank=rank)
    n = len(K)
    bordered = np.block(
        [[np.eye(n) + root[:, None] * K * root, root[:, None]], [root, np.zeros((1, 1))]]
    )
    *u, intercept = np.linalg.solve(bordered, np.append(root * target, 0.0))
    start = np.random.default_rng(1).normal(size=n)  # not on the plane
    ours, close = solve_projected(
        lambda v: K @ v, near, root * target, (start, K @ (root * start)), -np.inf, 1e-7
    )
    assert close
    assert np.allclose(ours, u, atol=1e-6)
    rest = root * target - root * (K @ (root * ours)) - ours
    assert near.intercept(rest) == pytest.approx(intercept, abs=1e-6)


def test_it_stops_where_the_rest_does_not_matter():
    K, root, near, target = system()
    zero = np.zeros(len(K))
    value = 0.5 * np.sum((root * target) ** 2)
    rough, close = solve_projected(lambda v: K @ v, near, root * target, (zero, zero), value, 0.0)
    assert close

    def objective(u):
        scores = K @ (root * u)
        b = root**2 @ (target - scores) / np.sum(root**2)
        return 0.5 * (root * u) @ scores + 0.5 * np.sum((root * (scores + b - target)) ** 2)

    exact, _ = solve_projected(lambda v: K @ v, near, root * target, (zero, zero), -np.inf, 0.0)
    assert objective(rough) - objective(exact) <= 0.06 * (value - objective(exact))
    assert objective(rough) - objective(exact) > 1e-9 * value


def test_failure_is_said_and_a_start_that_is_the_solution_returned(monkeypatch):
    monkeypatch.setattr(iterative, "_MAX_ITERATIONS", 3)
    K, root, near, target = system(rank=1)
    zero = np.zeros(len(K))
    _, close = solve_projected(lambda v: K @ v, near, root * target, (zero, zero), -np.inf, 1e-9)
    assert not close
    found, close = solve_projected(lambda v: K @ v, near, zero, (zero, zero), -np.inf, 0.0)
    assert close
    np.testing.assert_array_equal(found, zero)
