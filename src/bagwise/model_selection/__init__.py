"""Choosing between models and parameters: search, comparison, transductive cross-validation."""

from bagwise._removed import refuse_names
from bagwise.model_selection.audit import Audit
from bagwise.model_selection.auto import AutoBagClassifier
from bagwise.model_selection.candidates import candidates
from bagwise.model_selection.compare import compare
from bagwise.model_selection.comparison import Compared, Comparison
from bagwise.model_selection.conformal import ConformalBagClassifier, ConformalBagRegressor
from bagwise.model_selection.crossvalidate import (
    CrossValidation,
    PositiveChoice,
    choose_positive,
    cross_validate_bags,
    transductive_cv,
)
from bagwise.model_selection.gridsearch import BagGridSearchCV
from bagwise.model_selection.intervals import METRICS
from bagwise.model_selection.scaling import IMPUTES, SCALES
from bagwise.model_selection.search import Choice, grid_points, search

__all__ = [
    "IMPUTES",
    "METRICS",
    "SCALES",
    "Audit",
    "AutoBagClassifier",
    "BagGridSearchCV",
    "Choice",
    "Compared",
    "Comparison",
    "ConformalBagClassifier",
    "ConformalBagRegressor",
    "CrossValidation",
    "PositiveChoice",
    "candidates",
    "choose_positive",
    "compare",
    "cross_validate_bags",
    "grid_points",
    "search",
    "transductive_cv",
]

__getattr__ = refuse_names(__name__)
