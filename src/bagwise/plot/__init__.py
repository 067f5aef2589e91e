"""Figures, one function each. matplotlib is imported when one is drawn, never before.

What is drawn of a fitted model and bags takes axes of the user's, or makes a new figure.
"""

from bagwise._removed import refuse_names
from bagwise.plot.comparison import compared_models, compared_times
from bagwise.plot.curves import precision_recall, roc
from bagwise.plot.heatmap import heatmap
from bagwise.plot.models import annealing_path, importance, score_by_size, score_histogram
from bagwise.plot.pictures import image_bags, slide_tiles

__all__ = [
    "annealing_path",
    "compared_models",
    "compared_times",
    "heatmap",
    "image_bags",
    "importance",
    "precision_recall",
    "roc",
    "score_by_size",
    "score_histogram",
    "slide_tiles",
]

__getattr__ = refuse_names(__name__)
