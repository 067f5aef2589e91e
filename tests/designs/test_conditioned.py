import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bagwise import MICA, InstanceSVC, LabelSVC, MeanSVC, MissSVM, SparseMIL, WitnessSVC
from bagwise.designs import conditioned_design
from bagwise.losses import SquaredHinge
from bagwise.problems import Problem
from bagwise.solvers import solve
from reference.linear import hinge_by_clarabel, odd_problem, optimum_by_clarabel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
POSITIVE = np.where(X[:, 0] + 0.5 * RNG.normal(size=60) > 0, 1.0, 0.0)


def solved(design):
    return solve(Problem(design, 3 * POSITIVE, 3 * (1 - POSITIVE), SquaredHinge()))


def test_rows_that_need_nothing_stay_as_they_are():
    for rows in (X, X.astype(np.float32), sp.csr_array(sparse_rows())):
        assert conditioned_design(rows).coordinates is None


@given(
    offset=st.sampled_from([0.0, 1e3, -1e6, 1e8]),
    sizes=st.lists(st.sampled_from([1e-120, 1e-6, 1.0, 1e4]), min_size=4, max_size=4),
)
def test_offsets_leave_the_solution_alone(offset, sizes):
    moved = (X + offset) * np.array(sizes)
    design = conditioned_design(moved)
    if design.coordinates is None:
        return
    solution = solved(design)
    assert solution.converged
    # The same rows, centered and scaled by hand, with the penalty of the rows as given.
    centered = moved - moved.mean(axis=0)
    w, b = design.as_given(solution.coef, solution.intercept)
    scores = centered @ w + (b + moved.mean(axis=0) @ w)
    tolerance = 1e-6 + 1e-15 * abs(offset) * np.abs(solution.scores).max()
    np.testing.assert_allclose(scores, solution.scores, atol=10 * tolerance)
    norm = design.squared_norm(solution.coef)
    assert norm == pytest.approx(float(w @ w), rel=1e-9)
    assert solution.gap <= 1e-9 * solution.objective


def test_subsets_keep_the_coordinates():
    design = conditioned_design(X + 1e4)
    rows = np.array([3, 5, 8])
    coef = RNG.normal(size=4)
    np.testing.assert_array_equal(design.subset(rows) @ coef, (design @ coef)[rows])
    np.testing.assert_allclose(
        design.matrix(rows), (X + 1e4 - design.coordinates.center)[rows], atol=1e-11
    )


@pytest.mark.parametrize(
    "kind", [InstanceSVC, LabelSVC, WitnessSVC, MICA, MeanSVC, SparseMIL, MissSVM]
)
def test_estimators_do_not_see_an_offset(kind, recwarn):
    rng = np.random.default_rng(1)
    bags = [rng.normal(size=(4, 3)) + 1.5 * (i % 2) for i in range(40)]
    y = np.arange(40) % 2
    plain = kind(kernel="linear").fit(bags, y)
    moved = kind(kernel="linear").fit([bag + 1e6 for bag in bags], y)
    assert not [w for w in recwarn if "converge" in str(w.message)]
    assert moved.objective_ == pytest.approx(plain.objective_, rel=1e-8)
    np.testing.assert_allclose(
        moved.decision_function([bag + 1e6 for bag in bags]),
        plain.decision_function(bags),
        atol=1e-6,
    )


def sparse_rows():
    rng = np.random.default_rng(4)
    return np.where(rng.random((60, 4)) < 0.4, X, 0.0)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("size", [1e-120, 1.0, 1e100])
def test_sparse_rows_are_conditioned_like_dense_ones(offset, size):
    rows = sparse_rows() * [1.0, 1.0, size, 1.0]
    rows[:, 1] = X[:, 1] + offset  # a dense column in sparse rows
    dense, sparse = conditioned_design(rows), conditioned_design(sp.csr_array(rows))
    expected, solution = solved(dense), solved(sparse)
    assert solution.objective == pytest.approx(expected.objective, rel=1e-8)
    np.testing.assert_allclose(solution.scores, expected.scores, atol=1e-6)
    if offset or size != 1:
        assert sparse.coordinates is not None
        assert solution.gap <= 1e-9 * solution.objective
        assert sparse.X.nnz <= np.count_nonzero(rows)  # zeros stay
        w, b = sparse.as_given(solution.coef, solution.intercept)
        np.testing.assert_allclose(rows @ w + b, solution.scores, atol=1e-7 + 1e-14 * offset)


def test_combined_sparse_rows_keep_the_coordinates():
    rows = sparse_rows() + [0.0, 1e6, 0.0, 0.0]
    design = conditioned_design(sp.csr_array(rows))
    weights = sp.csr_array(np.kron(np.eye(20), np.full((1, 3), 1 / 3)))
    combined = design.aggregate(weights)
    expected = weights @ (rows - design.coordinates.center)
    np.testing.assert_allclose(combined.matrix(np.arange(20)).toarray(), expected, atol=1e-9)
    np.testing.assert_allclose(
        design.subset(np.arange(5)).matrix([3]).toarray(),
        (rows - design.coordinates.center)[[3]],
        atol=1e-9,
    )


@pytest.mark.parametrize(
    ("loss", "optimum"),
    [("squared_hinge", optimum_by_clarabel), ("hinge", hinge_by_clarabel)],
    ids=["squared hinge", "hinge"],
)
@pytest.mark.parametrize("seed", [*range(24), 256])
def test_the_gap_is_honest_at_any_scale_offset_and_weight(seed, loss, optimum, recwarn):
    rows, y, C = odd_problem(seed)
    model = InstanceSVC(kernel="linear", C=C, loss=loss).fit(rows, y)
    assert not [w for w in recwarn if "converge" in str(w.message)]
    objective, gap = model.objective_[0], model.gap_[0]
    assert 0 <= gap <= 1e-4 * (objective + 1e-14 * C * len(y))
    best = optimum(rows, 2.0 * y - 1, C)
    assert np.isfinite(best)
    assert objective - best <= gap + 1e-6 * objective


@pytest.mark.parametrize("power", [-150, -60, 60, 150])
def test_extreme_features_are_certified(power):
    rng = np.random.default_rng(power % 7)
    rows, y = 10.0**power * rng.normal(size=(40, 3)), np.arange(40) % 2
    model = InstanceSVC(kernel="linear").fit(rows, y)
    assert model.gap_[0] <= 1e-9 * model.objective_[0]
