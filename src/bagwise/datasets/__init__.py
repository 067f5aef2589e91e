"""Data sets people compare on, and generators with known instance labels."""

from bagwise.datasets.digits import load_digits_bags
from bagwise.datasets.fetch import catalogue, fetch
from bagwise.datasets.locate import DatasetNotFoundError

__all__ = ["DatasetNotFoundError", "catalogue", "fetch", "load_digits_bags"]
