"""Estimators: one paper (family), one file."""

from bagwise.models.instance import InstanceSVC
from bagwise.models.semiproximal import SemiProximalSVC
from bagwise.models.witness import LabelSVC, WitnessSVC

__all__ = ["InstanceSVC", "LabelSVC", "SemiProximalSVC", "WitnessSVC"]
