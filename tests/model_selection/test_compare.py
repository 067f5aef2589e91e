"""Comparisons that finish: folds, order, time, failures, interruption, and going on later."""

import json
import time

import numpy as np
import pytest

from bagwise import Bags, InstanceSVC, MeanSVC, StatisticsSVC, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.errors import PositiveClassWarning
from bagwise.io._records import ResultsError, hold_lock
from bagwise.model_selection import compare, grid_points, search
from bagwise.model_selection.compare import RESULTS

LINEAR = {"mean": MeanSVC(kernel="linear"), "SIL": InstanceSVC(kernel="linear")}
SHORT = {"cv": 3, "n_repeats": 1}


@pytest.fixture(scope="module")
def problem():
    return make_gaussian_bags(n_bags=36, shift=4.0, random_state=0)


def same(one, other):
    """Compare two comparisons, but for the time they took."""
    return one.frame.drop(columns="seconds").equals(other.frame.drop(columns="seconds"))


def test_test_bags_take_no_part_in_the_choice():
    """Bags without any signal: honest accuracy is chance, the best of the grid's is not."""
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(240, 3)), np.arange(0, 241, 3))
    y = rng.permutation(np.arange(80) % 2)
    found = compare(bags, y, {"SIL": InstanceSVC()}, cv=4, n_repeats=1)
    estimate = found.results["SIL"].estimates["accuracy"]
    assert estimate.low < 0.5 < estimate.high
    choices = search(InstanceSVC(), grid_points(InstanceSVC()), bags, y, calibrate=True)
    assert max(choice.value for choice in choices) > 0.5


def test_processes_and_time_limits_change_no_number(problem):
    alone = compare(*problem, LINEAR, **SHORT)
    assert same(alone, compare(*problem, LINEAR, n_jobs=2, **SHORT))
    assert same(alone, compare(*problem, LINEAR, time_limit=600, **SHORT))
    assert alone.stopped == ""


def test_equal_models_see_the_same_folds(problem):
    twins = {"a": MeanSVC(kernel="linear"), "b": MeanSVC(kernel="linear")}
    found = compare(*problem, twins, **SHORT)
    assert found.difference("a", "b").p_value == 1
    assert found.groups == [("a", "b")]


def test_a_model_that_cannot_be_fitted_is_a_result(problem):
    models = {"bad": WitnessSVC(gamma=-1.0), **LINEAR}
    found = compare(*problem, models, **SHORT)
    assert list(found.failures) == ["bad"]
    assert "gamma" in found.failures["bad"]
    assert set(found.results) == set(LINEAR)
    assert found.frame["failure"].tolist()[:2] == ["", ""]


class Noise(MeanSVC):
    """A model whose scores have nothing to do with the labels."""

    def decision_function(self, bags):
        return np.sin(1e4 * bags.X[bags.offsets[:-1], 0])


def test_models_clearly_behind_are_not_repeated(problem):
    models = {"good": WitnessSVC(kernel="linear"), "noise": Noise(), **LINEAR}
    found = compare(*problem, models, cv=3, n_repeats=2)
    repeats = {name: len(one.estimates["auc"].values) for name, one in found.results.items()}
    assert "noise" not in found.groups[0]
    assert repeats["noise"] == 1
    assert all(repeats[name] == 2 for name in found.groups[0])
    assert found.n_repeats == 2


# Time and interruption ----------------------------------------------------------------------------


class Slow(StatisticsSVC):
    """A model that takes a tenth of a second per bag, and cannot be interrupted."""

    def fit(self, bags, y, sample_weight=None):
        time.sleep(0.1 * len(bags))
        return super().fit(bags, y)


def test_a_model_that_cannot_finish_is_left_out_with_the_reason(problem):
    began = time.monotonic()
    found = compare(*problem, {"slow": Slow(), **LINEAR}, time_limit=20, **SHORT)
    assert set(found.results) == set(LINEAR)
    assert "would take" in found.left_out["slow"]
    assert (found.stopped, found.unfinished) == ("time", {})
    assert time.monotonic() - began < 10


def test_no_time_is_no_result_but_no_error(problem):
    found = compare(*problem, LINEAR, time_limit=1e-9, **SHORT)
    assert found.stopped == "time"
    assert found.results == {}
    assert found.unfinished == {"mean": 0, "SIL": 0}
    with pytest.raises(ValueError, match="No model has a result"):
        _ = found.recommendation


def stop(so_far):
    """Interrupt after four folds."""
    if len(so_far.records) == 4:
        raise KeyboardInterrupt


def test_ctrl_c_returns_what_was_found(problem):
    found = compare(*problem, LINEAR, callback=stop, **SHORT)
    assert found.stopped == "interrupted"
    assert list(found.results) == ["mean"]
    assert found.unfinished == {"SIL": 1}


# A folder of results ------------------------------------------------------------------------------


def test_a_comparison_goes_on_where_it_was_stopped(problem, tmp_path):
    compare(*problem, LINEAR, callback=stop, out=tmp_path, **SHORT)
    kept = (tmp_path / RESULTS).read_text()
    with open(tmp_path / RESULTS, "a") as file:
        file.write('{"model": "SI')  # a kill in the middle of a line
    counts = []
    whole = compare(
        *problem, LINEAR, out=tmp_path, callback=lambda so_far: counts.append(so_far.ahead), **SHORT
    )
    assert counts.count(("", 0.0)) == 2, "finished folds were judged again"
    assert {name: seconds > 0 for name, seconds in counts if name} == {"SIL": True}
    assert (tmp_path / RESULTS).read_text().startswith(kept)
    assert same(whole, compare(*problem, LINEAR, **SHORT))


def test_failures_are_tried_again_and_other_settings_are_other_models(problem, tmp_path):
    models = {"one": WitnessSVC(gamma=-1.0), "two": MeanSVC(kernel="linear")}
    assert "one" in compare(*problem, models, out=tmp_path, **SHORT).failures
    models = {"one": MeanSVC(kernel="linear"), "two": MeanSVC(kernel="linear", C=10.0)}
    found = compare(*problem, models, out=tmp_path, **SHORT)
    assert found.failures == {}
    codes = {json.loads(line).get("code") for line in (tmp_path / RESULTS).open()}
    assert codes >= {"MeanSVC(kernel='linear')", "MeanSVC(C=10.0, kernel='linear')"}


def test_a_folder_of_another_comparison_is_refused(problem, tmp_path):
    bags, y = problem
    compare(bags, y, LINEAR, out=tmp_path, **SHORT)
    with pytest.raises(ResultsError, match=r"holds a comparison of cv=3 instead of 4: name anoth"):
        compare(bags, y, LINEAR, out=tmp_path, cv=4, n_repeats=1)
    other = bags.replace(X=bags.X + 1)
    with pytest.raises(ResultsError, match="of other data and metric='auc' instead of 'accuracy'"):
        compare(other, y, LINEAR, out=tmp_path, metric="accuracy", **SHORT)
    with hold_lock(tmp_path), pytest.raises(ResultsError, match="in use by another run"):
        compare(bags, y, LINEAR, out=tmp_path, **SHORT)
    (tmp_path / RESULTS).write_text('{"cell": 1}\n')
    with pytest.raises(ResultsError, match="holds no comparison"):
        compare(bags, y, LINEAR, out=tmp_path, **SHORT)


# Data of all kinds --------------------------------------------------------------------------------


def test_several_classes(problem):
    bags, y = problem
    y = np.where(np.arange(len(y)) % 3 == 0, 2, y)
    found = compare(bags, y, LINEAR, **SHORT)
    assert found.majority["balanced_accuracy"] == pytest.approx(1 / 3)
    assert set(found.results) == set(LINEAR)
    assert found.reversed_models == []
    with pytest.raises(ValueError, match="sensitivity needs two classes, there are 3"):
        compare(bags, y, LINEAR, metric="sensitivity", **SHORT)


def test_other_metrics_choose_and_rank(problem):
    bags, y = problem
    found = compare(bags, y, LINEAR, metric="sensitivity", pos_label=0, **SHORT)
    assert found.sample.positive == 0
    assert LINEAR["SIL"].pos_label is None, "the user's model was changed"
    assert found.majority["sensitivity"] == 1.0
    best, *_ = values = [one.estimates["sensitivity"].value for one in found.results.values()]
    assert best == max(values)
    assert {"auc", "sensitivity_low"} <= set(found.frame.columns)


def test_groups_stay_together_and_widen_intervals(problem):
    bags, y = problem
    order = np.argsort(y, kind="stable")
    groups = np.arange(len(y)) // 3
    grouped = compare(bags[order].replace(groups=groups), y[order], LINEAR, **SHORT)
    for fold in range(3):
        inside = grouped.folds[0] == fold
        assert not set(groups[inside]) & set(groups[~inside])
    assert grouped.sample.n_units == 12


def test_missing_values_are_imputed_where_asked(problem):
    bags, y = problem
    X = bags.X.copy()
    X[::50, 0] = np.nan
    with pytest.raises(ValueError, match=r"NaN|missing"):
        compare(bags.replace(X=X), y, LINEAR, **SHORT)
    found = compare(bags.replace(X=X), y, LINEAR, impute="median", scale="standard", **SHORT)
    assert found.failures == {}


def test_an_unclear_positive_class_is_warned_of_once(problem):
    bags, y = problem
    with pytest.warns(PositiveClassWarning, match="'wt' is taken as the positive class") as heard:
        found = compare(bags, np.array(["mut", "wt"])[y], LINEAR, **SHORT)
    assert len(heard) == 1
    assert all(one.warned == [] for one in found.results.values())
    with pytest.raises(ValueError, match="no label 'x' for pos_label"):
        compare(bags, y, LINEAR, pos_label="x")
    named = compare(bags, np.array(["no", "yes"])[y], ["SIL"], pos_label="no", **SHORT)
    assert named.models["SIL"].pos_label == "no"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "f2"}, "no metric 'f2' to compare by. Known names: auc,"),
        ({"metric": "f1"}, "metric='f1' was removed in version 0.3. Use \"auc\""),
        ({"n_repeats": 0}, "n_repeats must be at least 1"),
        ({"models": {}}, "at least one model"),
        ({"models": ["MISVM"]}, "no method 'MISVM'. Did you mean"),
    ],
)
def test_bad_options_are_refused(problem, options, message):
    with pytest.raises(ValueError, match=message):
        compare(*problem, **{"models": {"SIL": Slow()}, **options})


def test_too_few_bags_are_refused_before_anything_is_fitted(problem):
    bags, y = problem
    models = {"slow": Slow()}
    few = np.sort(np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:4]]))
    with pytest.raises(ValueError, match=r"Class 1 has 4 bags, fewer than the 5 folds of cv"):
        compare(bags[few], y[few], models)
    with pytest.raises(ValueError, match=r"the 3 folds of inner_cv within the 3 folds of cv"):
        compare(bags[few], y[few], models, cv=3)
    with pytest.raises(ValueError, match=r"y has 4 labels, there are 36 bags"):
        compare(bags, y[:4], models)
    with pytest.raises(ValueError, match=r"All bags are of the class 0"):
        compare(bags, 0 * y, models)
