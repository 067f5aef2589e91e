"""The data: bags of instances, and the operations on ragged arrays behind them."""

from bagwise.bags.bags import Bags
from bagwise.bags.checks import check_bags

__all__ = ["Bags", "check_bags"]
