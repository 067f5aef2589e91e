"""Which classes a model file may hold. A new estimator is allowed as soon as it is exported.

An object is written as the name of its class and its attributes, and read by giving these to an
empty object of that class: no constructor and no other code runs.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator

from bagwise import models, preprocessing
from bagwise.cardinality import AtLeastPotential, BinnedPotential
from bagwise.crossfit import SigmoidScale
from bagwise.intersection import IntersectionMap
from bagwise.kernels import Kernel
from bagwise.models.markov import Network
from bagwise.models.markov_inputs import NetworkInputs
from bagwise.procedures.descend import Descent

__all__ = ["allowed_class", "holds_sklearn", "is_estimator", "name_of_class"]

# What estimators keep that is neither an array nor an estimator.
_PARTS: tuple[type, ...] = (
    AtLeastPotential,
    BinnedPotential,
    Descent,
    IntersectionMap,
    Kernel,
    Network,
    NetworkInputs,
    SigmoidScale,
)
_SKLEARN = {
    "sklearn.decomposition": ("IncrementalPCA", "PCA", "TruncatedSVD"),
    "sklearn.feature_selection": ("VarianceThreshold",),
    "sklearn.impute": ("SimpleImputer",),
    "sklearn.kernel_approximation": ("Nystroem", "PolynomialCountSketch", "RBFSampler"),
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
    "sklearn.tree": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
}
_MODULES = {name: module for module, names in _SKLEARN.items() for name in names}


def holds_sklearn(state: str) -> bool:
    """Tell whether the text of a state names classes of scikit-learn."""
    return any(f'"$object": "{name}"' in state for name in _MODULES)


@cache
def _ours() -> dict[str, type]:
    public = [
        getattr(module, name) for module in (models, preprocessing) for name in module.__all__
    ]
    estimators = [kind for kind in public if isinstance(kind, type)]
    return {kind.__name__: kind for kind in (*estimators, *_PARTS)}


def allowed_class(name: str) -> type[Any] | None:
    """Return the class that goes by a name in model files, None where there is none."""
    if name in _ours():
        return _ours()[name]
    return getattr(import_module(_MODULES[name]), name) if name in _MODULES else None


def name_of_class(kind: type) -> str | None:
    """Return the name under which a class is written, None where it is not allowed."""
    return kind.__name__ if allowed_class(kind.__name__) is kind else None


def is_estimator(kind: type) -> bool:
    """Tell whether a class has parameters in scikit-learn's sense."""
    return issubclass(kind, BaseEstimator)
