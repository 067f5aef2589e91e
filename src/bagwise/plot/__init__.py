"""Figures. matplotlib is imported when one is drawn, never before."""

from bagwise.plot.annealing import annealing_path
from bagwise.plot.cardinality import cardinality_weights
from bagwise.plot.critical_difference import critical_difference
from bagwise.plot.images import image_bags
from bagwise.plot.margins import margin_distribution

__all__ = [
    "annealing_path",
    "cardinality_weights",
    "critical_difference",
    "image_bags",
    "margin_distribution",
]
