"""Max-margin multiple-instance learning: classify bags, point at the instances responsible."""

from importlib import import_module
from typing import Any

from bagwise.bags import Bags, check_bags
from bagwise.catalog import by_paper_name
from bagwise.graphs import Graph
from bagwise.models.annealed import AnnealedLabelSVC, AnnealedProportionSVC, AnnealedWitnessSVC
from bagwise.models.annealed_search import AnnealedProportionSVCCV, annealed_path
from bagwise.models.bagkernel import BagKernelSVC
from bagwise.models.citation import CitationKNN
from bagwise.models.ddsvm import DDSVM
from bagwise.models.diverse_density import EMDD, DiverseDensity
from bagwise.models.ensemble import BagEnsemble
from bagwise.models.graph import GraphSVC
from bagwise.models.graph.search import GraphSVCCV
from bagwise.models.instance import InstanceSVC
from bagwise.models.keyinstance import KeyInstanceSVC
from bagwise.models.markov import MarkovNetworkClassifier
from bagwise.models.meansvc import MeanSVC
from bagwise.models.mica import MICA
from bagwise.models.milboost import MILBoost
from bagwise.models.miles import MILES, MILESEmbedding
from bagwise.models.missvm import MissSVM
from bagwise.models.odm import ODM, OptimalMarginSVC
from bagwise.models.semiproximal import SemiProximalSVC
from bagwise.models.sparse_mil import SparseMIL
from bagwise.models.witness import LabelSVC, WitnessSVC
from bagwise.persistence import load, save
from bagwise.preprocessing import BagStatistics, PerInstance

__version__ = "0.2.0"

__all__ = [
    "DDSVM",
    "EMDD",
    "MICA",
    "MILES",
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
    "MissSVM",
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
    "assumptions",
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
