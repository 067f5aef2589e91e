"""Data on which models once answered wrongly without a word; each case failed before its fix."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from bagwise import (
    MICA,
    ODM,
    AnnealedLabelSVC,
    Annealing,
    BagKernelSVC,
    Bags,
    CitationKNN,
    CompositionLogistic,
    GraphSVC,
    InstanceSVC,
    KeyInstanceSVC,
    LabelProportionLogistic,
    LabelSVC,
    MILBoost,
    MILESEmbedding,
    MissSVM,
    OptimalMarginSVC,
    Pool,
    SemiProximalSVC,
    StatisticsSVC,
    WitnessSVC,
)
from bagwise.designs.base import solve_primal
from reference.penalized import band_optimum

Y = np.arange(40) % 2


def overlapping(offset=0.0, size=1.0, shift=1.5, seed=0):
    rng = np.random.default_rng(seed)
    return [size * (rng.normal(size=(4, 3)) + offset + shift * (i % 2)) for i in range(40)]


def test_cutting_planes_close_their_gap_on_large_features():
    raw = GraphSVC(C=1e4).fit(overlapping(size=1000.0, shift=3.0), Y)
    small = GraphSVC(C=1e4).fit(overlapping(shift=3.0), Y)
    assert raw.gap_ <= 1e-6 * raw.objective_
    assert raw.objective_ <= small.objective_  # the same scores for a shorter w


def test_cutting_planes_that_did_not_converge_say_so():
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        GraphSVC(C=1e4).fit(overlapping(offset=1e6), Y)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
@pytest.mark.parametrize(
    "model",
    [
        ODM(kernel="linear"),
        KeyInstanceSVC(kernel="linear", threshold=0.0, relax=False),
        OptimalMarginSVC(kernel="linear", threshold=0.0, relax=False),
    ],
    ids=lambda model: type(model).__name__,
)
def test_no_margin_distribution_is_worse_than_no_classifier(model, offset):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(overlapping(offset), Y)
    losses = {"ODM": 100.0, "KeyInstanceSVC": 5.0 * (20 + 80), "OptimalMarginSVC": 100.0 + 400.0}
    assert model.objective_[0] <= losses[type(model).__name__] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("relax", "size"), [(False, 1e-3), (False, 1.0), (False, 100.0), (True, 1e-3), (True, 1.0)]
)
@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4, 1e8])
@pytest.mark.parametrize("kind", [KeyInstanceSVC, OptimalMarginSVC])
def test_assignments_are_solved_whatever_the_offset(kind, relax, offset, size):
    bags = overlapping(offset, size)
    model = kind(kernel="linear", threshold=0.0, relax=relax, pool=Pool(max_columns=3))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*ran out of digits")
        warnings.filterwarnings("ignore", message=".*stopped by max_columns")
        model.fit(bags, Y)
    assert model.gap_[0] <= 1e-6 * model.objective_[0]
    if not relax:
        rows = np.concatenate(bags)
        used = (model.instance_weights_ > 0) | (np.repeat(Y, 4) == 0)
        sign = np.repeat(2.0 * Y - 1, 4)[used]
        weight = np.full(len(sign), 5.0)  # C / 2, and 100 per 20 bags
        best = band_optimum(rows[used], sign, weight, model._band())
        assert model.objective_[0] == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_an_offset_costs_the_penalized_intercept_and_nothing_else(offset):
    """The labels follow a direction orthogonal to the offset: no intercept must make up for it."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    rows[:, 0] += 3.0 * y
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)
    moved = np.array([1.0, 1.0]) * offset + (rows * [1.0, 0.0]) @ turn
    for model in (ODM(kernel="linear"), SemiProximalSVC()):
        plain = ODM(kernel="linear").fit(rows[:, :1], y) if isinstance(model, ODM) else None
        model.fit(moved, y)
        assert model.gap_[0] <= 1e-9 * model.objective_[0]
        assert model.score(moved, y) > 0.9
        if plain is not None:
            assert model.objective_[0] <= plain.objective_[0] * (1 + 1e-9)


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_instances_does_not_decide_ties(seed, C):
    rng = np.random.default_rng(seed)
    for n_positive in (1, 2, 3):
        y = np.r_[np.ones(n_positive), np.zeros(12 - n_positive)].astype(int)
        sizes = rng.integers(1, 6, 12)
        bags = [rng.normal(size=(m, 3)) + 0.5 * k for m, k in zip(sizes, y, strict=True)]
        one = SemiProximalSVC(C=C).fit(bags, y)
        other = SemiProximalSVC(C=C).fit([bag[::-1] for bag in bags], y)
        assert other.objective_ == pytest.approx(one.objective_, rel=1e-6)


def test_annealing_ends_with_labels_that_are_decided():
    bags = overlapping(shift=0.7, seed=3)
    model = AnnealedLabelSVC(annealing=Annealing(T0=1.0, cooling=20.0)).fit(bags, Y)
    assert set(np.unique(model.instance_weights_)) <= {0.0, 1.0}
    positive = np.add.reduceat(model.instance_weights_, np.arange(0, 160, 4))
    assert np.all(positive[Y == 1] >= 1)


def test_scores_out_of_range_are_refused():
    model = WitnessSVC(kernel="poly").fit(overlapping(), Y)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="score of Bag 0"):
        model.predict([np.full((1, 3), 1e200)])


def test_bags_that_all_coincide_have_scores():
    bags = [np.ones((3, 1))] * 4 + [
        np.array([[1.0], [0.0], [1.0]]),
        np.array([[1.0], [0.0], [0.0]]),
    ]
    model = CitationKNN().fit(bags, [1, 1, 1, 1, 0, 0])
    assert np.isfinite(model.instance_decision_function(bags)).all()


def test_one_sparse_feature_is_enough():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.normal(size=(80, 1)) * (rng.random((80, 1)) < 0.5))
    model = MICA(penalty="l1", kernel="linear").fit(Bags(X, np.arange(0, 81, 2)), Y)
    assert np.isfinite(model.objective_).all()


def test_long_indices_of_sparse_rows_are_accepted():
    X = sp.random_array((80, 5), density=0.4, format="csr", random_state=np.random.default_rng(0))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    long = MILBoost(n_estimators=3).fit(Bags(X, np.arange(0, 81, 2)), Y)
    short = MILBoost(n_estimators=3).fit(Bags(X.toarray(), np.arange(0, 81, 2)), Y)
    np.testing.assert_array_equal(long.objective_, short.objective_)
    words = CompositionLogistic(n_words=3).fit(Bags(X, np.arange(0, 81, 2)), Y).words_
    assert words.shape == (3, 5)


@pytest.mark.parametrize("bag_kernel", ["mean", "migraph"])
def test_bag_kernels_without_support_score_every_bag_alike(bag_kernel):
    """Zeros gave a blank AssertionError: no bag was left to compare with."""
    model = BagKernelSVC(bag_kernel=bag_kernel, gamma=1.0)
    zeros = [np.zeros((2, 2))] * 8
    scores = model.fit(zeros, np.arange(8) % 2).decision_function(zeros)
    np.testing.assert_allclose(scores, model.intercept_[0])


@pytest.mark.parametrize("bag_kernel", ["statistics", "mean"])
def test_kernel_values_out_of_range_are_named(bag_kernel):
    named = pytest.raises((ValueError, FloatingPointError), match=r"infinite|overflow|too large")
    with np.errstate(all="ignore"), named:
        BagKernelSVC(bag_kernel=bag_kernel, kernel="linear").fit(overlapping(size=1e300), Y)


@pytest.mark.parametrize("kind", [BagKernelSVC, CitationKNN, WitnessSVC, MILESEmbedding])
def test_a_model_keeps_no_hold_of_the_callers_array(kind):
    X = np.concatenate(overlapping())
    model = kind().fit(Bags(X, np.arange(0, 161, 4)), Y)
    answer = model.transform if kind is MILESEmbedding else model.decision_function
    before = answer(overlapping())
    X[:] = 7.0
    np.testing.assert_array_equal(answer(overlapping()), before)


def test_statistics_too_large_for_libsvm_are_named():
    """Constant features of 1e300 once came back as libsvm's own error, or never."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(30, 1e300), rng.normal(size=30)])
    bags = Bags(sp.csr_array(X), np.arange(0, 31, 3))
    with pytest.raises(ValueError, match="too large for StatisticsSVC: scale the features"):
        StatisticsSVC(kernel="linear", scale=False, C=20.0).fit(bags, np.arange(10) % 2)


@pytest.mark.parametrize("scale", [1e155, 1e200, 1e-160])
@pytest.mark.parametrize("model", [WitnessSVC, InstanceSVC])
def test_scales_whose_squares_are_no_numbers_are_named(model, scale):
    X = scale * np.random.default_rng(0).normal(size=(24, 3))
    with pytest.raises(FloatingPointError, match=r"Feature \d has the scale .*Scale the features"):
        model(kernel="linear").fit(Bags(X, np.arange(0, 25, 2)), np.arange(12) % 2)


def test_a_ridge_system_that_overflows_is_named():
    system = np.array([[1.0, np.inf], [np.inf, 1.0]])
    with pytest.raises(np.linalg.LinAlgError, match="overflowed: scale the features"):
        solve_primal(system, 1.0, np.zeros(2), 1.0, np.ones(2), 0.0)


def test_concepts_of_unbounded_likelihood_leave_one():
    from bagwise.models.ddsvm import _likely

    concepts = [SimpleNamespace(objective=np.nan), SimpleNamespace(objective=np.nan)]
    assert len(_likely(concepts)) == 1


def separated(dtype, shift=4.0):
    rng, shifts = np.random.RandomState(0), shift * (np.arange(20) % 2)
    return [(rng.randn(rng.randint(2, 6), 5) + each).astype(dtype) for each in shifts]


@pytest.mark.parametrize(
    ("model", "dtype"),
    [
        (InstanceSVC(kernel="linear", loss="hinge", C=1e8), np.float32),
        (InstanceSVC(kernel="linear", C=1e100), np.float64),
        (LabelSVC(kernel="linear", loss="hinge", C=1e8), np.float32),
        (WitnessSVC(kernel="linear", loss="hinge", C=1e8), np.float32),
        (WitnessSVC(kernel="linear", C=1e100), np.float64),
        (MICA(kernel="linear", loss="hinge", C=1e8), np.float32),
        (MissSVM(kernel="linear", loss="hinge", C=1e100), np.float64),
        (KeyInstanceSVC(kernel="linear", C=1e100, threshold=0.0), np.float32),
    ],
    ids=lambda each: f"{type(each).__name__}-{getattr(each, 'C', '')}",
)
def test_a_gap_that_proves_nothing_is_warned_about(model, dtype):
    with np.errstate(all="ignore"), pytest.warns(ConvergenceWarning, match="gap"):
        model.fit(separated(dtype), np.arange(20) % 2)
    assert model.objective_[0] >= model.gap_[0] > 1e-3 * model.objective_[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_small_gap_is_not_warned_about_whatever_the_solver_hoped_for(dtype):
    model = InstanceSVC(kernel="linear", C=1e8)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(separated(dtype), np.arange(20) % 2)
    assert 0 <= model.gap_[0] < 1e-6 * model.objective_[0]


def test_key_instances_with_curvatures_that_underflow_are_no_division_by_zero():
    model = KeyInstanceSVC(kernel="linear", C=1e100)
    with np.errstate(all="ignore"), pytest.warns(ConvergenceWarning, match="ran out of digits"):
        model.fit(separated(np.float32, shift=1.0), np.arange(20) % 2)


@pytest.mark.parametrize(
    ("size", "dtype", "unit_norm"),
    [(1e20, np.float32, True), (1e200, np.float64, True), (1e200, np.float64, False)],
)
def test_proportions_of_features_out_of_range_are_named(size, dtype, unit_norm):
    bags = [(size * bag).astype(dtype) for bag in overlapping()]
    model = LabelProportionLogistic(unit_norm=unit_norm)
    named = pytest.raises((ValueError, FloatingPointError), match=r"overflow.*cale the features")
    with np.errstate(all="ignore"), named:
        model.fit(bags, np.arange(40) % 3 / 2)
