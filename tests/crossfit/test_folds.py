"""Folds of bags: a partition, stratified, groups together; and what is refused."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from bagwise.crossfit import CV, check_enough_bags, folds, hold_out_part
from bagwise.crossfit.folds import number_folds
from bagwise.errors import Argument, Parameter
from bagwise.testing._problems import planted_bags

BAGS, Y = planted_bags(n_bags=30)
PART = Parameter("validation_fraction", ".2")


def assert_partition(splits, n):
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), range(n))
    for train, test in splits:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), range(n))


def test_a_number_of_folds_is_stratified_and_repeatable():
    splits = folds(BAGS, Y, 5, 0)
    assert_partition(splits, len(BAGS))
    assert [Y[test].sum() for _, test in splits] == [3] * 5
    np.testing.assert_array_equal(number_folds(splits), number_folds(folds(BAGS, Y, 5, 0)))
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


@pytest.mark.parametrize(
    ("members", "cv", "levels", "advice"),
    [
        (1, 2, 1, "fewer than the 2 inner folds of cv. Bring at least 2 bags of that class."),
        (3, 5, 1, "fewer than the 5 inner folds of cv. Lower cv to 3 or bring more bags"),
        (5, 5, 2, "too few for the 5 inner folds of cv within the 5 inner .* Lower cv to 3"),
        (2, 2, 2, "too few for the 2 .* Bring at least 4 bags of that class"),
        (6, 3, 3, "too few for the 3 .* Bring at least 8 bags of that class"),
        (8, 5, 3, "too few for the 5 .* Lower cv to 4"),
    ],
)
def test_too_few_bags_are_told_what_would_do(members, cv, levels, advice):
    few = np.concatenate([np.flatnonzero(Y == 0), np.flatnonzero(Y == 1)[:members]])
    with pytest.raises(ValueError, match=f"Class 1 has {members} bags?, {advice}"):
        check_enough_bags(BAGS[few], Y[few], *[(CV, cv)] * levels)
    if levels == 1:
        with pytest.raises(ValueError, match=advice):
            folds(BAGS[few], Y[few], cv, 0)


def test_folds_of_two_kinds_within_each_other_are_both_named():
    few = np.concatenate([np.flatnonzero(Y == 0), np.flatnonzero(Y == 1)[:4]])
    outer, inner = (Argument("cv", ""), 3), (Argument("inner_cv", ""), 3)
    message = "Class 1 has 4 bags, too few for the 3 folds of inner_cv within the 3 folds of cv. "
    with pytest.raises(ValueError, match=f"{message}Lower inner_cv to 2 or bring more bags"):
        check_enough_bags(BAGS[few], Y[few], outer, inner)
    check_enough_bags(BAGS[few], Y[few], outer, (inner[0], 2))
    check_enough_bags(BAGS[few], Y[few], (outer[0], KFold(3)), inner)
    with pytest.raises(ValueError, match="All bags are of the class 0: learning needs two"):
        check_enough_bags(BAGS, np.zeros_like(Y), outer)


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
                check_enough_bags(bags, y, *[(CV, cv)] * levels)
            except ValueError:
                with pytest.raises(ValueError, match="Class 1 has"):
                    nested(bags, y, cv, levels)
            else:
                nested(bags, y, cv, levels)


@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.5])
def test_a_part_is_held_out_of_every_class(fraction):
    train, test = hold_out_part(BAGS, Y, fraction, 0, PART)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), range(len(BAGS)))
    for label in (0, 1):
        assert np.sum(Y[test] == label) == max(1, round(fraction * int(np.bincount(Y)[label])))
    np.testing.assert_array_equal(test, hold_out_part(BAGS, Y, fraction, 0, PART)[1])
    assert not np.array_equal(test, hold_out_part(BAGS, Y, fraction, 1, PART)[1])


def test_groups_are_held_out_together():
    groups = np.arange(len(BAGS)) // 3
    train, test = hold_out_part(BAGS.replace(groups=groups), Y, 0.2, 0, PART)
    assert not set(groups[train]) & set(groups[test])
    assert 3 <= np.sum(Y[test] == 0) <= 8
    assert 3 <= np.sum(Y[test] == 1) <= 8
    with pytest.raises(ValueError, match=r"too few groups.*lower validation_fraction=.2 or bring"):
        hold_out_part(BAGS.replace(groups=np.zeros(len(BAGS), int)), Y, 0.2, 0, PART)
