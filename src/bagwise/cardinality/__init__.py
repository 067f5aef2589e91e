"""Count potentials and exact inference of the labels of a bag's instances under them.

Gupta, Diwan & Sarawagi (2007): when the potential of a labeling depends on the *number* of
positive instances alone, the best labeling takes the highest scores, so that sorting and running
sums find the maximum over all 2^m labelings.
"""

from bagwise.cardinality.inference import BestLabelings, CountInference
from bagwise.cardinality.potentials import (
    AtLeastPotential,
    BinnedPotential,
    CountPotential,
    as_potential,
)

__all__ = [
    "AtLeastPotential",
    "BestLabelings",
    "BinnedPotential",
    "CountInference",
    "CountPotential",
    "as_potential",
]
