"""Folds and out-of-fold scores: what estimators need for thresholds and probabilities."""

from bagwise.crossfit.folds import CV, check_enough_bags, folds, hold_out_part
from bagwise.crossfit.scores import (
    bag_scores,
    below_chance,
    best_threshold,
    choose_thresholds,
    decides_badly,
    decision_rates,
    fit_folds,
    fit_sigmoids,
    fit_weighted,
    in_order,
    lowest_by_chance,
    out_of_fold_scores,
    settle_sigmoids,
    sigmoid_probabilities,
    warn_if_below_chance,
)

__all__ = [
    "CV",
    "bag_scores",
    "below_chance",
    "best_threshold",
    "check_enough_bags",
    "choose_thresholds",
    "decides_badly",
    "decision_rates",
    "fit_folds",
    "fit_sigmoids",
    "fit_weighted",
    "folds",
    "hold_out_part",
    "in_order",
    "lowest_by_chance",
    "out_of_fold_scores",
    "settle_sigmoids",
    "sigmoid_probabilities",
    "warn_if_below_chance",
]
