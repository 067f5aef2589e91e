"""Compiled sums over labelings by exponential tilting; import this module only where it runs.

The sum over the labelings with a count in a range is one of Poisson-binomial probabilities: with
p_i = 1 / (1 + exp(-s_i - t)), and C the potential,

    sum_k e_k(exp s) exp C(k) = exp(sum_i log(1 + exp(s_i + t))) sum_k P_t(k) exp(C(k) - t k)

for every t. The t that puts the mean of the count at the range's end nearest to the mean at t = 0
(0 itself inside) makes the range's terms likely ones. P_t(k) is then the product of a tree of
polynomials of which each node keeps the counts within a few standard deviations of its mean: a
node of n instances has O(sqrt n) of them, so that a level costs O(m) and the tree O(m log m). All
terms are positive: nothing cancels, and what all nodes cut off is below one rounding of the sum.
Where the likely counts hold little of that, nodes keep more; where even all of them hold nothing
that a number can express, the range is halved.
"""

from __future__ import annotations

import numpy as np

from bagwise._jit import njit

_EPS = np.finfo(np.float64).eps
_TINY = 1e-290  # a share of the likely counts below this may have underflowed
_SPARE = 7.0  # of the logarithm of that share: what nodes cut off is some digits below a rounding


@njit(cache=True)
def sum_labelings(scores, offsets, start, potential, log_sum, marginals):
    """Fill the bags' log Z of both sides; unless empty also P(y_i = 1) of either side.

    ``potential`` (n_models, 2, entries) is C_w, a bag's part begins at ``start``.
    """
    for model in range(scores.shape[0]):
        for bag in range(len(offsets) - 1):
            first, last = offsets[bag], offsets[bag + 1]
            counts = slice(start[bag], start[bag] + last - first + 1)
            for side in range(2):
                log_sum[model, side, bag] = _sum_side(
                    scores[model, first:last],
                    potential[model, side, counts],
                    marginals[model, side, first:last],
                )


@njit(cache=True)
def _sum_side(own, height, marginals):
    marginals[:] = 0.0
    possible, log_sum = np.flatnonzero(height > -np.inf), -np.inf
    if possible[-1] == 0:
        return height[0]
    ranges, free = [(possible[0], possible[-1])], _mean(own, 0.0)
    while len(ranges) > 0:
        begin, end = ranges.pop()
        edge, base, rest = 0, 0.0, 0.0
        if begin > free or end < free:
            edge = begin if begin > free else end
            base, rest = _tilt(own, edge)
            if (rest < base) == (begin > free):  # away from the range, where that is next to free
                base, rest = 0.0, 0.0
        tilt, moved = rest - base, own - base
        top = np.max(height[begin : end + 1])
        bound = top + _log_mass(moved, rest) - tilt * edge  # Chernoff's
        if not bound > log_sum + np.log(_EPS / len(own)):
            continue
        mass, spare = 0.0, -_SPARE
        while -np.log(max(mass, _TINY)) > spare + _SPARE:
            spare = -np.log(max(mass, _TINY)) if spare >= 0 else 0.0
            levels, low, at, tree = _tree(moved, rest, spare)
            lowest, chance = low[-1], tree[at[-2] : at[-1]]
            outside = np.zeros(len(chance))
            for k in range(max(begin, lowest), min(end + 1, lowest + len(chance))):
                outside[k - lowest] = np.exp(height[k] - top - tilt * (k - edge))
            mass = np.sum(chance * outside)
        if mass < _TINY and begin < end:
            middle = (begin + end) // 2
            ranges.append((begin, middle))
            ranges.append((middle + 1, end))
            continue
        of_range = bound + np.log(mass)
        total = _log_add(log_sum, of_range)
        old, share = np.exp(log_sum - total), np.exp(of_range - total)
        log_sum = total
        if len(marginals) == 0:
            continue
        leaves = _outside(levels, low, at, tree, outside)
        for i in range(len(own)):
            found = share * tree[2 * i + 1] * leaves[2 * i + 1] / mass
            marginals[i] = min(old * marginals[i] + found, 1.0)
    return log_sum


@njit(cache=True)
def _chance(score):
    return 1.0 / (1.0 + np.exp(-score)) if score > 0.0 else np.exp(score) / (1.0 + np.exp(score))


@njit(cache=True)
def _mean(own, tilt):
    total = 0.0
    for score in own:
        total += _chance(score + tilt)
    return total


@njit(cache=True)
def _log_mass(own, tilt):
    """Return sum_i log(1 + exp(s_i + t)), with Neumaier's correction of the running sum."""
    total, lost = 0.0, 0.0
    for score in own:
        moved = score + tilt
        term = max(moved, 0.0) + np.log1p(np.exp(-abs(moved)))
        after = total + term
        lost += (total - after) + term if total >= term else (term - after) + total
        total = after
    return total + lost


@njit(cache=True)
def _log_add(one, other):
    high, low = max(one, other), min(one, other)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@njit(cache=True)
def _tilt(own, count):
    """Return a t at which the mean number of positives is less than half a count from a count.

    It is the second number minus the first one, a score: scores of 1e20 that are equal differ from
    t by less than their rounding.
    """
    base = np.sort(own)[len(own) - max(count, 1)]
    wanted = min(max(count, 0.5), len(own) - 0.5)
    even = np.log(wanted / (len(own) - wanted))
    low, high = even - (np.max(own) - base), even - (np.min(own) - base)
    while True:
        tilt = 0.5 * (low + high)
        mean = _mean(own - base, tilt)
        if abs(mean - wanted) < 0.5 or not low < tilt < high:
            return base, tilt
        if mean < wanted:
            low = tilt
        else:
            high = tilt


@njit(cache=True)
def _tree(own, tilt, spare):
    """Return where levels begin, and every node's lowest count, its place and P_t of its counts.

    The logarithm of the chance that a node cuts off is lower by ``spare``.
    """
    size = len(own)
    levels = [0, size]
    while levels[-1] - levels[-2] > 1:
        levels.append(levels[-1] + (levels[-1] - levels[-2] + 1) // 2)
    n_nodes = levels[-1]
    mean, variance = np.empty(n_nodes), np.empty(n_nodes)
    low, at = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes + 1, dtype=np.int64)
    for i in range(size):
        mean[i] = _chance(own[i] + tilt)
        variance[i] = mean[i] * _chance(-own[i] - tilt)
        at[i + 1] = 2 * (i + 1)
    below, tail = 1, np.log(n_nodes / _EPS) + spare
    for level in range(1, len(levels) - 1):
        for node in range(levels[level], levels[level + 1]):
            left = levels[level - 1] + 2 * (node - levels[level])
            mean[node], variance[node] = mean[left], variance[left]
            if left + 1 < levels[level]:
                mean[node] += mean[left + 1]
                variance[node] += variance[left + 1]
            begin = 2 * below * (node - levels[level])
            leaves = min(2 * below, size - begin)
            # Bernstein's inequality: the chance to be further than this from the mean is tiny.
            reach = tail / 3 + np.sqrt((tail / 3) ** 2 + 2 * tail * variance[node])
            low[node] = max(0, int(np.floor(mean[node] - reach)))
            high = min(leaves, int(np.ceil(mean[node] + reach)))
            at[node + 1] = at[node] + high - low[node] + 1
        below *= 2
    tree = np.zeros(at[n_nodes])
    for i in range(size):
        tree[2 * i], tree[2 * i + 1] = _chance(-own[i] - tilt), _chance(own[i] + tilt)
    for level in range(1, len(levels) - 1):
        for node in range(levels[level], levels[level + 1]):
            left = levels[level - 1] + 2 * (node - levels[level])
            out = tree[at[node] : at[node + 1]]
            if left + 1 == levels[level]:
                out[:] = tree[at[left] : at[left + 1]]
                continue
            shift = low[left] + low[left + 1] - low[node]
            _multiply(tree[at[left] : at[left + 1]], tree[at[left + 1] : at[left + 2]], shift, out)
    return levels, low, at, tree


@njit(cache=True)
def _multiply(left, right, shift, out):
    """Add left[a] right[b] to out[a + b + shift], where that exists."""
    for a in range(len(left)):
        factor, to = left[a], a + shift
        for b in range(max(0, -to), min(len(right), len(out) - to)):
            out[to + b] += factor * right[b]


@njit(cache=True)
def _outside(levels, low, at, tree, root):
    """Return, for both labels of every leaf, the sum over the other leaves' labels."""
    found = np.zeros(len(tree))
    found[at[-2] :] = root
    for level in range(len(levels) - 2, 0, -1):
        for node in range(levels[level], levels[level + 1]):
            left = levels[level - 1] + 2 * (node - levels[level])
            given = found[at[node] : at[node + 1]]
            if left + 1 == levels[level]:
                found[at[left] : at[left + 1]] = given
                continue
            shift = low[left] + low[left + 1] - low[node]
            one, two = slice(at[left], at[left + 1]), slice(at[left + 1], at[left + 2])
            _pass(given, tree[two], shift, found[one])
            _pass(given, tree[one], shift, found[two])
    return found


@njit(cache=True)
def _pass(given, sibling, shift, out):
    """Add given[a + b + shift] sibling[b] to out[a], where that exists."""
    for b in range(len(sibling)):
        factor, to = sibling[b], b + shift
        for a in range(max(0, -to), min(len(out), len(given) - to)):
            out[a] += factor * given[to + a]
