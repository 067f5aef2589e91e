"""Data sets used for comparisons, and generators with known instance labels."""

from bagwise.datasets.digits import load_digits_bags
from bagwise.datasets.fetch import catalog, fetch
from bagwise.datasets.generators import make_gaussian_bags, make_molecule_bags, make_toy2d
from bagwise.datasets.graphs import GraphBags, make_graph_bags
from bagwise.datasets.locate import CatalogEntry, DatasetNotFoundError
from bagwise.datasets.slides import make_slide_bags
from bagwise.datasets.webkb import WebKB, load_webkb

__all__ = [
    "CatalogEntry",
    "DatasetNotFoundError",
    "GraphBags",
    "WebKB",
    "catalog",
    "fetch",
    "load_digits_bags",
    "load_webkb",
    "make_gaussian_bags",
    "make_graph_bags",
    "make_molecule_bags",
    "make_slide_bags",
    "make_toy2d",
]
