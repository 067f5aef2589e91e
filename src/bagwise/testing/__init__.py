"""The contract of bag estimators as checks, and the list of estimators that they run over."""

from typing import Any

from bagwise._removed import refuse_class
from bagwise.testing.registry import estimators, expected_failed_checks
from bagwise.testing.runner import bag_checks, check_bag_estimator

__all__ = ["bag_checks", "check_bag_estimator", "estimators", "expected_failed_checks"]


def __getattr__(name: str) -> Any:
    refuse_class(f"testing.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
