"""Tolerances and limits that several solvers share, and what precision allows."""

from __future__ import annotations

import numpy as np

from bagwise.designs.base import rounding_of

ROUNDING = rounding_of(np.float64)  # relative: a smaller change of a sum is rounding
TIE = 1e-12  # relative: objectives of different problems, or shares of weight, this close are equal
TINY = float(np.finfo(np.float64).tiny)  # in place of a divisor 0

PROVEN = 1e-9  # relative gap that counts as converged: no more digits of a gap survive rounding
SINGLE = 1e-7  # relative: what entries in float32 can resolve, and more digits are not worth
COARSE = 1e-4  # relative gap of a problem that only starts another one, and the largest "converged"
FAR_OFF = 1e-3  # relative gap: rounding explains smaller ones, only other steps help with larger

INNER = 0.1  # of a tolerance: an inner problem may miss as much; of a gap: a fall by less is none
SMALL_GAIN = 1e-2  # of an objective or gap: what gains less is not worth its cost, not yet at least
SUFFICIENT = 1e-4  # of the promised decrease: Armijo's usual constant
HALVINGS = 30  # of a step: 2^-30 of it is below the rounding of the objective
MEMORY = 3  # recent objectives whose maximum bounds a step: linear tiger takes 8 steps, 11 with 1
PATIENCE = 30  # iterations until what they led to is judged: usual problems take ten
MAX_STEPS = 1000  # Newton steps, or passes as in LinearSVC: usual problems take dozens

LARGEST_DENSE = 1000  # unknowns: a least-squares solution or eigenvalues take under a second
THINNING = 5  # a factor of a fifth of the rows costs 1/125


def provable_gap(rounding: float) -> float:
    """Return the relative gap that rows with this relative rounding can prove."""
    return min(max(1e3 * rounding, PROVEN), COARSE)
