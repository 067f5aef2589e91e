"""Cox's partial likelihood against a plain sum, a general minimizer and lifelines."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bagwise.solvers.cox import cox_baseline, cox_loss, solve_cox
from bagwise.times import Times, kaplan_meier


def problem(n=50, d=3, seed=0, ties=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    time = rng.exponential(np.exp(-X @ np.linspace(0.5, 1, d)))
    return X, Times(rng.random(n) < 0.7, np.ceil(4 * time) if ties else time)


def negative_likelihood(X, times, coef):
    """Write Efron's likelihood out, one event at a time."""
    value, risk = 0.0, np.exp(X @ coef)
    for t in np.unique(times.time[times.event]):
        tied = np.flatnonzero(times.event & (times.time == t))
        at_risk = risk[times.time >= t].sum()
        for number, i in enumerate(tied):
            value -= X[i] @ coef
            value += np.log(at_risk - number / len(tied) * risk[tied].sum())
    return value


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_the_optimum_is_that_of_a_general_minimizer(ties, alpha):
    X, times = problem(ties=ties)
    coef, history = solve_cox(X, times, np.ones(len(X)), alpha)

    def objective(w):
        return negative_likelihood(X, times, w) + alpha / 2 * w @ w

    found = minimize(objective, np.zeros(3), tol=1e-12)
    assert history[-1]["objective"] == pytest.approx(objective(coef), rel=1e-10)
    assert history[-1]["objective"] <= found.fun + 1e-9
    np.testing.assert_allclose(coef, found.x, atol=1e-4)
    for record in history:  # the gap is proven at every step
        assert record["objective"] - record["gap"] <= found.fun + 1e-9
    assert history[-1]["gap"] <= 1e-9
    value, gradient = cox_loss(X, times, np.ones(len(X)), coef)  # without the penalty
    assert value == pytest.approx(negative_likelihood(X, times, coef), rel=1e-10)
    np.testing.assert_allclose(gradient, -alpha * coef, atol=1e-4)


def test_large_features_do_not_overflow():
    X, times = problem()
    coef, history = solve_cox(1e3 * X, times, np.ones(len(X)), 1.0)
    assert np.all(np.isfinite(coef))
    assert history[-1]["gap"] <= 1e-6 * abs(history[-1]["objective"])


def test_whole_weights_are_repetitions_where_no_times_are_equal():
    X, times = problem(ties=False)
    weight = np.where(times.event, 1, 1 + np.arange(len(X)) % 2)
    twice = np.repeat(np.arange(len(X)), weight)
    one, _ = solve_cox(X, times, weight.astype(float), 1.0)
    other, _ = solve_cox(X[twice], times[twice], np.ones(len(twice)), 1.0)
    np.testing.assert_allclose(one, other, atol=1e-8)


def test_the_baseline_of_equal_risks_is_that_of_all():
    _, times = problem(ties=False)
    moments, hazard = cox_baseline(np.zeros(len(times)), times, np.ones(len(times)))
    np.testing.assert_allclose(np.exp(-hazard), kaplan_meier(times).at(moments), atol=0.1)


def test_equal_to_lifelines_without_a_penalty():
    lifelines = pytest.importorskip("lifelines")
    import pandas as pd

    X, times = problem(n=120)
    frame = pd.DataFrame(X).assign(time=times.time, event=times.event)
    reference = lifelines.CoxPHFitter().fit(frame, "time", "event")
    coef, _ = solve_cox(X, times, np.ones(len(X)), 1e-9, tol=1e-3)
    np.testing.assert_allclose(coef, reference.params_.to_numpy(), atol=1e-6)
