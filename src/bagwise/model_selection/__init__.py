"""Choosing between models and parameters: search, comparison, transductive cross-validation."""

from bagwise.model_selection.auto import AutoBagClassifier
from bagwise.model_selection.candidates import candidates
from bagwise.model_selection.compare import compare
from bagwise.model_selection.comparison import Compared, Comparison
from bagwise.model_selection.conformal import ConformalBagClassifier
from bagwise.model_selection.crossvalidate import (
    CrossValidation,
    PositiveChoice,
    choose_positive,
    cross_validate_bags,
    transductive_cv,
)
from bagwise.model_selection.gridsearch import BagGridSearchCV, BagRandomizedSearchCV
from bagwise.model_selection.intervals import METRICS
from bagwise.model_selection.ranking import Ranking, rank_methods
from bagwise.model_selection.scaling import IMPUTES, SCALES, scalings, with_scaler
from bagwise.model_selection.search import Choice, grid_points, search, standardizer

__all__ = [
    "IMPUTES",
    "METRICS",
    "SCALES",
    "AutoBagClassifier",
    "BagGridSearchCV",
    "BagRandomizedSearchCV",
    "Choice",
    "Compared",
    "Comparison",
    "ConformalBagClassifier",
    "CrossValidation",
    "PositiveChoice",
    "Ranking",
    "candidates",
    "choose_positive",
    "compare",
    "cross_validate_bags",
    "grid_points",
    "rank_methods",
    "scalings",
    "search",
    "standardizer",
    "transductive_cv",
    "with_scaler",
]
