"""Regression over rows: against scikit-learn and a general solver, and labels of the wrong kind."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.svm import SVR

from bagwise import MeanRegressor, StatisticsForestRegressor, WitnessRegressor, WitnessSVC
from bagwise.errors import TaskWarning
from reference.program import minimize

pytestmark = pytest.mark.filterwarnings("ignore:Every row of this table")


def table(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) + rng.normal(size=n) + 50


@pytest.mark.parametrize("kind", [MeanRegressor, WitnessRegressor])
def test_bags_of_one_instance_are_ridge_regression(kind):
    X, y = table()
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    model = kind(kernel="linear", C=0.3).fit(X, y, sample_weight=weight)
    ridge = Ridge(alpha=1 / 0.6).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_[0], ridge.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_[0], ridge.intercept_, rtol=1e-9)
    assert model.gap_[0] <= 1e-9 * model.objective_[0]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("kind", [MeanRegressor, WitnessRegressor])
def test_errors_that_are_not_squared_are_support_vector_regression(kind, kernel):
    X, y = table()
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    options = {"kernel": kernel, "C": 2.0, "epsilon": 0.3, "gamma": 0.2}
    svr = SVR(**options, tol=1e-9).fit(X, y, sample_weight=weight)
    model = kind(loss="epsilon_insensitive", **options).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), svr.predict(X), atol=1e-3)
    assert model.gap_[0] <= 1e-5 * model.objective_[0]


def test_a_witness_among_others_is_found_in_spite_of_outliers():
    rng = np.random.default_rng(0)
    members = [rng.normal(size=(rng.integers(2, 9), 3)) for _ in range(120)]
    clean = np.array([X[:, 0].max() for X in members])
    y = np.where(np.arange(120) % 10 == 0, clean + 30, clean)  # one in ten is far too high
    options = {"kernel": "linear", "C": 1.0, "epsilon": 0.05}
    robust = WitnessRegressor(loss="epsilon_insensitive", **options).fit(members, y)
    squared = WitnessRegressor(**options).fit(members, y)
    assert np.all(np.diff([record["objective"] for record in robust.history_]) <= 1e-6)
    assert robust.gap_[0] <= 1e-5 * robust.objective_[0]
    errors = [np.abs(model.predict(members) - clean).mean() for model in (robust, squared)]
    assert errors[0] < 0.5 * errors[1]


def test_a_kernel_without_intercept_effect_is_kernel_ridge():
    """Of centered kernel and targets the intercept is zero, as scikit-learn assumes."""
    X, y = table()
    y -= y.mean()
    K = (X @ X.T + 1) ** 2
    center = np.eye(len(K)) - 1 / len(K)

    def centered(A, B):
        return (center @ ((X @ X.T + 1) ** 2) @ center)[np.ix_(rows_of(A), rows_of(B))]

    def rows_of(A):
        return np.argmin(((A[:, None] - X[None]) ** 2).sum(-1), axis=1)

    model = MeanRegressor(kernel=centered, C=0.5).fit(X, y)
    ridge = KernelRidge(alpha=1.0, kernel="precomputed").fit(center @ K @ center, y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(center @ K @ center), atol=1e-8)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_the_optimum_is_that_of_a_general_solver(epsilon):
    X, y = table()
    model = MeanRegressor(kernel="linear", C=0.3, epsilon=epsilon).fit(X, y)
    (n, d), rows = X.shape, np.column_stack([X, np.ones(len(X))])
    P = sp.diags(np.concatenate([np.ones(d), [0.0], np.full(n, 2 * 0.3)]))  # slacks behind (w, b)
    A = sp.block_array([[rows, -sp.eye(n)], [-rows, -sp.eye(n)]])
    found = minimize(P, np.zeros(d + 1 + n), A, np.concatenate([y + epsilon, epsilon - y]))
    assert model.objective_[0] == pytest.approx(found.obj_val, rel=1e-6)


def test_labels_of_another_kind_name_the_models_for_them():
    X, y = table()
    with pytest.raises(ValueError, match=r"'high'.*AutoBagClassifier.*OrdinalBagClassifier"):
        MeanRegressor().fit(X, np.where(y > 50, "high", "low"))
    with pytest.raises(ValueError, match=r"Unknown label type.*AutoBagRegressor"):
        WitnessSVC().fit(X, y)
    times = np.array([(True, 1.0)] * len(y), dtype=[("event", bool), ("time", float)])
    for model in (MeanRegressor(), WitnessSVC()):
        with pytest.raises(ValueError, match=r"fields event, time.*BagSurvival or CoxBag"):
            model.fit(X, times)
        with pytest.raises(ValueError, match=r"two columns.*BagSurvival or CoxBag"):
            model.fit(X, np.ones((len(y), 2)))


def test_numbers_that_are_missing_or_infinite_are_named():
    X, y = table()
    y[3] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN.*Bag 3"):
        MeanRegressor().fit(X, y)
    y[3] = np.inf
    with pytest.raises(ValueError, match=r"contains infinity.*Bag 3"):
        StatisticsForestRegressor().fit(X, y)
    for scale in (1e160, 1e-170):
        with pytest.raises(ValueError, match=r"Squares of the numbers in y.*Bag \d+ .*Scale y"):
            MeanRegressor().fit(X, np.arange(len(y)) * scale)


@pytest.mark.parametrize("values", [(0, 1), (2.5, 7.5), (0, 1, 2, 3, 4)])
def test_classes_in_disguise_are_warned_of(values):
    X, _ = table()
    y = np.resize(np.array(values, dtype=float), len(X))
    with pytest.warns(TaskWarning, match="take a classifier"):
        MeanRegressor().fit(X, y)


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = table()
    model = MeanRegressor().fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="labels"):
        model.fit(X, y[:-1])
    np.testing.assert_array_equal(model.predict(X), before)
