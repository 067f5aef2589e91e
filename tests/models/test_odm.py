"""MI-ODM and ODM: limits, descent, weights, history, solvers."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bag_helpers import grouped
from bagwise import ODM, Bags, OptimalMarginSVC, Pool
from bagwise.estimators import assigned
from bagwise.losses import MarginBand


def planted(n_bags=16, seed=0, d=3, size=3):
    """Bags of three; one instance of a positive bag is shifted."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n_bags * size, d)
    y = np.arange(n_bags) % 2
    first = size * np.arange(n_bags)
    X[first[y == 1] + 1] += 2.5
    return Bags(X, np.arange(0, len(X) + 1, size)), y


def singles(n=24, seed=0):
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 3 == 0
    return Bags(rng.randn(n, 2) + 1.5 * y[:, None], np.arange(n + 1)), y.astype(int)


def quick(**options):
    usual = {"C_pos": 10.0, "C_neg": 10.0, "threshold": 0.0, "tol": 1e-6}
    return grouped(OptimalMarginSVC, **{**usual, **options})


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_bags_of_one_give_the_single_instance_model(kernel):
    bags, y = singles()
    share = y.mean()
    many = OptimalMarginSVC(
        C_pos=30.0 * share, C_neg=30.0 * (1 - share), kernel=kernel, threshold=0.0
    )
    one = ODM(C=30.0, kernel=kernel)
    many.fit(bags, y), one.fit(bags, y)
    assert many.objective_ == pytest.approx(one.objective_, rel=1e-9)
    np.testing.assert_allclose(many.decision_function(bags), one.decision_function(bags), atol=1e-7)
    assert many.n_columns_[0] == 1
    assert many.heuristic_gap_[0] <= 1e-7


def test_the_single_instance_model_minimizes_its_objective():
    bags, y = singles()
    model = ODM(C=20.0, nu=0.3, theta=0.2, kernel="linear").fit(bags, y)
    loss, sign = MarginBand(0.2, 0.3), 2 * y - 1.0

    def value(w, b):
        return 0.5 * (w @ w + b**2) + 20.0 / len(y) * loss.value(sign * (bags.X @ w + b)).sum()

    w, b = model.coef_[0], model.intercept_[0]
    assert model.objective_[0] == pytest.approx(value(w, b), rel=1e-10)
    rng = np.random.RandomState(0)
    assert all(
        value(w + 1e-3 * rng.randn(2), b + 1e-3 * rng.randn()) > value(w, b) for _ in range(20)
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_descent_at_the_end_of_its_digits_keeps_the_better_model():
    for seed in range(30):
        rng = np.random.RandomState(seed)
        X = rng.randn(48, 3)
        X[4::8] += 2  # the first instance of every second bag
        model = quick(
            C_pos=1e6, C_neg=1e6, kernel="linear", relax=False, init="random", random_state=17
        ).fit(Bags(X, np.arange(0, 49, 4)), np.arange(12) % 2)
        assert model.objective_[0] == model.history_[-1]["objective"]


def test_weights_beyond_the_digits_are_said_so():
    bags, y = planted()
    with pytest.warns(ConvergenceWarning, match="ran out of digits.*lower C_pos and C_neg"):
        quick(C_pos=1e12, C_neg=1e12, kernel="linear", max_columns=2).fit(bags, y)


def test_history_tells_gaps_columns_and_margins():
    bags, y = planted()
    model = quick().fit(bags, y)
    first, last = model.history_[0], model.history_[-1]
    assert model.gap_[0] <= 1e-6
    assert last["heuristic_gap"] == model.heuristic_gap_[0]
    assert last["n_columns"] == model.n_columns_[0]
    assert last["n_searches"] >= 100
    assert first["objective"] >= last["objective"]
    for record in (first, last):
        assert record["margin_variance"] > 0
        assert 0 < record["margin_mean"] < 1.5


@pytest.mark.parametrize("solver", ["mirror_prox", "stochastic_mirror_prox"])
def test_first_order_solvers_come_near_newton(solver, monkeypatch):
    # A short run: the test asks for bounds, not for digits.
    monkeypatch.setattr(assigned, "mirror_prox", partial(assigned.mirror_prox, max_iter=400))
    bags, y = planted(8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        exact = quick(C_pos=1.0, C_neg=1.0, max_columns=1).fit(bags, y)
        other = quick(C_pos=1.0, C_neg=1.0, max_columns=1, solver=solver).fit(bags, y)
    assert other.objective_[0] >= exact.objective_[0] - 1e-9
    assert other.objective_[0] - other.gap_[0] <= exact.objective_[0] + 1e-9
    assert other.gap_[0] <= 0.2 * exact.objective_[0]


def test_refinement_does_not_hide_a_relaxation_that_was_stopped():
    bags, y = planted(8)
    with pytest.warns(ConvergenceWarning, match="max_columns=1"):
        quick(max_columns=1, refine=True, relax=True).fit(bags, y)


@pytest.mark.parametrize("seed", range(2))
def test_refinement_never_raises_the_objective(seed):
    bags, y = planted(seed=seed)
    model = quick(refine=True, init="random", random_state=seed).fit(bags, y)
    descent = [r["objective"] for r in model.history_ if "changed" in r]
    assert np.all(np.diff(descent) <= 1e-9 * descent[0])
    assert model.objective_[0] == descent[-1]
    assert set(np.unique(model.instance_weights_)) <= {0.0, 1.0}


@pytest.mark.parametrize("solver", ["mirror_prox", "stochastic_mirror_prox", "newton"])
def test_max_iter_bounds_every_solver(solver):
    rng = np.random.default_rng(0)
    bags, y = [rng.normal(size=(6, 8)) for _ in range(30)], np.arange(30) % 2
    pool = Pool(solver=solver, max_iter=2, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="pool__max_iter=2"):
        model = OptimalMarginSVC(pool=pool, threshold=0.0).fit(bags, y)
    assert model.n_iter_ == 2
    assert all(record["solver_steps"] <= 1000 for record in model.history_)
