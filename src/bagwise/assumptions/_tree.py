"""Compiled inference over (instance, label, count) on trees; import this only where it runs.

A bag's instances are a forest: ``parents`` holds positions within the bag, -1 for roots. A labeling
scores the sum of its positives' scores, minus ``cost`` for every instance whose label is not its
parent's, plus a potential on the count, which is constant from ``cap`` on.

Every bag is worked off by a plan of steps, children first. A step is an instance with all below it,
or a join of two steps that hang on one parent. Its table has a row per label of that parent, and a
column per number of positives among its instances, the last one "cap or more": the best sum of
their labelings, or the logarithm of the sum over them. Children are joined in pairs, so that the
tables of a star take O(m log m) numbers; those of a path take m^2.
"""

from __future__ import annotations

import numpy as np

from bagwise._jit import njit
from bagwise.assumptions._posterior import joined, log_sum_exp, passed

NONE = -1  # no instance (a join), no step (nothing below, or no second one)


@njit(cache=True)
def plans(parents, offsets):
    """Return where each bag's plan starts, and instance, two steps below and size of every step."""
    start = np.zeros(len(offsets), dtype=np.int64)
    steps = np.empty((4, 2 * len(parents)), dtype=np.int64)
    for bag in range(len(offsets) - 1):
        up = parents[offsets[bag] : offsets[bag + 1]]
        used = _plan(up, steps[:, start[bag] :])
        start[bag + 1] = start[bag] + used
    return start, steps[:, : start[-1]].copy()


@njit(cache=True)
def _plan(up, steps):
    """Fill the plan of one bag; return its number of steps. The last one is the whole bag."""
    m = len(up)
    first, after = np.full(m + 1, -1), np.full(m, -1)  # children as linked lists; m is above roots
    for i in range(m - 1, -1, -1):
        above = up[i] if up[i] >= 0 else m
        after[i], first[above] = first[above], i
    queue = np.empty(m + 1, dtype=np.int64)
    step_of, waiting = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    queue[0], n_queued = m, 1
    for at in range(m + 1):  # parents before children
        child = first[queue[at]]
        while child >= 0:
            queue[n_queued] = child
            n_queued, child = n_queued + 1, after[child]
    used = 0
    for at in range(m, -1, -1):
        n_waiting, child = 0, first[queue[at]]
        while child >= 0:
            waiting[n_waiting] = step_of[child]
            n_waiting, child = n_waiting + 1, after[child]
        while n_waiting > 1:
            for pair in range(n_waiting // 2):
                left, right = waiting[2 * pair], waiting[2 * pair + 1]
                steps[0, used], steps[1, used], steps[2, used] = NONE, left, right
                steps[3, used] = steps[3, left] + steps[3, right]
                waiting[pair], used = used, used + 1
            if n_waiting % 2:
                waiting[n_waiting // 2] = waiting[n_waiting - 1]
            n_waiting = (n_waiting + 1) // 2
        if at > 0:
            below = waiting[0] if n_waiting else NONE
            steps[0, used], steps[1, used], steps[2, used] = queue[at], below, NONE
            steps[3, used] = 1 + (steps[3, below] if n_waiting else 0)
            step_of[queue[at]], used = used, used + 1
    return used


@njit(cache=True)
def best_trees(scores, offsets, cost, caps, start, potential, up, at, steps, value, count, labels):
    """Fill values and counts of the best labelings; unless empty also their labels."""
    for model in range(scores.shape[0]):
        for bag in range(len(offsets) - 1):
            rows = slice(offsets[bag], offsets[bag + 1])
            plan, cap = steps[:, at[bag] : at[bag + 1]], caps[bag]
            tree = scores[model, rows], up[rows], cost, cap
            base, tables = _tables(tree, plan, False)
            whole = tables[0, base[-2] :]
            for side in range(2):
                totals = whole + potential[model, side, start[bag] : start[bag] + len(whole)]
                k = np.argmax(totals)
                value[model, side, bag], count[model, side, bag] = totals[k], k
                if labels.shape[2] > 0:
                    _trace(tree, plan, base, tables, k, labels[model, side, rows])


@njit(cache=True)
def _tables(tree, plan, soft):
    """Return where the tables of the steps begin, and the tables side by side."""
    own, up, cost, cap = tree
    base = np.zeros(plan.shape[1] + 1, dtype=np.int64)
    for step in range(plan.shape[1]):
        base[step + 1] = base[step] + min(plan[3, step], cap) + 1
    tables, leaf = np.empty((2, base[-1])), np.zeros((2, 1))
    for step in range(plan.shape[1]):
        i, left, right, _ = plan[:, step]
        out = tables[:, base[step] : base[step + 1]]
        below = leaf if left == NONE else tables[:, base[left] : base[left + 1]]
        if i != NONE:
            _add_instance(below, own[i], cost if up[i] >= 0 else 0.0, cap, soft, out)
            continue
        for row in range(2):
            other = tables[row, base[right] : base[right + 1]]
            if soft:
                joined(below[row], other, out[row])
            else:
                _best_joined(below[row], other, out[row])
    return base, tables


@njit(cache=True)
def _add_instance(below, score, cost, cap, soft, out):
    """Fill the table of an instance from that of all below it, whose rows are its own labels."""
    for row in range(2):
        to_zero, to_one = (cost, 0.0) if row else (0.0, cost)
        for k in range(out.shape[1]):
            zero = below[0, k] - to_zero if k < below.shape[1] else -np.inf
            one = below[1, k - 1] if k else -np.inf
            if k == cap and k < below.shape[1]:
                one = np.logaddexp(one, below[1, k]) if soft else max(one, below[1, k])
            one += score - to_one
            out[row, k] = np.logaddexp(zero, one) if soft else max(zero, one)


@njit(cache=True)
def _best_joined(left, right, out):
    last = len(out) - 1
    out[:] = -np.inf
    for a in range(len(left)):
        for b in range(len(right)):
            k = min(a + b, last)
            out[k] = max(out[k], left[a] + right[b])


@njit(cache=True)
def _trace(tree, plan, base, tables, k, labels):
    """Fill the labels behind count k of the whole bag, from the roots down."""
    own, up, cost, cap = tree
    n_steps = plan.shape[1]
    row, count = np.zeros(n_steps, dtype=np.int64), np.zeros(n_steps, dtype=np.int64)
    count[-1] = k
    for step in range(n_steps - 1, -1, -1):
        i, left, right, _ = plan[:, step]
        k, above = count[step], row[step]
        if i == NONE:
            row[left], row[right] = above, above
            one = tables[above, base[left] : base[left + 1]]
            other = tables[above, base[right] : base[right + 1]]
            count[left], count[right] = _parted(one, other, k, min(plan[3, step], cap))
            continue
        edge, best, source = cost if up[i] >= 0 else 0.0, -np.inf, 0
        for label in range(2):
            last = k + 1 if label == 0 or k == cap else k
            for below in range(max(k - label, 0), min(last, min(plan[3, step] - 1, cap) + 1)):
                total = own[i] * label - (edge if label != above else 0.0)
                total += 0.0 if left == NONE else tables[label, base[left] + below]
                if total > best:
                    best, source, labels[i] = total, below, label
        if left != NONE:
            row[left], count[left] = labels[i], source


@njit(cache=True)
def _parted(left, right, k, last):
    """Return the counts of two tables that are best together, k in all (the last is "or more")."""
    best, one, other = -np.inf, 0, 0
    for a in range(min(k + 1, len(left))):
        for b in range(k - a, len(right) if k == last else min(k - a + 1, len(right))):
            if left[a] + right[b] > best:
                best, one, other = left[a] + right[b], a, b
    return one, other


@njit(cache=True)
def sum_trees(
    scores, offsets, cost, caps, start, states, potential, up, at, steps, log_sum, marginals, counts
):
    """Do for trees what `bagwise.assumptions._posterior.sum_product` does for unordered bags."""
    for model in range(scores.shape[0]):
        for bag in range(len(offsets) - 1):
            rows, plan = slice(offsets[bag], offsets[bag + 1]), steps[:, at[bag] : at[bag + 1]]
            tree = scores[model, rows], up[rows], cost, caps[bag]
            base, tables = _tables(tree, plan, True)
            whole = tables[0, base[-2] :]
            for side in range(2):
                prior = potential[model, side, start[bag] : start[bag] + len(whole)]
                total = log_sum_exp(whole + prior)
                log_sum[model, side, bag] = total
                if counts.shape[2] > 0:
                    of_bag = counts[model, side, states[bag] : states[bag + 1]]
                    of_bag[:] = np.exp(whole + prior - total)
                    _marginals(tree, plan, base, tables, prior, total, marginals[model, side, rows])


@njit(cache=True)
def _marginals(tree, plan, base, tables, prior, total, out):
    """Fill P(y_i = 1), from the roots down."""
    own, up, cost, cap = tree
    outside, leaf = np.full(tables.shape, -np.inf), np.zeros((2, 1))  # of all other instances
    outside[0, base[-2] :] = prior
    for step in range(plan.shape[1] - 1, -1, -1):
        i, left, right, _ = plan[:, step]
        given = outside[:, base[step] : base[step + 1]]
        below = leaf if left == NONE else tables[:, base[left] : base[left + 1]]
        if i == NONE:
            second = slice(base[right], base[right + 1])
            for row in range(2):
                passed(given[row], tables[row, second], outside[row, base[left] : base[left + 1]])
                passed(given[row], below[row], outside[row, second])
            continue
        edge = cost if up[i] >= 0 else 0.0
        zero, one = np.empty(below.shape[1]), np.empty(below.shape[1])
        for k in range(len(zero)):
            to = min(k + 1, cap)
            zero[k] = np.logaddexp(given[0, k], given[1, k] - edge)
            one[k] = np.logaddexp(given[0, to] - edge, given[1, to]) + own[i]
        out[i] = min(np.exp(log_sum_exp(one + below[1]) - total), 1.0)
        if left != NONE:
            outside[0, base[left] : base[left + 1]] = zero
            outside[1, base[left] : base[left + 1]] = one
