"""Max-margin multiple-instance learning: classify bags, point at the instances responsible."""

from bagwise.bags import Bags, check_bags
from bagwise.models import InstanceSVC, LabelSVC, SemiProximalSVC, WitnessSVC
from bagwise.papers import by_paper_name

__version__ = "0.1.0"

__all__ = ["Bags", "InstanceSVC", "LabelSVC", "SemiProximalSVC", "WitnessSVC", "by_paper_name", "check_bags"]
