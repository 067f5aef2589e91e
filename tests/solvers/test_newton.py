"""Newton against a quadratic program, on problems built from their optimum; certificates."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from scipy.optimize import linprog

from bagwise.designs import Dense, Gram, Point, Sparse, matrix_design
from bagwise.kernels import Kernel
from bagwise.losses import MarginBand, SquaredHinge
from bagwise.problems import Problem
from bagwise.solvers import newton, newton_steps
from reference.program import kernel_features, reference_solution

LOSSES = [SquaredHinge(), MarginBand(0.3, 0.2), MarginBand(0.3, 0.0)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def data(seed=0, n=80, d=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + 0.7 * rng.normal(size=n) > 0.3


def problem(X, y, C=1.0, loss=None, design=matrix_design):
    return Problem(design(X), C * y, C * (1.0 - y), loss or SquaredHinge())


def two_sided(X, C=1.0, loss=None, design=matrix_design, seed=0):
    p = np.random.default_rng(seed).random(X.shape[0])
    return Problem(design(X), C * p, C * (1 - p), loss or SquaredHinge())


def rbf(X, gamma=0.2):
    return Kernel("rbf", gamma).gram(X)


# Against an independent solver --------------------------------------------------------------------


@pytest.mark.parametrize("loss", [SquaredHinge(), MarginBand(0.3, 0.2), MarginBand(0.3, 0.0)])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kind", ["tall", "wide", "rbf"])
@pytest.mark.parametrize("sides", ["one", "both"])
def test_objective_is_that_of_a_quadratic_program_on_the_duplicated_rows(loss, C, kind, sides):
    X, y = data(1, *{"tall": (80, 6), "wide": (30, 60), "rbf": (60, 4)}[kind])
    rows, design = (rbf(X), Gram) if kind == "rbf" else (X, matrix_design)
    make = problem if sides == "one" else lambda X, y, *rest: two_sided(X, *rest)
    ours = make(rows, y, C, loss, design)
    X = kernel_features(rows) if kind == "rbf" else X
    theirs = reference_solution(X, ours.positive, ours.negative, loss)
    solution = newton(ours)
    slack = 1e-10 * theirs.primal
    assert theirs.dual - slack <= solution.objective <= theirs.primal + slack
    if kind != "rbf":
        assert np.allclose(solution.coef, theirs.coef, atol=1e-4 * np.abs(theirs.coef).max())


# Certificates -------------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kind", ["dense", "wide", "sparse", "rbf"])
def test_certificate(loss, C, kind):
    X, y = data(3, *((40, 90) if kind == "wide" else (120, 8)))
    design = {"sparse": lambda X: Sparse(sp.csr_array(X)), "rbf": lambda X: Gram(rbf(X))}
    for ours in (
        problem(X, y, C, loss, design.get(kind, Dense)),
        two_sided(X, C, loss, design.get(kind, Dense)),
    ):
        solution = newton(ours)
        assert solution.converged
        assert solution.residual <= 1e-9 * C
        assert solution.gap <= 1e-11 * solution.objective
        assert np.allclose(solution.scores, ours.design @ solution.coef + solution.intercept)
        assert abs(solution.dual.sum()) <= 1e-9 * C


@pytest.mark.parametrize("name", ["musk1", "elephant", "fox", "tiger"])
def test_few_steps_and_a_sharp_certificate_on_real_bags(name, dataset):
    bags, y = dataset(name)
    X = (bags.X - bags.X.mean(axis=0)) / np.maximum(bags.X.std(axis=0), 1e-12)
    labels = np.repeat(y == 1, np.diff(bags.offsets))
    K = rbf(X, 0.5 / X.shape[1])
    linear, kernel = newton(problem(X, labels)), newton(problem(K, labels, design=Gram))
    assert linear.n_iter <= 8
    assert kernel.n_iter <= 8
    for solution in (linear, kernel):
        assert solution.converged
        assert solution.residual <= 1e-9


@every_loss
@given(seed=st.integers(0, 1000), size=st.floats(1e-6, 10), C=st.floats(0.01, 100))
def test_the_gap_bounds_the_distance_from_the_optimum_at_any_point(loss, seed, size, C):
    X, y = data(4, 30, 3)
    ours = problem(X, y, C, loss)
    best = newton(ours)
    rng = np.random.default_rng(seed)
    coef = best.coef + size * rng.normal(size=3)
    point = Point(coef, best.intercept + size * rng.normal(), X @ coef)
    # Duals of the point itself, and duals that have nothing to do with it.
    of_point = ours.duals(point.scores + point.intercept)
    of_others = ours.duals(3 * rng.normal(size=30))
    for duals in (of_point, of_others):
        bound = ours.objective(point) - ours.dual_objective(*duals)
        assert bound >= ours.objective(point) - best.objective - 1e-9 * best.objective


@every_loss
@pytest.mark.parametrize("seed", range(3))
def test_problems_built_from_their_optimum(loss, seed):
    # Choose rows and their optimum, then weights under which it is one:
    # sum beta_k (x_k, 1) = (w, 0) with beta = -a l'(z) + c l'(-z), a, c >= 0.
    rng = np.random.default_rng(seed)
    X, coef, intercept = rng.normal(size=(60, 5)), rng.normal(size=5), 0.3
    z = X @ coef + intercept
    pulls = np.concatenate([-loss.gradient(z), loss.gradient(-z)])
    rows = np.column_stack([X, np.ones(60)])
    pulled, target = (pulls[:, None] * np.vstack([rows, rows])).T, np.append(coef, 0.0)
    weights = linprog(np.ones(120), A_eq=pulled, b_eq=target).x
    used = weights > 0  # a vertex, which its equations give to the last digits
    weights[used] = np.linalg.lstsq(pulled[:, used], target)[0]
    assert weights.min() >= 0
    assert np.abs(pulled @ weights - target).max() < 1e-12
    solution = newton(Problem(Dense(X), weights[:60], weights[60:], loss))
    assert solution.converged
    assert np.allclose(solution.coef, coef, atol=1e-8)
    assert solution.intercept == pytest.approx(intercept, abs=1e-8)


# Zero weights, other precisions, bad scales -------------------------------------------------------


@every_loss
@pytest.mark.parametrize("design", [Dense, lambda X: Gram(X @ X.T)], ids=["dense", "gram"])
@pytest.mark.parametrize("left", ["some", "one side", "one row", "nothing"])
def test_zero_weights(loss, design, left):
    X, y = data(6)
    keep = {
        "some": np.arange(len(y)) % 3 > 0,
        "one side": y,
        "one row": np.arange(len(y)) == np.argmax(y),
        "nothing": np.zeros(len(y), bool),
    }[left]
    ours = Problem(design(X), 1.0 * (y & keep), 1.0 * (~y & keep), loss)
    solution = newton(ours)
    assert solution.converged
    assert np.isfinite([*solution.coef, solution.intercept, solution.objective]).all()
    if left == "some":
        fewer = newton(Problem(design(X[keep]), 1.0 * y[keep], 1.0 * ~y[keep], loss))
        assert solution.objective == pytest.approx(fewer.objective, rel=1e-10)
    else:
        assert solution.objective == pytest.approx(0, abs=1e-20)
        assert solution.gap == pytest.approx(0, abs=1e-20)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_precisions_and_sparse_rows_agree(C):
    X, y = data(8, 150, 10)
    X[np.abs(X) < 0.5] = 0
    X = X.astype(np.float16).astype(np.float64)  # the same numbers in every precision
    exact = newton(problem(X, y, C))
    csr = newton(problem(sp.csr_array(X), y, C))
    assert np.allclose(csr.coef, exact.coef, atol=1e-10)
    for low in (X.astype(np.float16), np.float32(X), sp.csr_array(np.float32(X))):
        solution = newton(problem(low, y, C))
        assert solution.converged
        assert solution.objective == pytest.approx(exact.objective, rel=1e-6)
        assert np.allclose(solution.coef, exact.coef, atol=1e-5)
    K = rbf(X)
    exact = newton(problem(K, y, C, design=Gram))
    solution = newton(problem(np.float32(K), y, C, design=Gram))
    assert solution.converged
    assert solution.objective == pytest.approx(exact.objective, rel=1e-5)
    assert np.allclose(solution.scores, exact.scores, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_far_from_zero_in_low_precision(dtype):
    X, y = data(9, 300, 10)
    near = newton(problem(X, y, 30.0))
    far = newton(problem((X + 100).astype(dtype), y, 30.0))
    assert far.objective == pytest.approx(near.objective, rel=1e-4)


@pytest.mark.parametrize("C", [1e-6, 1e6])
@pytest.mark.parametrize("kind", ["dense", "wide", "rbf"])
def test_extreme_C(C, kind):
    X, y = data(10, *((30, 80) if kind == "wide" else (100, 5)))
    solution = newton(problem(X, y, C) if kind != "rbf" else problem(rbf(X), y, C, design=Gram))
    assert solution.converged
    assert solution.residual <= 1e-9 * C


@pytest.mark.parametrize(
    "change",
    [
        lambda X: np.repeat(X[:30], 3, axis=0),
        lambda X: np.column_stack([X[:90], np.full(90, 7.0)]),
        lambda X: X[:90] * 10.0 ** np.arange(-3, 3),
        lambda X: np.ones((90, 6)),
        lambda X: np.zeros((90, 6)),
        lambda X: X[:90, :1],
    ],
    ids=["copies", "constant", "unscaled", "identical", "zero", "one feature"],
)
@every_loss
def test_awkward_rows(change, loss):
    X, _ = data(11, 120)
    X = change(X)
    solution = newton(problem(X, np.arange(90) % 30 < 13, 2.0, loss))
    assert solution.converged
    assert solution.gap <= 1e-11 * solution.objective


def test_badly_scaled_features_are_solved_in_stages():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 40)) * 10.0 ** rng.uniform(-3, 3, 40)
    y = rng.random(400) < 0.5
    solution = newton(problem(X, y, 1e3))
    assert solution.n_iter <= 300
    if not solution.converged:
        assert solution.gap > 1e-11 * solution.objective


@pytest.mark.parametrize("seed", range(5))
def test_outliers_that_leave_take_their_rounding_errors_with_them(seed):
    X, y = data(seed, 400, 8)
    X[np.random.default_rng(seed).choice(400, 8, replace=False)] *= 1e7
    solution = newton(problem(X, y))
    assert solution.gap <= 1e-4 * solution.objective
    assert solution.converged == (solution.gap <= 1e-11 * solution.objective)


def test_squares_out_of_the_range_of_the_rows_do_not_matter():
    X, y = data(12)
    rows = (1e18 * X).astype(np.float32)
    single, double = newton(problem(rows, y)), newton(problem(rows.astype(np.float64), y))
    assert single.converged
    assert abs(single.objective - double.objective) <= single.gap <= 1e-7 * single.objective


def test_numbers_out_of_range_are_an_error():
    X, y = data(12)
    K = X @ X.T
    K[3, 4] = K[4, 3] = np.nan
    with pytest.raises(FloatingPointError, match="Scale the features"):
        newton(problem(K, y, design=Gram))


def test_a_kernel_with_negative_eigenvalues_is_named():
    X, y = data(13)
    with pytest.raises(np.linalg.LinAlgError, match="positive semi-definite"):
        newton(problem(-X @ X.T, y, 10.0, design=Gram))


# Steps --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 50.0, 1e4])
def test_the_objective_stays_below_its_last_values_and_history_counts_the_steps(C):
    X, y = data(14, 200, 15)
    ours = problem(X, y, C)
    solution = newton(ours)
    values = [ours.objective(ours.design.start())]
    values += [record["objective"] for record in solution.history]
    assert len(values) == solution.n_iter + 1
    for i in range(1, len(values)):
        assert values[i] <= max(values[max(i - 3, 0) : i]) * (1 + 1e-13)
    assert values[-1] == pytest.approx(solution.objective, rel=1e-14)


@pytest.mark.parametrize("seed", [4, 10, 14, 22])
def test_rows_alike_with_weights_beyond_single_precision(seed):
    """Only the intercept is of use; products of K in its own precision would hide that."""
    up, down = 1.7e7 * np.random.default_rng(seed).integers(0, 2, (2, 23))
    ours = Problem(Gram(np.ones((23, 23), dtype=np.float32)), up, down, SquaredHinge())
    solution = newton(ours)
    balance = (up.sum() - down.sum()) / (up.sum() + down.sum())
    best = up.sum() * (1 - balance) ** 2 + down.sum() * (1 + balance) ** 2
    assert solution.objective <= ours.risk(np.zeros(23))
    # 4e-11 with NumPy 2.5, whose sums round elsewhere; K itself has seven digits.
    assert solution.objective - best <= solution.gap + 1e-10 * best


def test_rises_by_rounding_do_not_add_up():
    rounding = Dense(np.ones((1, 1), dtype=np.float32)).rounding

    class Creeping(Dense):
        """Steps lead up and down in turn, each time a little higher."""

        def squared_norm(self, coef, scores=None):
            odd = coef[0] % 2 == 1
            return 1.0 if odd else 2.0 * (1 + 0.9 * rounding) ** coef[0]

        def weighted_ridge(self, curvature, target, current, atol):
            n = current.coef[0] + 1
            return Point(np.array([n]), 0.0, np.full(3, 2.0 if n % 2 else 0.0))

    few = np.full(3, 1e-9)  # rows whose pieces change, so that it does not end
    ours = Problem(Creeping(np.zeros((3, 1), dtype=np.float32)), few, 0 * few, SquaredHinge())
    history = []
    newton_steps(ours, ours.design.start(), 1e-10, 20, history)
    first = ours.objective(ours.design.start())
    assert max(step["objective"] for step in history) <= first * (1 + rounding)


def test_a_warm_start_at_the_optimum_takes_one_step():
    X, y = data(15)
    first = newton(problem(X, y))
    again = newton(problem(X, y), first.point)
    assert again.n_iter == 1
    assert again.objective == pytest.approx(first.objective, rel=1e-13)


def test_too_few_steps_are_not_called_converged():
    X, y = data(16, 300, 15)
    solution = newton(problem(X, y, 100.0), max_iter=1)
    assert solution.n_iter == 1
    assert not solution.converged
    assert solution.gap > 0


def test_iterative_ridge_steps_reach_the_same_optimum(monkeypatch):
    from bagwise.designs import linear

    X, y = data(18, 200, 30)
    exact = newton(problem(X, y, 5.0))
    monkeypatch.setattr(linear, "LARGEST_SYSTEM", 5)
    for rows in (X, sp.csr_array(X)):
        ours = problem(rows, y, 5.0)
        assert not ours.design.exact
        solution = newton(ours)
        assert solution.converged
        assert solution.residual <= 1e-9 * 5
        assert solution.objective == pytest.approx(exact.objective, rel=1e-12)


def test_the_same_design_serves_many_problems():
    X, _ = data(19, 200, 10)
    shared = Dense(X)
    for seed in range(40):
        ours = two_sided(X, 10.0 ** (seed % 5 - 2), seed=seed)
        remembered = newton(replace(ours, design=shared))
        assert remembered.objective == pytest.approx(newton(ours).objective, rel=1e-12)


def test_rounding_at_the_optimum_takes_no_steps():
    """A start that is optimal up to rounding once took thirty ever shorter steps (13 of 60)."""
    for seed in range(8, 16):
        X, y = data(seed, n=120)
        K, C = rbf(X), 1e4
        plain, prepared = (problem(K, y, C, design=Gram) for _ in range(2))
        prepared.design.prepare(np.full(len(y), 2 * C))
        assert newton(plain, newton(prepared).point).n_iter <= 3
