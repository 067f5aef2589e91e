"""Figures. matplotlib is imported when one is drawn, never before."""

from bagwise.plot.images import image_bags

__all__ = ["image_bags"]
