"""Instances as row operators: dense, sparse, or given by their kernel matrix."""

from bagwise.designs.augmented import augmented_design
from bagwise.designs.base import Design, Point
from bagwise.designs.conditioned import conditioned_design
from bagwise.designs.gram import Gram, kernel_design
from bagwise.designs.iterative import Iterative
from bagwise.designs.linear import Dense, LinearDesign, matrix_design
from bagwise.designs.nystroem import Nystroem, Pairs, nystroem_design
from bagwise.designs.sparse import Sparse

__all__ = [
    "Dense",
    "Design",
    "Gram",
    "Iterative",
    "LinearDesign",
    "Nystroem",
    "Pairs",
    "Point",
    "Sparse",
    "augmented_design",
    "conditioned_design",
    "kernel_design",
    "matrix_design",
    "nystroem_design",
]
