"""The contract of bag estimators as checks, and the list of estimators that they run over."""

from typing import Any

from bagwise._removed import refuse_class
from bagwise.testing.assumptions import (
    ASSUMPTION_TESTS,
    make_assumption_test,
    score_assumption_test,
)
from bagwise.testing.registry import estimators, expected_failed_checks
from bagwise.testing.runner import bag_checks, check_bag_estimator

__all__ = [
    "ASSUMPTION_TESTS",
    "bag_checks",
    "check_bag_estimator",
    "estimators",
    "expected_failed_checks",
    "make_assumption_test",
    "score_assumption_test",
]


def __getattr__(name: str) -> Any:
    refuse_class(f"testing.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
