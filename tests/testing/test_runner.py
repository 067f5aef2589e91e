"""Every listed estimator under scikit-learn's checks and ours; broken ones must be found out."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from bad_inputs import estimator_checks
from bagwise import (
    BagStatistics,
    InstanceSVC,
    LabelSVC,
    MarkovNetworkClassifier,
    PerInstance,
    WitnessSVC,
)
from bagwise.testing import bag_checks, check_bag_estimator, estimators, expected_failed_checks
from representatives import family_of, in_turn, name_of

pytestmark = pytest.mark.filterwarnings("ignore::bagwise.errors.TaskWarning")


def every(**options):
    """Return estimators of classes, numbers and grades."""
    return [
        m for task in ("classes", "numbers", "grades") for m in estimators(task=task, **options)
    ]


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
    returns_bags = isinstance(estimator, PerInstance)
    return NOT_FOR_BAGS if returns_bags else expected_failed_checks(estimator)


def products_of_scikit_learn():
    more = [BagStatistics(), PerInstance(StandardScaler())]
    for estimator in [*every(sklearn=True), *more]:
        reasons = known_failures(estimator)
        for _, check in estimator_checks_generator(estimator):
            yield estimator, check, expected(reasons, name_of(check))


def expected(reasons, name):
    return [pytest.mark.xfail(reason=reasons[name], strict=True)] if name in reasons else []


@pytest.mark.parametrize(("estimator", "check"), in_turn(products_of_scikit_learn()))
def test_scikit_learn_contract(estimator, check):
    check(clone(estimator))


def products():
    for estimator in every():
        reasons = expected_failed_checks(estimator)
        known = estimator.get_params().keys()
        refusals = [check for check in estimator_checks() if known >= check.parameters]
        for check in (*bag_checks(estimator), *refusals * (estimator.task == "classes")):
            yield estimator, check, expected(reasons, check.__name__)


@pytest.mark.parametrize(("estimator", "check"), in_turn(products()))
def test_bag_contract(estimator, check):
    check(clone(estimator))


def test_every_check_meets_every_family_without_the_slow_ones():
    families = {family_of(estimator) for estimator in estimators()}
    met = {}
    for parameter in in_turn(products()):
        if not any(mark.name == "slow" for mark in parameter.marks):
            estimator, check = parameter.values
            met.setdefault(check.__name__, set()).add(family_of(estimator))
    assert len(families) >= 7
    fit_themselves = {family for family in families if "model_selection" not in family[1]}
    assert met["check_order_of_bags"] >= fit_themselves
    assert met["check_empty_bag"] >= fit_themselves


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
        return self._check_bags(bags).sizes - 1


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
        (FirstBagsCountMore, {"check_order_of_bags", "check_weights_are_repetitions"}),
        (
            FirstInstanceOnly,
            {"check_order_of_instances", "check_bag_score_is_made_of_instance_scores"},
        ),
        (
            ForgetsWeights,
            {
                "check_weights_are_repetitions",
                "check_class_weight_is_sample_weight",
            },
        ),
        (CountsPredictions, {"check_predicting_changes_nothing"}),
        (Restless, {"check_two_fits_give_the_same_bits", "check_forms_of_input_agree"}),
        (PointsAtTheLast, {"check_key_instances_score_highest"}),
        (NoHistory, {"check_attributes"}),
        (ProvesNothing, {"check_attributes"}),
        (IgnoresGroups, {"check_inner_folds_keep_groups", "check_too_few_bags_for_the_folds"}),
    ],
)
def test_broken_estimators_are_found_out(broken, found_by):
    with pytest.raises(ExceptionGroup, match="breaks the contract") as caught:
        check_bag_estimator(broken())
    failed = {error.__notes__[0] for error in caught.value.exceptions}
    assert {f"in {name} of {broken()!r}" for name in found_by} <= failed


def test_an_expected_failure_must_fail():
    reason = {"check_predicting_changes_nothing": "it counts"}
    check_bag_estimator(CountsPredictions(), expected_failed_checks=reason)
    with pytest.raises(ExceptionGroup) as caught:
        check_bag_estimator(InstanceSVC(), expected_failed_checks=reason)
    assert "was expected to fail: it counts" in str(caught.value.exceptions[0])


def test_listed_estimators_are_told_apart():
    told = [repr(estimator) for estimator in estimators()]
    assert len(told) == len(set(told))


def test_scikit_learn_checks_one_form_of_every_class():
    kinds = [type(estimator) for estimator in estimators(sklearn=True)]
    assert len(set(kinds)) == len(kinds)
    assert set(kinds) == {type(estimator) for estimator in estimators()}


def test_every_expected_failure_names_a_check_and_a_reason():
    for estimator in estimators():
        ours = {check.__name__ for check in bag_checks(estimator)}
        for name, reason in expected_failed_checks(estimator).items():
            assert name in ours or name.startswith("check_sample_weight_equi") or "class" in name
            assert len(reason.split()) > 3, f"{name} of {estimator} needs a reason"


def test_only_the_listed_form_is_expected_to_fail():
    assert expected_failed_checks(MarkovNetworkClassifier())
    assert expected_failed_checks(MarkovNetworkClassifier(tol=1e-5)) == {}
    assert expected_failed_checks(WitnessSVC()) == {}

    class Mine(InstanceSVC):
        pass

    assert expected_failed_checks(Mine()) == {}
