"""Max-margin multiple-instance learning: classify bags, point at the instances responsible."""

from bagwise.bags import Bags, check_bags
from bagwise.graphs import Graph
from bagwise.modelfile import load, save
from bagwise.models import (
    DDSVM,
    EMDD,
    MILES,
    MISSVM,
    ODM,
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedProportionSVCCV,
    AnnealedWitnessSVC,
    BagKernelSVC,
    CitationKNN,
    DiverseDensity,
    GraphSVC,
    GraphSVCCV,
    InstanceSVC,
    KeyInstanceSVC,
    LabelSVC,
    MarkovNetworkClassifier,
    MeanSVC,
    MILBoost,
    MILESEmbedding,
    OptimalMarginSVC,
    SemiProximalSVC,
    SparseMIL,
    WitnessSVC,
    annealed_path,
)
from bagwise.papers import by_paper_name
from bagwise.preprocessing import BagStatistics, PerInstance

__version__ = "0.1.0"

__all__ = [
    "DDSVM",
    "EMDD",
    "MILES",
    "MISSVM",
    "ODM",
    "AnnealedLabelSVC",
    "AnnealedProportionSVC",
    "AnnealedProportionSVCCV",
    "AnnealedWitnessSVC",
    "BagKernelSVC",
    "BagStatistics",
    "Bags",
    "CitationKNN",
    "DiverseDensity",
    "Graph",
    "GraphSVC",
    "GraphSVCCV",
    "InstanceSVC",
    "KeyInstanceSVC",
    "LabelSVC",
    "MILBoost",
    "MILESEmbedding",
    "MarkovNetworkClassifier",
    "MeanSVC",
    "OptimalMarginSVC",
    "PerInstance",
    "SemiProximalSVC",
    "SparseMIL",
    "WitnessSVC",
    "annealed_path",
    "by_paper_name",
    "check_bags",
    "load",
    "save",
]
