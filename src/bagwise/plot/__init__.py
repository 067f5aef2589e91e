"""Figures. matplotlib is imported when one is drawn, never before.

A class named ``...Display`` draws one kind of figure from a fitted model and bags with
``from_estimator``, on axes of the user's or a new figure, and keeps the numbers it draws.
"""

from bagwise.plot.comparison import compared_models, compared_times, critical_difference
from bagwise.plot.curves import (
    CalibrationDisplay,
    LearningCurveDisplay,
    PrecisionRecallDisplay,
    RocDisplay,
)
from bagwise.plot.features import ContributionDisplay, ImportanceDisplay
from bagwise.plot.heatmap import heatmap
from bagwise.plot.images import image_bags
from bagwise.plot.pictures import TopInstancesDisplay, slide_tiles
from bagwise.plot.scores import BagSizeDisplay, InstanceScoreDisplay, ScoreStripDisplay
from bagwise.plot.training import annealing_path, cardinality_weights, margin_distribution

__all__ = [
    "BagSizeDisplay",
    "CalibrationDisplay",
    "ContributionDisplay",
    "ImportanceDisplay",
    "InstanceScoreDisplay",
    "LearningCurveDisplay",
    "PrecisionRecallDisplay",
    "RocDisplay",
    "ScoreStripDisplay",
    "TopInstancesDisplay",
    "annealing_path",
    "cardinality_weights",
    "compared_models",
    "compared_times",
    "critical_difference",
    "heatmap",
    "image_bags",
    "margin_distribution",
    "slide_tiles",
]
