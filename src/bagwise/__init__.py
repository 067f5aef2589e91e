"""Max-margin multiple-instance learning: classify bags, point at the instances responsible."""

from importlib import import_module
from typing import Any

from bagwise.bags import Bags, check_bags
from bagwise.graphs import Graph
from bagwise.modelfile import load, save
from bagwise.models import (
    DDSVM,
    EMDD,
    MICA,
    MILES,
    MISSVM,
    ODM,
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedProportionSVCCV,
    AnnealedWitnessSVC,
    BagEnsemble,
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
    "MICA",
    "MILES",
    "MISSVM",
    "ODM",
    "AnnealedLabelSVC",
    "AnnealedProportionSVC",
    "AnnealedProportionSVCCV",
    "AnnealedWitnessSVC",
    "BagEnsemble",
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

_MODULES = (
    "cardinality",
    "datasets",
    "io",
    "metrics",
    "model_selection",
    "plot",
    "preprocessing",
    "testing",
)


def __getattr__(name: str) -> Any:
    """Import a public module when it is first asked for: `import bagwise` stays fast."""
    if name in _MODULES:
        return import_module(f"bagwise.{name}")
    raise AttributeError(f"module 'bagwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
