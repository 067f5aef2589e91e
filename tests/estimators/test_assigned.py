"""Assignments of key instances against all assignments there are, solved by a cone program."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from bag_helpers import grouped
from bagwise import Bags, KeyInstanceSVC, OptimalMarginSVC, Pool
from bagwise.assumptions import AtLeastOne, TopMean
from bagwise.estimators import assigned
from bagwise.losses import MarginBand
from bagwise.procedures.columns import Choices
from bagwise.solvers.saddle import Saddle
from reference.saddles import assignments, clarabel_value, with_columns

SIZES = (2, 3, 2)


def small(seed, n_negatives=4):
    """Draw three positive bags and some negative instances, one to a bag."""
    rng = np.random.default_rng(seed)
    n_positive = sum(SIZES)
    X = rng.normal(size=(n_positive + n_negatives, 3))
    X[:n_positive:2] += 1.0
    offsets = np.concatenate([[0], np.cumsum([*SIZES, *[1] * n_negatives])])
    return Bags(X, offsets), np.repeat([1, 0], [3, n_negatives])


def exact(bags, y, weight, band, choices):
    """Return the value of the relaxation over these assignments."""
    n_positive = sum(SIZES)
    saddle = Saddle(bags.X @ bags.X.T, np.arange(n_positive, len(bags.X)), weight, band)
    features = np.column_stack([bags.X, np.ones(len(bags.X))])
    return clarabel_value(with_columns(saddle, choices), features)


def odm(**options):
    usual = {"C_pos": 6.0, "C_neg": 4.0, "kernel": "linear", "threshold": 0.0, "tol": 1e-7}
    return grouped(OptimalMarginSVC, **{**usual, **options})


def odm_weight(y):
    return np.where(y == 1, 6.0 / np.sum(y == 1), 4.0 / np.sum(y == 0))


@pytest.mark.parametrize(("theta", "nu"), [(0.4, 0.6), (0.0, 0.5), (0.7, 2.0)])
@pytest.mark.parametrize("seed", range(4))
def test_the_pool_grows_to_the_relaxation_over_all_assignments(seed, theta, nu):
    bags, y = small(seed)
    model = odm(theta=theta, nu=nu).fit(bags, y)
    band = MarginBand(theta, nu)
    expected = exact(bags, y, odm_weight(y), band, assignments(SIZES))
    assert model.objective_[0] == pytest.approx(expected, rel=1e-6)
    assert model.n_columns_[0] < len(assignments(SIZES))
    assert model.heuristic_gap_[0] <= 1e-6 * expected


@pytest.mark.parametrize("seed", range(4))
def test_cccp_ends_at_an_assignment_no_better_than_the_best(seed):
    bags, y = small(seed)
    model = odm(relax=False).fit(bags, y)
    band, weight = MarginBand(model.theta, model.nu), odm_weight(y)
    single = {
        tuple(chosen): exact(bags, y, weight, band, [chosen]) for chosen in assignments(SIZES)
    }
    chosen = tuple(np.flatnonzero(model.instance_weights_ == 1))
    assert model.objective_[0] == pytest.approx(single[chosen], rel=1e-6)
    assert model.objective_[0] >= min(single.values()) * (1 - 1e-7)
    assert all(b["objective"] <= a["objective"] for a, b in pairwise(model.history_))


def test_a_bag_above_the_band_keeps_its_choice():
    """Beyond the band a higher score costs more: taking the highest would go up."""
    bags, y = small(0)
    saddle = Saddle(bags.X @ bags.X.T, np.arange(7, 11), odm_weight(y), MarginBand(0.2, 1.0))
    choices = Choices(np.arange(7), np.concatenate([[0], np.cumsum(SIZES)]), 11)
    steps = assigned._Search(saddle, choices, Pool(), None)
    chosen = np.array([0, 2, 5])
    steps.solve(chosen, None)
    scores = np.zeros(11)
    scores[:7] = [1.0, 5.0, 0.2, 0.9, -1.0, 3.0, 9.0]  # inside the band, below it, above it
    assert steps.assign(scores).tolist() == [0, 3, 5]


@pytest.mark.parametrize("init", ["mean", "cccp", "random"])
def test_the_first_assignment_does_not_move_the_relaxation(init):
    bags, y = small(1)
    found = odm(init=init, random_state=5).fit(bags, y)
    assert found.objective_[0] == pytest.approx(odm().fit(bags, y).objective_[0], rel=1e-5)


def test_how_bags_are_scored_depends_on_the_number_of_witnesses():
    assert isinstance(odm()._assumption(), AtLeastOne)
    rule = odm(n_witnesses=2)._assumption()
    assert isinstance(rule, TopMean)
    bags, y = small(0)
    model = odm(n_witnesses=2).fit(bags, y)
    scores = np.split(model.instance_decision_function(bags), bags.offsets[1:-1])
    expected = [np.sort(part)[-2:].mean() for part in scores]
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-12)


def test_every_instance_as_a_witness_is_the_classifier_of_the_means():
    bags, y = small(3)
    many = KeyInstanceSVC(n_witnesses=9, kernel="linear", threshold=0.0, pool=Pool(tol=1e-8)).fit(
        bags, y
    )
    mix = sp.block_diag([np.full((1, size), 1 / size) for size in bags.sizes], format="csr")
    means = Bags(mix @ bags.X, np.arange(len(y) + 1))
    single = KeyInstanceSVC(kernel="linear", threshold=0.0, pool=Pool(tol=1e-8)).fit(means, y)
    np.testing.assert_allclose(many.coef_, single.coef_, atol=1e-7)
    assert many.n_columns_[0] == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"max_columns": 1},
            r"max_columns=1 or pool__max_iter=200 .* Raise\s+pool__max_columns or pool__tol",
        ),
        ({"relax": False, "max_iter": 1, "init": "random"}, "max_iter=1 before CCCP came to rest"),
        ({"solver": "stochastic_mirror_prox"}, "solver='stochastic_mirror_prox' early: objective"),
    ],
)
def test_what_is_not_certain_is_said(options, told, monkeypatch):
    monkeypatch.setattr(assigned, "mirror_prox", partial(assigned.mirror_prox, max_iter=50))
    bags, y = small(0, n_negatives=8)
    with pytest.warns(ConvergenceWarning, match=told):
        odm(random_state=1, **options).fit(bags, y)
