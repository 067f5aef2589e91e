"""Estimators: one paper (family), one file."""

from bagwise.models.bagkernel import BagKernelSVC
from bagwise.models.instance import InstanceSVC
from bagwise.models.meansvc import MeanSVC
from bagwise.models.semiproximal import SemiProximalSVC
from bagwise.models.witness import LabelSVC, WitnessSVC

__all__ = ["BagKernelSVC", "InstanceSVC", "LabelSVC", "MeanSVC", "SemiProximalSVC", "WitnessSVC"]
