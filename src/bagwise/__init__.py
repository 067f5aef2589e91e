"""Max-margin multiple-instance learning: classify bags, point at the instances responsible."""

from bagwise.bags import Bags, check_bags
from bagwise.models import (
    EMDD,
    MILES,
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedProportionSVCCV,
    AnnealedWitnessSVC,
    BagKernelSVC,
    DiverseDensity,
    InstanceSVC,
    LabelSVC,
    MarkovNetworkClassifier,
    MeanSVC,
    MILESEmbedding,
    SemiProximalSVC,
    WitnessSVC,
    annealed_path,
)
from bagwise.papers import by_paper_name
from bagwise.preprocessing import BagStatistics, PerInstance

__version__ = "0.1.0"

__all__ = [
    "EMDD",
    "MILES",
    "AnnealedLabelSVC",
    "AnnealedProportionSVC",
    "AnnealedProportionSVCCV",
    "AnnealedWitnessSVC",
    "BagKernelSVC",
    "BagStatistics",
    "Bags",
    "DiverseDensity",
    "InstanceSVC",
    "LabelSVC",
    "MILESEmbedding",
    "MarkovNetworkClassifier",
    "MeanSVC",
    "PerInstance",
    "SemiProximalSVC",
    "WitnessSVC",
    "annealed_path",
    "by_paper_name",
    "check_bags",
]
