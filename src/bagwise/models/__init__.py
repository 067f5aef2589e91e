"""Estimators: one paper (family), one file."""

from bagwise.models.annealed import (
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
)
from bagwise.models.bagkernel import BagKernelSVC
from bagwise.models.instance import InstanceSVC
from bagwise.models.meansvc import MeanSVC
from bagwise.models.miles import MILES, MILESEmbedding
from bagwise.models.semiproximal import SemiProximalSVC
from bagwise.models.witness import LabelSVC, WitnessSVC

__all__ = [
    "MILES",
    "AnnealedLabelSVC",
    "AnnealedProportionSVC",
    "AnnealedWitnessSVC",
    "BagKernelSVC",
    "InstanceSVC",
    "LabelSVC",
    "MILESEmbedding",
    "MeanSVC",
    "SemiProximalSVC",
    "WitnessSVC",
]
