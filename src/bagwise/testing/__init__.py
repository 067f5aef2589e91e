"""The contract of bag estimators as checks, and bad inputs that every door must refuse."""

from bagwise.testing.bad_inputs import BadInput, bad_inputs, check_bad_input
from bagwise.testing.registry import estimators, expected_failed_checks
from bagwise.testing.runner import bag_checks, check_bag_estimator

__all__ = [
    "BadInput",
    "bad_inputs",
    "bag_checks",
    "check_bad_input",
    "check_bag_estimator",
    "estimators",
    "expected_failed_checks",
]
