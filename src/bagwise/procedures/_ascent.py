"""Compiled coordinate ascent over key instances; import this module only where it runs."""

from __future__ import annotations

from bagwise._jit import njit
from bagwise.tolerances import TIE


@njit(cache=True)
def ascend(K, pull, amount, first, last, mates, chosen, scores, max_sweeps):
    """Increase |w|^2 by changing one key instance at a time until no change helps.

    w = w_N + sum_s amount_s psi(chosen_s), kernel K, pull = w_N.psi of every instance. Slot s
    takes an instance first_s <= j < last_s that no other slot mates_s0 <= t < mates_s1 of its bag
    has taken. ``chosen`` and ``scores`` (w.psi of every instance) are changed in place.
    """
    for j in range(len(pull)):
        scores[j] = pull[j]
    for s in range(len(chosen)):
        for j in range(len(pull)):
            scores[j] += amount[s] * K[chosen[s], j]
    for _ in range(max_sweeps):
        changes = 0
        for s in range(len(chosen)):
            best = _best_for(K, amount[s], first[s], last[s], mates[s], chosen, scores, s)
            if best != chosen[s]:
                for j in range(len(pull)):
                    scores[j] += amount[s] * (K[best, j] - K[chosen[s], j])
                chosen[s] = best
                changes += 1
        if changes == 0:
            break


@njit(cache=True)
def _best_for(K, amount, first, last, mates, chosen, scores, slot):
    now = chosen[slot]
    best, best_rise = now, 0.0
    size = abs(amount * scores[now]) + amount * amount * K[now, now]
    for j in range(first, last):
        taken = False
        for t in range(mates[0], mates[1]):
            taken = taken or chosen[t] == j
        if taken:
            continue
        distance = K[j, j] + K[now, now] - 2.0 * K[now, j]
        rise = 2.0 * amount * (scores[j] - scores[now]) + amount * amount * distance
        if rise > best_rise + TIE * size:
            best, best_rise = j, rise
    return best
