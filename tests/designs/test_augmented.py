"""Rows with a penalized intercept, turned: the same scores and norms, in columns of order one."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bagwise import ODM, Bags, KeyInstanceSVC, OptimalMarginSVC, SemiProximalSVC
from bagwise.designs import augmented_design
from bagwise.losses import MarginBand
from reference.linear import odd_problem
from reference.penalized import PRECISION, band_optimum, semiproximal_optimum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))


def test_rows_that_need_nothing_stay_as_they_are():
    for rows in (X, sp.csr_array(X * (X > 1))):
        assert augmented_design(rows).coordinates is None


@given(
    offset=st.sampled_from([0.0, 1e3, -1e6, 1e8]),
    size=st.sampled_from([1e-120, 1e-6, 1.0, 1e4, 1e100]),
    flat=st.booleans(),
)
def test_scores_and_norms_are_those_of_the_rows_as_given(offset, size, flat):
    rows = (X + offset * np.array([1.0, -2.0, 0.5, 0.0])) * size
    if flat:
        rows[:, 3] = 7.0 * size
    design = augmented_design(rows)
    if design.coordinates is None:
        return
    assert design.augmented
    assert design.n_coef == 5
    coef = RNG.normal(size=5) * design.scale / np.abs(design.scale).max()
    w, b = design.as_given(coef, 0.0)
    norm = float(np.square(coef / design.scale).sum())
    assert design.squared_norm(coef) == pytest.approx(norm, rel=1e-12)
    assert np.sum((w * 1.0) ** 2) + b**2 == pytest.approx(norm, rel=1e-9)
    terms = np.abs(rows) @ np.abs(w) + abs(b)
    assert np.all(np.abs(design @ coef - (rows @ w + b)) <= 1e-14 * (1 + terms))


def test_products_are_those_of_the_rows_with_a_constant():
    rows = X + 50.0
    design = augmented_design(rows)
    np.testing.assert_allclose(
        design.matrix(np.arange(60)) @ design.matrix(np.arange(60)).T, rows @ rows.T + 1, rtol=1e-12
    )
    some = design.subset(np.array([3, 5]))
    np.testing.assert_array_equal(some.matrix([1]), design.matrix([5]))


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("size", [1e-100, 1.0, 1e100])
def test_sparse_rows_are_turned_like_dense_ones(offset, size):
    rows = np.where(np.random.default_rng(4).random((60, 4)) < 0.4, X, 0.0)
    rows[:, 1] = X[:, 1] + offset
    rows[:, 2] = X[:, 2] - 3 * offset
    rows *= size
    sparse = augmented_design(sp.csr_array(rows))
    if size == 1 and not offset:
        assert sparse.coordinates is None
        return
    assert sparse.augmented
    w, b = sparse.as_given(coef := RNG.normal(size=5) * sparse.scale / sparse.scale.max(), 0.0)
    terms = np.abs(rows) @ np.abs(w) + abs(b)
    assert np.all(np.abs(sparse @ coef - (rows @ w + b)) <= 1e-14 * (1 + terms))
    assert sparse.X.nnz <= np.count_nonzero(rows) + 60  # the constant
    bags, y = [rows[i : i + 3] for i in range(0, 60, 3)], np.arange(20) % 2
    dense = ODM(kernel="linear").fit(bags, y)
    other = ODM(kernel="linear").fit(Bags(sp.csr_array(rows), np.arange(0, 61, 3)), y)
    assert other.objective_ == pytest.approx(dense.objective_, rel=1e-8)


def test_features_whose_squares_overflow_are_named():
    with pytest.raises(FloatingPointError, match="squares of the features overflow"):
        SemiProximalSVC().fit(1e300 * X, np.arange(60) % 2)


def certified(model, rows, y, best, largest):
    objective, gap = model.objective_[0], model.gap_[0]
    assert np.isfinite(best)
    assert 0 <= gap <= 1e-6 * objective
    assert abs(objective - best) <= gap + 1e-6 * objective + PRECISION * largest


@pytest.mark.parametrize("seed", range(16))
def test_margin_bands_are_certified_at_any_scale_offset_and_weight(seed):
    rows, y, C = odd_problem(seed)
    model = ODM(kernel="linear", C=C).fit(rows, y)
    weight = np.full(len(y), C / len(y))
    best = band_optimum(rows, 2.0 * y - 1, weight, MarginBand(model.theta, model.nu))
    certified(model, rows, y, best, weight.max())


@pytest.mark.parametrize("seed", range(16))
def test_semiproximal_fits_are_certified_at_any_scale_offset_and_weight(seed):
    rows, y, C = odd_problem(seed)
    model = SemiProximalSVC(C=C).fit(rows, y)
    best = semiproximal_optimum(rows, model.instance_weights_ > 0, np.full(len(y), C))
    certified(model, rows, y, best, C)


@pytest.mark.parametrize(
    "seed", [77, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (23, 147, 333))]
)
def test_margins_that_can_all_be_met_converge_at_any_scale(seed):
    """The optimum is next to 0, and the gap is rounding of the losses at w = 0."""
    rows, y, C = odd_problem(seed)
    bags = Bags(rows[: len(y) // 3 * 3], np.arange(0, len(y) // 3 * 3 + 1, 3))
    model = KeyInstanceSVC(kernel="linear", threshold=0.0, relax=False, C=C)
    model.fit(bags, np.arange(len(bags)) % 2)
    assert model.gap_[0] <= 1e-7 * model.objective_[0] + 1e-14 * C * len(y)


def test_more_features_than_rows_have_an_offset_too():
    rng = np.random.default_rng(2)
    rows, y = rng.normal(size=(20, 60)), np.arange(20) % 2
    for offset in (1e3, 1e6):
        for model in (
            SemiProximalSVC(),
            ODM(kernel="linear"),
            KeyInstanceSVC(kernel="linear", threshold=0.0),
            OptimalMarginSVC(kernel="linear", threshold=0.0),
        ):
            model.fit(rows + offset, y)
            assert model.gap_[0] <= 1e-6 * model.objective_[0]
        best = semiproximal_optimum(rows + offset, y > 0, np.ones(20))
        assert SemiProximalSVC().fit(rows + offset, y).objective_[0] == pytest.approx(
            best, rel=1e-6
        )
