"""Max-margin multiple-instance learning: classify bags, point at the instances responsible."""

from bagwise.bags import Bags, check_bags

__version__ = "0.1.0"

__all__ = ["Bags", "check_bags"]
