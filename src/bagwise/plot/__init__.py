"""Figures. matplotlib is imported when one is drawn, never before.

A class named ``...Display`` draws one kind of figure from a fitted model and bags with
``from_estimator``, on axes of the user's or a new figure, and keeps the numbers it draws.
"""

from bagwise.plot.annealing import annealing_path
from bagwise.plot.cardinality import cardinality_weights
from bagwise.plot.comparison import compared_models, compared_times
from bagwise.plot.critical_difference import critical_difference
from bagwise.plot.curves import CalibrationDisplay, PrecisionRecallDisplay, RocDisplay
from bagwise.plot.features import ContributionDisplay, ImportanceDisplay
from bagwise.plot.heatmap import heatmap
from bagwise.plot.images import image_bags
from bagwise.plot.instances import TopInstancesDisplay
from bagwise.plot.learning import LearningCurveDisplay
from bagwise.plot.margins import margin_distribution
from bagwise.plot.scores import BagSizeDisplay, InstanceScoreDisplay, ScoreStripDisplay
from bagwise.plot.tiles import slide_tiles

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
