"""Folds and out-of-fold scores: what estimators need for thresholds and probabilities."""

from bagwise.crossfit.folds import CV, check_enough_bags, folds
from bagwise.crossfit.scores import (
    SigmoidScale,
    bag_scores,
    best_threshold,
    fit_folds,
    fit_weighted,
    in_order,
    out_of_fold_scores,
)

__all__ = [
    "CV",
    "SigmoidScale",
    "bag_scores",
    "best_threshold",
    "check_enough_bags",
    "fit_folds",
    "fit_weighted",
    "folds",
    "in_order",
    "out_of_fold_scores",
]
