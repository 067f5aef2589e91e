"""The contract of bag estimators as checks, and the list of estimators that they run over."""

from bagwise._removed import refuse_names
from bagwise.testing.assumptions import (
    ASSUMPTION_TESTS,
    make_assumption_test,
    score_assumption_test,
)
from bagwise.testing.runner import (
    bag_checks,
    check_bag_estimator,
    estimators,
    expected_failed_checks,
)

__all__ = [
    "ASSUMPTION_TESTS",
    "bag_checks",
    "check_bag_estimator",
    "estimators",
    "expected_failed_checks",
    "make_assumption_test",
    "score_assumption_test",
]

__getattr__ = refuse_names(__name__)
