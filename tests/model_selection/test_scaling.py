"""Scalings by name, and their choice by inner folds."""

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import MeanSVC, WitnessSVC, load, save
from bagwise.datasets import make_gaussian_bags
from bagwise.model_selection import IMPUTES, SCALES, search
from bagwise.model_selection.scaling import scalings, settle_scale, with_scaler

BAGS, Y = make_gaussian_bags(40, 4, shift=3.0)


def test_what_the_scalings_do():
    moved = BAGS.replace(X=100 + 7 * np.asarray(BAGS.X))
    done = {
        n: s.fit_transform(moved).X for n, s in scalings(moved, "search").items() if s is not None
    }
    assert [*scalings(moved, "search")] == [*SCALES]
    np.testing.assert_allclose(done["standard"].mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.median(done["robust"], axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.median(done["quantile"], axis=0), 0, atol=0.1)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda X: X, "raw"),
        (lambda X: X * [1, 1, 1, 50.0], "raw"),
        (lambda X: X * [1, 1, 1, 300.0], "standard"),
        (lambda X: X * [1, 1, 1, 300.0] * (X[:, [0]] > 0), "raw"),  # half of the values are zero
        (lambda X: X * [1, 1, 1, 1e-15] + [0, 0, 0, 5.0], "raw"),  # rounding noise
        (lambda X: X * [1, 1, 1, 0], "raw"),  # constant
        (lambda X: X * [1, 1, 1e-3, np.nan], "standard"),  # missing
    ],
)
def test_spreads_decide_without_folds(change, expected, sparse):
    bags, _ = make_gaussian_bags(40, 4)
    X = change(np.asarray(bags.X))
    bags = bags.replace(X=sp.csr_array(X) if sparse else X)
    assert settle_scale(bags, "auto") == expected
    assert [*scalings(bags, "auto")] == [expected]


def test_sparse_instances_stay_sparse():
    bags = BAGS.replace(X=sp.csr_array(BAGS.X))
    assert [*scalings(bags, "search")] == ["raw", "standard"]
    assert sp.issparse(scalings(bags, "standard")["standard"].fit_transform(bags).X)
    with pytest.raises(ValueError, match="would fill sparse instances"):
        scalings(bags, "robust")


def test_wrong_names_are_refused():
    with pytest.raises(ValueError, match=r"no scale 'standrad'\. Did you mean 'standard'"):
        scalings(BAGS, "standrad")
    with pytest.raises(ValueError, match=r"no imputation 'medain'\. Did you mean 'median'"):
        scalings(BAGS, "raw", impute="medain")


def test_search_tries_all_scalings_and_finds_the_one_that_shows_the_signal():
    hidden = BAGS.replace(
        X=np.column_stack(
            [BAGS.X, 1e5 * np.random.default_rng(0).normal(size=(BAGS.n_instances, 1))]
        )
    )
    choices = search(MeanSVC(), [{"C": 1.0}, {"C": 10.0}], hidden, Y, metric="auc", scale="search")
    assert [(c.point["C"], c.scale) for c in choices] == [(c, s) for c in (1, 10) for s in SCALES]
    best = max(choices, key=lambda choice: choice.value)
    raw = max(choice.value for choice in choices if choice.scale == "raw")
    assert best.scale != "raw"
    assert best.value > raw + 0.1


@pytest.mark.parametrize(
    ("scale", "how"),
    [*((scale, "median") for scale in SCALES), *(("standard", how) for how in IMPUTES[1:])],
)
def test_missing_values_are_filled_before_the_scaling(scale, how, tmp_path):
    X = np.array(BAGS.X)
    X[::7, 1] = np.nan
    X[:, 3] = np.nan  # nothing is known of this feature
    holes = BAGS.replace(X=X)
    step = scalings(holes, scale, impute=how)[scale]
    model = with_scaler(WitnessSVC(kernel="linear"), step).fit(holes, Y)
    assert np.isfinite(model.decision_function(holes)).all()
    save(model, tmp_path / "m.bagwise")
    again = load(tmp_path / "m.bagwise")
    np.testing.assert_array_equal(again.decision_function(holes), model.decision_function(holes))
