"""The classes that a model file may contain: every estimator of the catalog, and their parts.

An object is written as the name of its class and its attributes. It is read by assigning these to
an empty object of that class: no constructor and no other code runs.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from bagwise import preprocessing
from bagwise.assumptions import AtLeastPotential, BinnedPotential
from bagwise.catalog import ENTRIES
from bagwise.estimators.pipeline import BagPipeline
from bagwise.kernels import Kernel
from bagwise.kernels.intersection import IntersectionMap
from bagwise.models.markov.inputs import NetworkInputs
from bagwise.models.markov.trained import Network
from bagwise.models.miles import MILESEmbedding
from bagwise.procedures import Run
from bagwise.solvers import Solution

# Attributes of estimators that are neither arrays nor estimators.
_PARTS: tuple[type, ...] = (
    AtLeastPotential,
    BagPipeline,
    BinnedPotential,
    IntersectionMap,
    Kernel,
    MILESEmbedding,
    Network,
    NetworkInputs,
    Run,
    Solution,
)
_SKLEARN = {
    "sklearn.decomposition": ("IncrementalPCA", "PCA", "TruncatedSVD"),
    "sklearn.dummy": ("DummyClassifier",),
    "sklearn.ensemble": ("ExtraTreesClassifier", "GradientBoostingClassifier"),
    "sklearn.feature_selection": ("VarianceThreshold",),
    "sklearn.impute": ("SimpleImputer",),
    "sklearn.kernel_approximation": ("Nystroem", "PolynomialCountSketch", "RBFSampler"),
    "sklearn.linear_model": ("LogisticRegression",),
    "sklearn.pipeline": ("Pipeline",),
    "sklearn.preprocessing": (
        "Binarizer",
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "PolynomialFeatures",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    ),
    "sklearn.svm": ("SVC",),
    "sklearn.tree": ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier"),
}
_MODULES = {name: module for module, names in _SKLEARN.items() for name in names}


def holds_sklearn(state: str) -> bool:
    """Return whether the text of a state names classes of scikit-learn."""
    return any(f'"$object": "{name}"' in state for name in _MODULES)


@cache
def _ours() -> dict[str, type]:
    steps = [getattr(preprocessing, name) for name in preprocessing.__all__]
    classifiers = [entry.estimator for entry in ENTRIES]
    groups = [kind for owner in classifiers for kind in owner._groups.values()]
    kinds = [kind for kind in (*classifiers, *steps, *groups, *_PARTS) if isinstance(kind, type)]
    return {kind.__name__: kind for kind in kinds}


def allowed_class(name: str) -> type[Any] | None:
    """Return the class with a given name in model files, None if there is none."""
    if name in _ours():
        return _ours()[name]
    return getattr(import_module(_MODULES[name]), name) if name in _MODULES else None


def name_of_class(kind: type) -> str | None:
    """Return the name under which a class is written, None if it is not allowed."""
    return kind.__name__ if allowed_class(kind.__name__) is kind else None
