"""Folds and out-of-fold scores: what estimators need for thresholds and probabilities."""

from bagwise.crossfit.folds import CV, check_enough_bags, folds
from bagwise.crossfit.scores import (
    bag_scores,
    best_threshold,
    fit_folds,
    fit_sigmoids,
    fit_weighted,
    in_order,
    out_of_fold_scores,
    sigmoid_probabilities,
)

__all__ = [
    "CV",
    "bag_scores",
    "best_threshold",
    "check_enough_bags",
    "fit_folds",
    "fit_sigmoids",
    "fit_weighted",
    "folds",
    "in_order",
    "out_of_fold_scores",
    "sigmoid_probabilities",
]
