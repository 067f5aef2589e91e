"""Compiled sums over all labelings; import this module only where it runs (it loads numba).

A bag's instances are the leaves of a binary tree. Every node holds the logarithms of the sums, over
the labelings of its instances with k positives, of exp(sum of the positives' scores), k = 0..cap;
the last state is "cap or more". All terms are positive and in logarithms, so nothing cancels and
nothing overflows.
"""

from __future__ import annotations

import numpy as np

from bagwise._jit import njit


@njit(cache=True)
def sum_product(scores, offsets, bags, caps, start, potential, log_sum, marginals):
    """Fill some bags' log Z of both sides; unless empty also P(y_i = 1) of either side.

    ``potential`` (n_models, 2, entries) is C_w, a bag's part begins at ``start``.
    """
    for model in range(scores.shape[0]):
        for bag in bags:
            own = scores[model, offsets[bag] : offsets[bag + 1]]
            tree, base = _tree(own, caps[bag])
            root = tree[base[len(base) - 1] :]
            width = min(len(own), caps[bag]) + 1
            for side in range(2):
                prior = potential[model, side, start[bag] : start[bag] + width]
                total = log_sum_exp(prior + root[:width])
                log_sum[model, side, bag] = total
                if marginals.shape[2] == 0:
                    continue
                outside = _outside(tree, base, len(own), caps[bag], prior)
                for i in range(len(own)):
                    exponent = own[i] + outside[2 * i + 1] - total
                    marginals[model, side, offsets[bag] + i] = min(np.exp(exponent), 1.0)


@njit(cache=True)
def log_sum_exp(terms):
    """Return the logarithm of the sum of exponentials, -inf if all terms are."""
    top = np.max(terms)
    return top if top == -np.inf else top + np.log(np.sum(np.exp(terms - top)))


@njit(cache=True)
def _tree(own, cap):
    """Return the sums of all nodes, level by level from the leaves, and where levels begin."""
    base, nodes, size, total = [0], len(own), 1, 2 * len(own)
    while nodes > 1:
        base.append(total)
        nodes, size = (nodes + 1) // 2, 2 * size
        total += nodes * (min(size, cap) + 1)
    tree = np.empty(total)
    for i in range(len(own)):
        tree[2 * i], tree[2 * i + 1] = 0.0, own[i]
    half = 1
    for level in range(1, len(base)):
        stride, below = min(2 * half, cap) + 1, min(half, cap) + 1
        for node in range((len(own) + 2 * half - 1) // (2 * half)):
            middle, end = (2 * node + 1) * half, min((2 * node + 2) * half, len(own))
            first = base[level - 1] + 2 * node * below
            out = base[level] + node * stride
            if middle >= end:  # no right child
                tree[out : out + below] = tree[first : first + below]
                continue
            left = tree[first : first + below]
            right = tree[first + below : first + below + min(end - middle, cap) + 1]
            width = min(end - 2 * node * half, cap) + 1
            join(left, right, tree[out : out + width])
        half *= 2
    return tree, base


@njit(cache=True)
def join(left, right, out):
    """Sum over both children: out[min(a + b, cap)] collects left[a] + right[b]."""
    last = len(out) - 1
    top = np.full(len(out), -np.inf)
    for a in range(len(left)):
        for b in range(len(right)):
            k = min(a + b, last)
            top[k] = max(top[k], left[a] + right[b])
    out[:] = 0.0
    for a in range(len(left)):
        for b in range(len(right)):
            k = min(a + b, last)
            out[k] += np.exp(left[a] + right[b] - top[k])
    for k in range(len(out)):
        out[k] = top[k] + np.log(out[k])


@njit(cache=True)
def _outside(tree, base, size, cap, prior):
    """Return, for either label of every leaf, the log of the sum over all other leaves' labels."""
    above = np.full(len(prior), -np.inf)
    above[:] = prior
    half = 1
    for _ in range(len(base) - 2):
        half *= 2
    for level in range(len(base) - 1, 0, -1):
        stride, below = min(2 * half, cap) + 1, min(half, cap) + 1
        lower = np.full(((size + half - 1) // half) * below, -np.inf)
        for node in range((size + 2 * half - 1) // (2 * half)):
            middle, end = (2 * node + 1) * half, min((2 * node + 2) * half, size)
            width = min(end - 2 * node * half, cap) + 1
            given = above[node * stride : node * stride + width]
            first = 2 * node * below
            if middle >= end:
                lower[first : first + width] = given
                continue
            left = tree[base[level - 1] + first : base[level - 1] + first + below]
            n_right = min(end - middle, cap) + 1
            at = base[level - 1] + first + below
            right = tree[at : at + n_right]
            pass_down(given, right, lower[first : first + below])
            pass_down(given, left, lower[first + below : first + below + n_right])
        above, half = lower, half // 2
    return above


@njit(cache=True)
def pass_down(given, other, out):
    """Pass what is outside a node to a child: its sibling joins what is outside."""
    last = len(given) - 1
    for a in range(len(out)):
        top = -np.inf
        for b in range(len(other)):
            top = max(top, given[min(a + b, last)] + other[b])
        if top == -np.inf:
            out[a] = top
            continue
        total = 0.0
        for b in range(len(other)):
            total += np.exp(given[min(a + b, last)] + other[b] - top)
        out[a] = top + np.log(total)
