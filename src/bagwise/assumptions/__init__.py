"""What makes a bag positive: rules and potentials on the *number* of positive instances in it.

`hard` rules give each instance a label, `soft` ones a probability at a temperature, and count
potentials (`count`) score every possible number of positives; `inference` finds the best labeling
under a potential and sums over all of them.
"""

from bagwise.assumptions.count import (
    AtLeastPotential,
    BinnedPotential,
    CountPotential,
    as_potential,
)
from bagwise.assumptions.inference import (
    BestLabelings,
    CountInference,
    CountPosterior,
    Posteriors,
)
from bagwise.assumptions.rules import (
    NO_FACTS,
    Assumption,
    AtLeastFraction,
    AtLeastOne,
    ExactCounts,
    ExactlyOne,
    Facts,
    HighestScore,
    Rule,
    TopMean,
)
from bagwise.assumptions.soft import Softening, SoftLabels, SoftWitness
from bagwise.bags.segments import Segments

__all__ = [
    "NO_FACTS",
    "Assumption",
    "AtLeastFraction",
    "AtLeastOne",
    "AtLeastPotential",
    "BestLabelings",
    "BinnedPotential",
    "CountInference",
    "CountPosterior",
    "CountPotential",
    "ExactCounts",
    "ExactlyOne",
    "Facts",
    "HighestScore",
    "Posteriors",
    "Rule",
    "Segments",
    "SoftLabels",
    "SoftWitness",
    "Softening",
    "TopMean",
    "as_potential",
]
