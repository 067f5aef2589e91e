"""Estimators: one paper (family), one file."""

from bagwise.models.annealed import (
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
)
from bagwise.models.annealed_cv import AnnealedProportionSVCCV, annealed_path
from bagwise.models.bagkernel import BagKernelSVC
from bagwise.models.citation import CitationKNN
from bagwise.models.ddsvm import DDSVM
from bagwise.models.diverse_density import EMDD, DiverseDensity
from bagwise.models.ensemble import BagEnsemble
from bagwise.models.graph import GraphSVC
from bagwise.models.graph_cv import GraphSVCCV
from bagwise.models.instance import InstanceSVC
from bagwise.models.keyinstance import KeyInstanceSVC
from bagwise.models.markov import MarkovNetworkClassifier
from bagwise.models.meansvc import MeanSVC
from bagwise.models.mica import MICA
from bagwise.models.milboost import MILBoost
from bagwise.models.miles import MILES, MILESEmbedding
from bagwise.models.missvm import MISSVM
from bagwise.models.odm import ODM, OptimalMarginSVC
from bagwise.models.semiproximal import SemiProximalSVC
from bagwise.models.sparse_mil import SparseMIL
from bagwise.models.witness import LabelSVC, WitnessSVC

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
    "CitationKNN",
    "DiverseDensity",
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
    "SemiProximalSVC",
    "SparseMIL",
    "WitnessSVC",
    "annealed_path",
]
