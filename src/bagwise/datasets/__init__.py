"""Data sets people compare on, and generators with known instance labels."""

from bagwise.datasets.digits import load_digits_bags

__all__ = ["load_digits_bags"]
