"""Rows on a device against the same rows on the host."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import (
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
    Annealing,
    InstanceSVC,
    LabelSVC,
    WitnessSVC,
)
from bagwise.datasets import make_gaussian_bags
from bagwise.designs import Dense, matrix_design
from bagwise.models.markov import descents
from bagwise.rowstores import place_rows

pytestmark = pytest.mark.torch

MODELS = [
    InstanceSVC(),
    LabelSVC(),
    WitnessSVC(),
    AnnealedLabelSVC(),
    AnnealedWitnessSVC(),
    AnnealedWitnessSVC(n_witnesses=2),
    AnnealedProportionSVC(positive_fraction=0.3),
    AnnealedProportionSVC(positive_fraction="bags", annealing=Annealing(variance=False)),
]
TOLERANCE = {np.float64: 1e-12, np.float32: 1e-6, np.float16: 1e-6}


def planted(dtype=np.float64):
    rng = np.random.default_rng(0)
    bags, y = make_gaussian_bags(60, 4, bag_size=rng.integers(1, 12, 60), shift=2.0, random_state=0)
    return bags.replace(X=bags.X.astype(dtype), priors=rng.uniform(0.2, 0.6, 60)), y


@pytest.fixture
def short(monkeypatch):
    """Cut stacks and blocks small, so that both are used."""
    from bagwise.designs import torch as module

    monkeypatch.setattr(module, "SHORT_ROWS", 64)
    monkeypatch.setattr(module, "BLOCK_ROWS", 100)
    monkeypatch.setattr(descents, "MANY_ROWS", 0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_products_are_those_of_the_rows(short, dtype):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(230, 5)).astype(dtype)
    exact, moved = Dense(X.astype(np.float64)), matrix_design(place_rows(X, "cpu"))
    w, r = rng.normal(size=5), rng.normal(size=230)
    close = {"rtol": TOLERANCE[dtype], "atol": 20 * TOLERANCE[dtype]}
    np.testing.assert_allclose(moved @ w, exact @ w, **close)
    np.testing.assert_allclose(moved.adjoint(r), exact.adjoint(r), **close)
    np.testing.assert_allclose(moved.weighted_squares(r**2), exact.weighted_squares(r**2), **close)
    np.testing.assert_allclose(moved.weighted_gram(r), exact.weighted_gram(r), **close)
    weights = sp.random_array((7, 230), density=0.1, random_state=2, format="csr")
    np.testing.assert_allclose(moved.combine(weights), exact.combine(weights), **close)
    np.testing.assert_allclose(moved.subset(np.array([3, 5])) @ w, (exact @ w)[[3, 5]], **close)


@pytest.mark.parametrize(
    ("model", "kernel", "dtype"),
    [
        *product(MODELS, ["linear"], TOLERANCE),
        *product([AnnealedLabelSVC(), WitnessSVC()], ["rbf", "poly"], [np.float64]),
    ],
    ids=str,
)
def test_fits_reach_the_objective_of_the_host(short, model, kernel, dtype):
    bags, y = planted(dtype)
    model.set_params(kernel=kernel, C=0.5)
    reference = model.fit(bags, y).objective_.copy()
    scores = model.decision_function(bags)
    moved = bags.to("cpu")
    fitted = model.fit(moved, y)
    np.testing.assert_allclose(fitted.objective_, reference, rtol=max(1e-7, TOLERANCE[dtype]))
    np.testing.assert_allclose(fitted.decision_function(moved), scores, atol=1e-3)
    assert fitted.gap_[0] <= max(1e-8, 10 * TOLERANCE[dtype]) * fitted.objective_[0]


def test_offsets_are_conditioned(short):
    bags, y = planted()
    odd = bags.replace(X=bags.X * [1, 1e-3, 1e3, 1] + [0, 0, 1e8, 5.0])
    model = InstanceSVC(kernel="linear")
    reference = model.fit(odd, y).objective_.copy()
    np.testing.assert_allclose(model.fit(odd.to("cpu"), y).objective_, reference, rtol=1e-7)
    np.testing.assert_allclose(
        model.decision_function(odd.to("cpu")), model.decision_function(odd), rtol=1e-6
    )


def test_a_system_that_is_not_definite_is_solved_on_the_host():
    import torch

    from bagwise.rows.device import solve_on_device

    matrix, vector = -2.0 * torch.eye(3, dtype=torch.float64), np.ones(3)
    step, _ = solve_on_device(matrix, 1.0, vector, 1.0, vector, 0.5)
    assert np.all(np.isfinite(step))
