"""Every listed estimator under scikit-learn's checks and ours; broken ones must be found out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bagwise import BagStatistics, InstanceSVC, LabelSVC, PerInstance, WitnessSVC
from bagwise.tags import bag_tags
from bagwise.testing import bag_checks, check_bag_estimator, estimators, expected_failed_checks
from bagwise.testing._problems import planted_bags

RETURNS_BAGS = "transform returns Bags, which on purpose have no array form to compare"
NOT_FOR_BAGS = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_pipeline_consistency",
        "check_estimators_pickle",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit_idempotent",
    ),
    RETURNS_BAGS,
)


def known_failures(estimator):
    return NOT_FOR_BAGS if isinstance(estimator, PerInstance) else expected_failed_checks(estimator)


@parametrize_with_checks(
    [*estimators(sklearn=True), BagStatistics(), PerInstance(StandardScaler())],
    expected_failed_checks=known_failures,
    xfail_strict=True,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def cases():
    for estimator in estimators():
        reasons = expected_failed_checks(estimator)
        for check in bag_checks(estimator):
            reason = reasons.get(check.__name__)
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            name = f"{estimator}-{check.__name__}"
            yield pytest.param(estimator, check, id=name, marks=marks)


@pytest.mark.parametrize(("estimator", "check"), list(cases()))
def test_bag_contract(estimator, check):
    check(clone(estimator))


# The list ----------------------------------------------------------------------------------------


def test_listed_estimators_are_told_apart():
    told = [repr(estimator) for estimator in estimators()]
    assert len(told) == len(set(told))


def test_every_exclusion_names_a_check_and_a_reason():
    for estimator in estimators():
        for name, reason in expected_failed_checks(estimator).items():
            assert name.startswith("check_")
            assert len(reason.split()) > 3, f"{name} of {estimator} needs a reason"


def test_every_exported_estimator_is_listed():
    import bagwise
    from bagwise.base import BagClassifier

    exported = {getattr(bagwise, name) for name in bagwise.__all__}
    exported = {c for c in exported if isinstance(c, type) and issubclass(c, BagClassifier)}
    assert exported == {type(estimator) for estimator in estimators(sklearn=True)}


# A check that cannot fail is worth nothing -------------------------------------------------------


class FirstBagsCountMore(InstanceSVC):
    def _fit_classes(self, bags, codes, weight):
        super()._fit_classes(bags, codes, weight * np.linspace(2, 1, len(weight)))


class FirstInstanceOnly(InstanceSVC):
    def _bag_scores(self, bags):
        return self._instance_scores(bags)[bags.offsets[:-1]]


class ForgetsWeights(InstanceSVC):
    def _fit_classes(self, bags, codes, weight):
        super()._fit_classes(bags, codes, np.ones_like(weight))


class CountsPredictions(InstanceSVC):
    def _bag_scores(self, bags):
        self.n_calls_ = getattr(self, "n_calls_", 0) + 1
        return super()._bag_scores(bags)


class Restless(InstanceSVC):
    def _fit_classes(self, bags, codes, weight):
        super()._fit_classes(bags, codes, weight)
        self.intercept_ += np.random.default_rng().normal(size=1)


class PointsAtTheLast(WitnessSVC):
    def key_instances(self, bags):
        return self._checked(bags).sizes - 1


class TakesAnything(InstanceSVC):
    def _validate_bags(self, bags, reset):
        try:
            return super()._validate_bags(bags, reset)
        except ValueError:
            return super()._validate_bags(planted_bags()[0], reset)


class NoHistory(LabelSVC):
    def _keep(self, bags, fits):
        super()._keep(bags, fits)
        self.history_ = []


class ProvesNothing(InstanceSVC):
    def _keep(self, bags, fits):
        super()._keep(bags, fits)
        self.gap_ = self.objective_


class IgnoresGroups(InstanceSVC):
    def _calibrate(self, bags, *rest):
        super()._calibrate(bags.replace(groups=None), *rest)


@pytest.mark.parametrize(
    ("broken", "found_by"),
    [
        (FirstBagsCountMore, {"check_order_of_bags", "check_weight_two_is_the_bag_twice"}),
        (
            FirstInstanceOnly,
            {"check_order_of_instances", "check_bag_score_is_made_of_instance_scores"},
        ),
        (
            ForgetsWeights,
            {
                "check_weight_two_is_the_bag_twice",
                "check_weight_zero_is_no_bag",
                "check_class_weight_is_sample_weight",
            },
        ),
        (CountsPredictions, {"check_predicting_changes_nothing"}),
        (Restless, {"check_two_fits_give_the_same_bits", "check_forms_of_input_agree"}),
        (PointsAtTheLast, {"check_key_instances_score_highest"}),
        (TakesAnything, {"check_empty_bag", "check_not_finite", "check_width_at_predict"}),
        (NoHistory, {"check_attributes"}),
        (ProvesNothing, {"check_attributes"}),
        (
            IgnoresGroups,
            {"check_inner_folds_keep_groups", "check_too_few_bags_for_the_folds"},
        ),
    ],
)
def test_broken_estimators_are_found_out(broken, found_by):
    records = check_bag_estimator(broken(), on_fail=None)
    assert found_by <= {r["check_name"] for r in records if r["status"] == "failed"}


def test_the_first_failure_is_raised_with_the_name_of_the_check():
    with pytest.raises(AssertionError) as caught:
        check_bag_estimator(CountsPredictions())
    assert "check_predicting_changes_nothing of CountsPredictions()" in caught.value.__notes__[0]


def test_an_expected_failure_must_fail():
    reason = {"check_predicting_changes_nothing": "it counts"}
    records = check_bag_estimator(CountsPredictions(), expected_failed_checks=reason)
    assert [r["expected_to_fail_reason"] for r in records if r["status"] == "xfail"] == [
        "it counts"
    ]
    with pytest.raises(AssertionError, match="was said to fail: it counts"):
        check_bag_estimator(InstanceSVC(), expected_failed_checks=reason)


def test_on_fail_is_checked():
    with pytest.raises(ValueError, match="on_fail"):
        check_bag_estimator(InstanceSVC(), on_fail="shout")


# Tags --------------------------------------------------------------------------------------------


class WholeBags(InstanceSVC):
    def __bag_tags__(self):
        tags = super().__bag_tags__()
        return replace(tags, instance_scores=False, bag_score=None, gap=False, objective=False)


def test_tags_choose_the_checks():
    every = {check.__name__ for check in bag_checks(InstanceSVC())}
    fewer = {check.__name__ for check in bag_checks(WholeBags())}
    assert every - fewer == {
        "check_bag_score_is_made_of_instance_scores",
        "check_key_instances_score_highest",
    }
    assert all(r["status"] == "passed" for r in check_bag_estimator(WholeBags()))


def test_an_estimator_without_instance_scores_has_no_such_methods():
    model = WholeBags().fit(*planted_bags())
    for name in ("instance_decision_function", "predict_instances", "key_instances"):
        assert not hasattr(model, name)


def test_the_majority_rule_is_the_middle_score():
    bags, y = planted_bags()
    model = InstanceSVC(vote="majority").fit(bags, y)
    aggregate = bag_tags(model).bag_score
    for size in range(1, 7):
        scores = np.random.default_rng(size).normal(size=size)
        assert aggregate(scores) == np.sort(scores)[size // 2]
    votes = [
        part > 0 for part in np.split(model.instance_decision_function(bags), bags.offsets[1:-1])
    ]
    np.testing.assert_array_equal(model.predict(bags), [int(2 * v.sum() >= len(v)) for v in votes])


# Weights of classes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("class_weight", "told"),
    [
        ({"normal": -1.0}, r"class 'normal' is -1\.0: weights must be finite numbers and not neg"),
        ({"tumor": np.nan}, r"class 'tumor' is nan: weights must be finite"),
        ({"tumor": np.inf}, r"class 'tumor' is inf: weights must be finite"),
        ({"tumor": "2"}, r"class 'tumor' is '2': weights must be finite numbers"),
        ({"normal": 0.0, "tumor": 0.0}, r"class 'normal' is 0, .* give it a small weight"),
        ({"normal": 1.0, "tumor": 0}, r"class 'tumor' is 0, .* fit without its bags"),
        ({"tumour": 2.0}, r"names class 'tumour', .* labels \['normal', 'tumor'\]: remove it"),
    ],
)
def test_wrong_class_weights_are_named(class_weight, told):
    bags, y = planted_bags()
    with pytest.raises(ValueError, match=told):
        WitnessSVC(class_weight=class_weight).fit(bags, np.array(["normal", "tumor"])[y])


def test_a_class_without_a_weight_of_its_own_has_weight_one():
    bags, y = planted_bags()
    some, all_ = ({1: 3}, {0: 1.0, 1: np.float32(3.0)})
    scores = [
        WitnessSVC(class_weight=weight).fit(bags, y).decision_function(bags)
        for weight in (some, all_, None)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert np.any(scores[0] != scores[2])


# Told on the way ---------------------------------------------------------------------------------


def hard_problem():
    """Return bags whose labels the first assignment of mi-SVM does not explain."""
    bags, _ = planted_bags(n_bags=40)
    return bags, np.random.default_rng(0).integers(0, 2, len(bags))


def test_a_fit_that_was_stopped_early_warns_with_its_gap():
    with pytest.warns(
        ConvergenceWarning, match=r"LabelSVC was stopped by max_iter=1 .*gap [\d.e+-]+"
    ):
        LabelSVC(max_iter=1).fit(*hard_problem())


def test_verbose_prints_one_line_an_iteration(capsys):
    model = LabelSVC(verbose=1).fit(*hard_problem())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(model.history_) > 1
    assert all(line.startswith("[LabelSVC] objective ") for line in lines)


def test_a_random_start_follows_its_seed():
    bags, y = hard_problem()
    fits = [WitnessSVC("random", random_state=seed).fit(bags, y) for seed in (None, 0, 0, 1)]
    first = [model.history_[0]["objective"] for model in fits]
    assert first[0] == first[1] == first[2] != first[3]
