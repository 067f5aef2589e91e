"""Figures. matplotlib is imported when one is drawn, never before.

A class named ``...Display`` draws one kind of figure from a fitted model and bags with
``from_estimator``, on axes of the user's or a new figure, and keeps the numbers it draws.
"""

from bagwise._removed import refuse_names
from bagwise.plot.comparison import compared_models, compared_times
from bagwise.plot.curves import CalibrationDisplay, PrecisionRecallDisplay, RocDisplay
from bagwise.plot.heatmap import heatmap
from bagwise.plot.models import (
    BagSizeDisplay,
    ImportanceDisplay,
    InstanceScoreDisplay,
    annealing_path,
)
from bagwise.plot.pictures import image_bags, slide_tiles

__all__ = [
    "BagSizeDisplay",
    "CalibrationDisplay",
    "ImportanceDisplay",
    "InstanceScoreDisplay",
    "PrecisionRecallDisplay",
    "RocDisplay",
    "annealing_path",
    "compared_models",
    "compared_times",
    "heatmap",
    "image_bags",
    "slide_tiles",
]

__getattr__ = refuse_names(__name__)
