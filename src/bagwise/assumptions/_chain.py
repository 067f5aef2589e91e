"""Compiled inference over (position, label, count); import this module only where it runs.

A labeling of a bag scores the sum of its positives' scores, minus ``cost`` for every change of
label from one instance to the next, plus a potential on the count, which is constant from ``cap``
on: the last count state is "cap or more". Row l of a table of states belongs to label l.
"""

from __future__ import annotations

import numpy as np

from bagwise._jit import njit
from bagwise.assumptions._posterior import log_sum_exp


@njit(cache=True)
def best_chains(scores, offsets, cost, caps, start, potential, value, count, labels):
    """Fill values and counts of the best labelings; unless empty also their labels."""
    for model in range(scores.shape[0]):
        for bag in range(len(offsets) - 1):
            own = scores[model, offsets[bag] : offsets[bag + 1]]
            states, came = _best_states(own, cost, caps[bag], labels.shape[2] > 0)
            for side in range(2):
                prior = potential[model, side, start[bag] : start[bag] + states.shape[1]]
                best, label, k = -np.inf, 0, 0
                for last in range(2):
                    for states_k in range(states.shape[1]):
                        total = states[last, states_k] + prior[states_k]
                        if total > best:
                            best, label, k = total, last, states_k
                value[model, side, bag], count[model, side, bag] = best, k
                if labels.shape[2] > 0:
                    _trace(came, label, k, labels[model, side, offsets[bag] : offsets[bag + 1]])


@njit(cache=True)
def _best_states(own, cost, cap, traced):
    """Return the best sum of every last label and count, and the states that each came from."""
    width = min(len(own), cap) + 1
    states, after = np.full((2, width), -np.inf), np.full((2, width), -np.inf)
    came = np.zeros((len(own) if traced else 0, 2, width), dtype=np.uint8)  # label + 2 (same count)
    states[0, 0], states[1, 1] = 0.0, own[0]
    for i in range(1, len(own)):
        for k in range(width):
            switched = states[1, k] - cost > states[0, k]
            after[0, k] = states[1, k] - cost if switched else states[0, k]
            if traced:
                came[i, 0, k] = 2 + switched
            best, source = -np.inf, 0
            for before in range(max(k - 1, 0), k + 1 if k == cap else k):
                stays = 2 if before == k else 0
                if states[1, before] > best:
                    best, source = states[1, before], stays + 1
                if states[0, before] - cost > best:
                    best, source = states[0, before] - cost, stays
            after[1, k] = best + own[i]
            if traced:
                came[i, 1, k] = source
        states, after = after, states
    return states, came


@njit(cache=True)
def _trace(came, label, k, out):
    for i in range(len(out) - 1, -1, -1):
        out[i] = label
        source = came[i, label, k]
        if label == 1 and source < 2:
            k -= 1
        label = source & 1


@njit(cache=True)
def add_labels(labels, offsets, amount, out):
    """Add ``amount[model, side, bag]`` to the positives of the labeling of each side."""
    for model in range(out.shape[0]):
        for side in range(2):
            for bag in range(len(offsets) - 1):
                added = amount[model, side, bag]
                for i in range(offsets[bag], offsets[bag + 1]):
                    if labels[model, side, i]:
                        out[model, i] += added


@njit(cache=True)
def sum_chains(scores, offsets, cost, caps, start, states, potential, log_sum, marginals, counts):
    """Do for chains what `bagwise.assumptions._posterior.sum_product` does for unordered bags."""
    for model in range(scores.shape[0]):
        for bag in range(len(offsets) - 1):
            own, cap = scores[model, offsets[bag] : offsets[bag + 1]], caps[bag]
            width = min(len(own), cap) + 1
            span = int(np.ceil(np.sqrt(len(own))))
            marks, last = _marked_sums(own, cost, cap, width, span)
            prior = potential[model, :, start[bag] : start[bag] + width]
            for side in range(2):
                ends = np.logaddexp(last[0], last[1]) + prior[side]
                total = log_sum_exp(ends)
                log_sum[model, side, bag] = total
                if counts.shape[2] > 0:
                    counts[model, side, states[bag] : states[bag + 1]] = np.exp(ends - total)
            if counts.shape[2] > 0:
                found = marginals[model, :, offsets[bag] : offsets[bag + 1]]
                _marginals(own, cost, cap, marks, span, prior, log_sum[model, :, bag], found)


@njit(cache=True)
def _marked_sums(own, cost, cap, width, span):
    """Return the logs of the sums over labelings up to every span-th instance, and up to the last.

    Sums have a row per label of that instance, and a column per count. Those in between are made
    again where they are needed: all of them would take m^2 numbers.
    """
    marks, rows = np.full((-(-len(own) // span), 2, width), -np.inf), np.empty((2, 2, width))
    marks[0, 0, 0], marks[0, 1, 1] = 0.0, own[0]
    rows[0] = marks[0]
    for i in range(1, len(own)):
        _pass_on(rows[(i - 1) % 2], own[i], cost, cap, rows[i % 2])
        if i % span == 0:
            marks[i // span] = rows[i % 2]
    return marks, rows[(len(own) - 1) % 2]


@njit(cache=True)
def _pass_on(sums, score, cost, cap, out):
    """Fill the sums up to the next instance, whose score is given."""
    out[:] = -np.inf
    width = out.shape[1]
    for k in range(width):
        out[0, k] = np.logaddexp(sums[0, k], sums[1, k] - cost)
        to = min(k + 1, cap)
        if to < width:
            passed = np.logaddexp(sums[0, k] - cost, sums[1, k]) + score
            out[1, to] = np.logaddexp(out[1, to], passed)


@njit(cache=True)
def _marginals(own, cost, cap, marks, span, prior, total, out):
    """Fill P(y_i = 1) of either side, from the last instance to the first."""
    width = prior.shape[1]
    later, before, rows = np.empty((2, 2, width)), np.empty(width), np.empty((span, 2, width))
    for side in range(2):
        later[side, 0], later[side, 1] = prior[side], prior[side]
    for block in range(len(marks) - 1, -1, -1):
        first = block * span
        rows[0] = marks[block]
        for i in range(first + 1, min(first + span, len(own))):
            _pass_on(rows[i - first - 1], own[i], cost, cap, rows[i - first])
        for i in range(min(first + span, len(own)) - 1, first - 1, -1):
            for side in range(2):
                zero, one = later[side]
                chance = np.exp(log_sum_exp(rows[i - first, 1] + one) - total[side])
                out[side, i] = min(chance, 1.0)
                for k in range(width):  # upwards: only counts from k on are still needed
                    to = min(k + 1, cap)
                    here = one[to] + own[i] if to < width else -np.inf
                    before[k] = np.logaddexp(zero[k] - cost, here)
                    zero[k] = np.logaddexp(zero[k], here - cost)
                one[:] = before
