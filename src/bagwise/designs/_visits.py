"""Compiled loops over the rows of a block; import this module only where they run."""

from __future__ import annotations

from bagwise._jit import njit
from bagwise.tolerances import DECIDED


@njit(cache=True)
def gather_positive(scores, offsets, positive, intercept, z):
    """Fill z with the scores of the instances of positive bags, with intercept."""
    k = 0
    for bag in range(len(positive)):
        if positive[bag]:
            for i in range(offsets[bag] - offsets[0], offsets[bag + 1] - offsets[0]):
                z[k] = scores[i] + intercept
                k += 1


@njit(cache=True)
def weigh(
    scores, offsets, positive, weight, intercept, p, rest_is_negative, last, lazy, beta, change
):
    """Fill the duals and the changes of curvature; return risks, sums of duals, numbers of changes.

    ``p`` is the assignment of the instances of positive bags. A curvature that changed by more than
    a share ``lazy`` replaces the last one; the change of all others is 0.
    """
    risk_up, risk_down, rises, falls = 0.0, 0.0, 0.0, 0.0
    more, less, k = 0, 0, 0
    for bag in range(len(positive)):
        for i in range(offsets[bag] - offsets[0], offsets[bag + 1] - offsets[0]):
            # 1) Weights of the two labels.
            up, down = 0.0, weight[bag]
            if positive[bag]:
                share = p[k]
                k += 1
                if share < DECIDED:
                    share = 0.0
                elif share > 1 - DECIDED:
                    share = 1.0
                up = weight[bag] * share
                down = weight[bag] * (1 - share) if rest_is_negative else 0.0
            # 2) Duals and risks.
            z = scores[i] + intercept
            above, below = max(0.0, 1 - z), max(0.0, 1 + z)
            pull, push = 2 * up * above, 2 * down * below
            beta[0, i], beta[1, i] = pull, push
            rises += pull
            falls += push
            risk_up += up * above * above
            risk_down += down * below * below
            # 3) Curvature.
            before = last[i]
            curvature = last.dtype.type(
                2 * ((up if above > 0 else 0.0) + (down if below > 0 else 0.0))
            )
            difference = curvature - before
            change[i] = 0.0
            if abs(difference) > lazy * max(curvature, before):
                change[i] = difference
                last[i] = curvature
                if difference > 0:
                    more += 1
                else:
                    less += 1
    return risk_up, risk_down, rises, falls, more, less
