"""The contract of bag estimators as checks, and the estimators that they run over."""

from bagwise.testing.registry import estimators, expected_failed_checks
from bagwise.testing.runner import bag_checks, check_bag_estimator

__all__ = ["bag_checks", "check_bag_estimator", "estimators", "expected_failed_checks"]
