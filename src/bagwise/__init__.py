"""Max-margin multiple-instance learning: classify bags, point at the instances responsible."""

from bagwise.bags import Bags, check_bags
from bagwise.models import (
    MILES,
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
    BagKernelSVC,
    InstanceSVC,
    LabelSVC,
    MeanSVC,
    MILESEmbedding,
    SemiProximalSVC,
    WitnessSVC,
)
from bagwise.papers import by_paper_name
from bagwise.preprocessing import BagStatistics, PerInstance

__version__ = "0.1.0"

__all__ = [
    "MILES",
    "AnnealedLabelSVC",
    "AnnealedProportionSVC",
    "AnnealedWitnessSVC",
    "BagKernelSVC",
    "BagStatistics",
    "Bags",
    "InstanceSVC",
    "LabelSVC",
    "MILESEmbedding",
    "MeanSVC",
    "PerInstance",
    "SemiProximalSVC",
    "WitnessSVC",
    "by_paper_name",
    "check_bags",
]
