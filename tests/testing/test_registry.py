"""The list of estimators that the checks run over."""

from bagwise import InstanceSVC, MarkovNetworkClassifier, WitnessSVC
from bagwise.testing import bag_checks, estimators, expected_failed_checks


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
