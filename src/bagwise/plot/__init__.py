"""Figures. matplotlib is imported when one is drawn, never before."""

from bagwise.plot.cardinality import cardinality_weights
from bagwise.plot.images import image_bags

__all__ = ["cardinality_weights", "image_bags"]
