"""Inner folds, thresholds and sigmoids, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline

from bagwise import InstanceSVC
from bagwise.crossfit import (
    SigmoidScale,
    bag_scores,
    best_threshold,
    check_enough_bags,
    fit_weighted,
    folds,
    out_of_fold_scores,
)
from bagwise.testing._problems import planted_bags

BAGS, Y = planted_bags(n_bags=30)

votes = st.lists(
    st.tuples(
        st.integers(-4, 4).map(lambda k: k / 2), st.booleans(), st.sampled_from([0.5, 1.0, 2.0])
    ),
    min_size=2,
    max_size=12,
)


@given(votes)
def test_no_midpoint_is_better_than_the_threshold_and_none_as_good_is_nearer_to_zero(voted):
    scores, positive, weight = (np.array(column) for column in zip(*voted, strict=True))
    values = np.unique(scores)
    if len(values) < 2:
        assert best_threshold(scores, positive, weight) == 0.0
        return
    midpoints = (values[1:] + values[:-1]) / 2
    right = [weight[(scores > t) == positive].sum() for t in midpoints]
    best = [t for t, r in zip(midpoints, right, strict=True) if r == max(right)]
    found = best_threshold(scores, positive, weight)
    assert found in best
    assert abs(found) == min(abs(t) for t in best)


@given(
    seed=st.integers(0, 1000), shift=st.floats(0.0, 3.0), scale=st.sampled_from([1e-3, 1.0, 1e3])
)
def test_the_sigmoid_minimises_the_cross_entropy_of_platts_targets(seed, shift, scale):
    rng = np.random.default_rng(seed)
    positive = np.arange(20) % 2 == 0
    scores, weight = rng.normal(size=20) + shift * positive, rng.uniform(0.5, 2.0, 20)
    n_pos, n_neg = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))

    def entropy(point):
        z = point[0] * scores + point[1]
        return weight @ (np.logaddexp(0, z) - target * z)

    best = minimize(entropy, [1.0, 0.0], method="BFGS", options={"gtol": 1e-10})
    found = SigmoidScale.fit(scale * scores, positive, weight)
    assert entropy([found.slope * scale, found.offset]) <= best.fun + 1e-7 * abs(best.fun)
    np.testing.assert_array_equal(found(scores), expit(found.slope * scores + found.offset))


def test_separable_and_constant_scores_give_finite_sigmoids():
    positive = np.arange(10) > 4
    for scores in (np.where(positive, 1.0, -1.0), np.zeros(10)):
        found = SigmoidScale.fit(scores, positive, np.ones(10))
        assert np.isfinite([found.slope, found.offset]).all()


# Folds -------------------------------------------------------------------------------------------


def assert_partition(splits, n):
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), range(n))
    for train, test in splits:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), range(n))


def test_a_number_of_folds_is_stratified_and_repeatable():
    splits = folds(BAGS, Y, 5, 0)
    assert_partition(splits, len(BAGS))
    assert [Y[test].sum() for _, test in splits] == [3] * 5
    for one, other in zip(splits, folds(BAGS, Y, 5, 0), strict=True):
        np.testing.assert_array_equal(one[1], other[1])
    assert len(folds(BAGS, Y, None, 0)) == 5


@pytest.mark.parametrize(
    "kind", [int, str, lambda g: ("patient", g), lambda g: g if g % 2 else "x"]
)
def test_groups_of_any_kind_stay_together(kind):
    groups = np.empty(len(BAGS), dtype=object)
    groups[:] = [kind(i // 3) for i in range(len(BAGS))]
    splits = folds(BAGS.replace(groups=list(groups)), Y, 3, 0)
    assert_partition(splits, len(BAGS))
    for train, test in splits:
        assert not {groups[i] for i in train} & {groups[i] for i in test}


@pytest.mark.parametrize("cv", [3, StratifiedKFold(3), list(StratifiedKFold(3).split(Y, Y))])
def test_bags_that_take_no_part_are_in_no_fold(cv):
    used = np.arange(len(BAGS)) % 4 != 0
    splits = folds(BAGS, Y, cv, 0, used)
    assert_partition(splits, used.sum())


def test_folds_of_ones_own_are_kept():
    given = list(StratifiedKFold(3).split(Y, Y))
    for form in (given, StratifiedKFold(3), iter(given)):
        for found, expected in zip(folds(BAGS, Y, form, 0), given, strict=True):
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(found[1], expected[1])


def test_bad_folds_are_refused():
    with pytest.raises(ValueError, match="hold out every bag exactly once"):
        folds(BAGS, Y, list(StratifiedKFold(3).split(Y, Y))[:2], 0)
    order = np.argsort(Y, kind="stable")
    with pytest.raises(ValueError, match="Inner fold 0 trains without class 0"):
        folds(BAGS[order], Y[order], KFold(2), 0)
    with pytest.raises(ValueError, match=r"Class 0 has 15 bags, fewer than the 16 inner folds"):
        folds(BAGS, Y, 16, 0)


@pytest.mark.parametrize(
    ("members", "cv", "levels", "advice"),
    [
        (1, 2, 1, "fewer than the 2 inner folds of cv. Bring more bags .* even cv=2 needs 2"),
        (3, 5, 1, "fewer than the 5 inner folds of cv. Lower cv to 3 or bring more bags"),
        (5, 5, 2, "too few for the 5 inner folds of cv, which are made 2 times .* Lower cv to 3"),
        (2, 2, 2, "too few for the 2 .* even cv=2 needs 4"),
        (6, 3, 3, "too few for the 3 .* even cv=2 needs 8"),
        (8, 5, 3, "too few for the 5 .* Lower cv to 4"),
    ],
)
def test_too_few_bags_are_told_what_would_do(members, cv, levels, advice):
    few = np.concatenate([np.flatnonzero(Y == 0), np.flatnonzero(Y == 1)[:members]])
    with pytest.raises(ValueError, match=f"Class 1 has {members} bags, {advice}"):
        check_enough_bags(BAGS[few], Y[few], cv, levels)
    if levels == 1:
        with pytest.raises(ValueError, match=advice):
            folds(BAGS[few], Y[few], cv, 0)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_bags_that_are_enough_are_enough_at_every_level(levels):
    def nested(bags, y, cv, levels):
        for train, _ in folds(bags, y, cv, 0) if levels else []:
            nested(bags[train], y[train], cv, levels - 1)

    for cv in (2, 3):
        for members in range(1, 9):
            few = np.concatenate([np.flatnonzero(Y == 0)[:12], np.flatnonzero(Y == 1)[:members]])
            bags, y = BAGS[few], Y[few]
            try:
                check_enough_bags(bags, y, cv, levels)
            except ValueError:
                with pytest.raises(ValueError, match="Class 1 has"):
                    nested(bags, y, cv, levels)
            else:
                nested(bags, y, cv, levels)


def test_scores_come_from_copies_that_did_not_see_the_bag():
    splits = folds(BAGS, Y, 3, 0)
    estimator = InstanceSVC()
    found = out_of_fold_scores(estimator, BAGS, Y, np.ones(len(Y)), splits)
    for train, test in splits:
        expected = InstanceSVC().fit(BAGS[train], Y[train]).decision_function(BAGS[test])
        np.testing.assert_array_equal(found[test], expected)
    assert not hasattr(estimator, "classes_")


@pytest.mark.parametrize("wrap", [make_pipeline, lambda model: GridSearchCV(model, {}, cv=2)])
def test_weights_reach_the_estimator_inside(wrap):
    weight = 1.0 + 4.0 * (np.arange(len(Y)) % 3)
    expected = InstanceSVC().fit(BAGS, Y, sample_weight=weight).decision_function(BAGS)
    assert not np.allclose(expected, InstanceSVC().fit(BAGS, Y).decision_function(BAGS))
    found = fit_weighted(wrap(InstanceSVC()), BAGS, Y, weight)
    np.testing.assert_array_equal(bag_scores(found, BAGS), expected)
