"""Compiled sums over labelings by exponential tilting; import this module only where it runs.

Under a potential that is constant on a few ranges of counts ("pieces"), the sum over labelings is
one Poisson-binomial probability per piece: with p_i = 1 / (1 + exp(-s_i - t)),

    sum_{k in piece} e_k(exp s) = exp(sum_i log(1 + exp(s_i + t))) sum_{k in piece} P_t(k) exp(-t k)

for every t. The t that puts the mean of the count at the piece's end nearest to the mean at t = 0
(0 itself inside) makes the piece's terms the likely ones. P_t(k) is then the product of a tree of
polynomials of which each node keeps the counts within a few standard deviations of its mean: a
node of n instances has O(sqrt n) of them, so that a level costs O(m) and a piece O(m log m). All
terms are positive: nothing cancels, and what all nodes cut off is below one rounding.
"""

from __future__ import annotations

import numpy as np

from bagwise._jit import njit

_EPS = np.finfo(np.float64).eps


@njit(cache=True)
def sum_pieces(scores, offsets, bags, at, sides, begin, end, start, potential, sums, marginals):
    """Do for some bags what `bagwise.assumptions._posterior.sum_product` does.

    The j-th of these bags has the pieces ``at[j]`` to ``at[j + 1]``: as a bag of side ``sides`` it
    may have ``begin`` to ``end`` positives.
    """
    wants = marginals.shape[2] > 0
    for model in range(scores.shape[0]):
        for j in range(len(bags)):
            bag, part = bags[j], slice(at[j], at[j + 1])
            height = np.empty(at[j + 1] - at[j])
            for piece in range(len(height)):
                entry = start[bag] + begin[at[j] + piece]
                height[piece] = potential[model, sides[at[j] + piece], entry]
            rows = slice(offsets[bag], offsets[bag + 1])
            _sum_bag(
                scores[model, rows],
                (sides[part], begin[part], end[part], height),
                sums[model, :, bag],
                marginals[model, :, rows] if wants else marginals[model],
            )


@njit(cache=True)
def _sum_bag(own, pieces, log_sum, marginals):
    sides, begin, end, height = pieces
    tilts, bounds = np.empty(len(sides)), np.empty(len(sides))
    edges, free = np.empty(len(sides)), _mean(own, 0.0)
    for j in range(len(sides)):
        tilts[j], edges[j] = 0.0, 0.0
        if begin[j] > free:
            tilts[j], edges[j] = max(_tilt(own, begin[j]), 0.0), begin[j]
        elif end[j] < free:
            tilts[j], edges[j] = min(_tilt(own, end[j]), 0.0), end[j]
        # Chernoff's bound on the piece.
        bounds[j] = height[j] + _log_mass(own, tilts[j]) - tilts[j] * edges[j]
    wants = marginals.shape[1] > 0
    marginals[:] = 0.0
    log_sum[:] = -np.inf
    for j in np.argsort(-bounds):
        side = sides[j]
        if bounds[j] < log_sum[side] + np.log(_EPS / len(own)):
            continue
        levels, low, at, tree = _tree(own, tilts[j])
        root = len(low) - 1
        lowest, chance = low[root], tree[at[root] : at[root + 1]]
        outside = np.zeros(len(chance))
        for k in range(max(begin[j], lowest), min(end[j] + 1, lowest + len(chance))):
            outside[k - lowest] = np.exp(-tilts[j] * (k - edges[j]))
        mass = np.sum(chance * outside)
        of_piece = bounds[j] + np.log(mass)
        total = _log_add(log_sum[side], of_piece)
        old, share = np.exp(log_sum[side] - total), np.exp(of_piece - total)
        log_sum[side] = total
        if not wants:
            continue
        marginals[side] *= old
        leaves = _outside(levels, low, at, tree, outside)
        for i in range(len(own)):
            marginals[side, i] += share * tree[2 * i + 1] * leaves[2 * i + 1] / mass
    if wants:
        for side in range(2):
            for i in range(len(own)):
                marginals[side, i] = min(marginals[side, i], 1.0)


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
    """Return a t at which the mean number of positives is within half a count of a count."""
    wanted = min(max(count, 0.5), len(own) - 0.5)
    even = np.log(wanted / (len(own) - wanted))
    low, high = even - np.max(own), even - np.min(own)
    while True:
        tilt = 0.5 * (low + high)
        mean = _mean(own, tilt)
        if abs(mean - wanted) <= 0.5 or not low < tilt < high:
            return tilt
        if mean < wanted:
            low = tilt
        else:
            high = tilt


@njit(cache=True)
def _tree(own, tilt):
    """Return where levels begin, and every node's lowest count, its place and P_t of its counts."""
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
    below, tail = 1, np.log(n_nodes / _EPS)  # -log of the chance that a node cuts off
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
