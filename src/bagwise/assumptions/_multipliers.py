"""`bagwise.assumptions.soft._find_root` as a compiled loop over the bags of NumPy's vectors.

The numbers are the same up to rounding. A bag ends at its own root, and does not wait for others.
"""

from __future__ import annotations

import math

import numpy as np

from bagwise._jit import njit
from bagwise.assumptions.soft import SQUARED
from bagwise.tolerances import INNER, MAX_STEPS, ROUNDING


@njit(cache=True)
def find_multipliers(cost, starts, sizes, targets, pull, temperature, start):
    """Return mu with mu + pull (sum_j sigma((mu - cost_j) / T) - target) = 0 of every bag."""
    found = np.empty(len(sizes))
    for bag in range(len(sizes)):
        rows, target, at = cost[starts[bag] : starts[bag] + sizes[bag]], targets[bag], start[bag]
        low, high = pull * (target - len(rows)), pull * target
        moved = high - low
        for _ in range(MAX_STEPS):
            total, spread = 0.0, 0.0
            for each in rows:
                x = (at - each) / temperature
                e = math.exp(-abs(x))
                p = (1.0 if x > 0 else e) / (1 + e)
                total += p
                spread += p * (1 - p)
            value = at + pull * (total - target)
            if value > 0:
                low, high = max(low, at - value), at
            else:
                low, high = at, min(high, at - value)
            step = at - value / (1 + pull * spread / temperature)
            unit, length = max(abs(at), 1.0), abs(step - at)
            newton = length <= SQUARED * unit or (low < step < high and length < 0.5 * moved)
            step = step if newton else 0.5 * (low + high)
            moved, at = abs(step - at), step
            if moved <= (SQUARED if newton else INNER * ROUNDING) * unit:
                break
        found[bag] = at
    return found
