"""Compiled assignment steps at a temperature; imported only when something is annealed."""

from __future__ import annotations

import math

import numpy as np

from bagwise._jit import njit

_UNDERFLOW = math.log(math.ulp(0.0)) - math.log(2.0)  # exp of less is 0, after a slow search


@njit(cache=True)
def _sigmoid(x):
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x) if x > _UNDERFLOW else 0.0
    return e / (1.0 + e)


@njit(cache=True)
def _xlog(x, y):
    return 0.0 if x <= 0.0 else x * math.log(max(y, 1e-300))


@njit(cache=True)
def _shift(cost, pivot, nu, temperature, p):
    """Set p_j = sigma(nu + (cost_pivot - cost_j) / T); return sum p and sum p (1 - p)."""
    total, spread = 0.0, 0.0
    for j in range(len(cost)):
        difference = cost[pivot] - cost[j]
        p[j] = _sigmoid(nu if difference == 0.0 else nu + difference / temperature)
        total += p[j]
        spread += p[j] * (1.0 - p[j])
    return total, spread


@njit(cache=True)
def _root(cost, pivot, temperature, pull, target, linear, low, high, guess, p):
    """Find nu with linear (cost_pivot + T nu) + pull (sum p(nu) - target) = 0 by guarded Newton."""
    nu = min(max(guess, low), high)
    for _ in range(200):
        total, spread = _shift(cost, pivot, nu, temperature, p)
        value = linear * (cost[pivot] + temperature * nu) + pull * (total - target)
        if value == 0.0:
            return
        if value > 0:
            high = nu
        else:
            low = nu
        slope = linear * temperature + pull * spread
        step = nu - value / slope if slope > 0 else low
        inside = low < step < high
        if not inside:
            step = 0.5 * (low + high)
        moved, nu = abs(step - nu), step
        # Newton's error is squared in every step: after a small step it is below rounding.
        if moved <= (1e-9 if inside else 1e-15) * max(1.0, abs(nu)):
            break
    _shift(cost, pivot, nu, temperature, p)


@njit(cache=True)
def _free(cost, temperature, penalty, target, expected, p):
    """Minimize p.cost - T S(p) + penalty (sum p - target)^2; ``expected`` is a guess of sum p."""
    m = len(cost)
    if penalty == 0.0:
        for j in range(m):
            p[j] = _sigmoid(-cost[j] / temperature)  # Eq. 8 with lambda = 0
        return
    low, high = 2 * penalty * (target - m), 2 * penalty * target
    # 1) If digits are scarce, bisect for T mu among the costs: sum p is nearly a step function.
    if high - low > -_UNDERFLOW * temperature:
        for _ in range(64):
            middle = 0.5 * (low + high)
            total = 0.0
            for j in range(m):
                total += _sigmoid((middle - cost[j]) / temperature)
            if middle + 2 * penalty * (total - target) > 0:
                high = middle
            else:
                low = middle
            if high - low <= temperature:
                break
    # 2) Find the root as a shift from the nearest cost, which keeps its digits at any temperature.
    pivot = 0
    for j in range(m):
        if abs(cost[j] - high) < abs(cost[pivot] - high):
            pivot = j
    bottom = max((low - cost[pivot]) / temperature - 1.0, _UNDERFLOW)
    top = min((high - cost[pivot]) / temperature + 1.0, -_UNDERFLOW)
    if bottom >= top:  # every label is 0 or 1
        bottom, top = _UNDERFLOW, -_UNDERFLOW
    guess = (2 * penalty * (target - expected) - cost[pivot]) / temperature
    _root(cost, pivot, temperature, 2 * penalty, target, 1.0, bottom, top, guess, p)


@njit(cache=True)
def _at_least_one(cost, temperature, p):
    """Set p = sigma(z + mu) with sum p = 1."""
    m = len(cost)
    first = 0
    for j in range(m):
        if cost[j] < cost[first]:
            first = j
    second = 1 if first == 0 else 0
    for j in range(m):
        if j != first and cost[j] < cost[second]:
            second = j
    low = -math.log(m - 1.0)
    high = max(min(0.5 * (cost[second] - cost[first]) / temperature, -_UNDERFLOW), low)
    # Eq. 8, lambda of Eq. 6: sigma(nu - x) = e / (e + exp(-nu)) with e = exp(-x), taken once.
    together = 0.0
    for j in range(m):
        logit = (cost[first] - cost[j]) / temperature if j != first else 0.0
        p[j] = math.exp(logit) if logit > _UNDERFLOW else 0.0
        together += p[j]
    nu = _unit_root(p, low, high, min(max(-math.log(together), low), high))
    rest = math.exp(-nu)
    for j in range(m):
        p[j] = p[j] / (p[j] + rest) if p[j] > 0.0 else 0.0


@njit(cache=True)
def _unit_root(e, low, high, nu):
    """Find nu with sum_j e_j / (e_j + exp(-nu)) = 1 by guarded Newton."""
    for _ in range(200):
        rest, total, spread = math.exp(-nu), 0.0, 0.0
        for j in range(len(e)):
            share = e[j] / (e[j] + rest) if e[j] > 0.0 else 0.0
            total += share
            spread += share * (1.0 - share)
        if total == 1.0:
            return nu
        if total > 1.0:
            high = nu
        else:
            low = nu
        step = nu - (total - 1.0) / spread if spread > 0 else low
        inside = low < step < high
        if not inside:
            step = 0.5 * (low + high)
        moved, nu = abs(step - nu), step
        # Newton's error is squared in every step: after a small step it is below rounding.
        if moved <= (1e-9 if inside else 1e-15) * max(1.0, abs(nu)):
            return nu
    return nu


@njit(cache=True)
def label_step(cost, offsets, temperature, penalty, targets, previous, p, entropy, divergence):
    """Fill p with the cheapest independent labels of every bag, at least one expected positive."""
    for i in range(len(offsets) - 1):
        a, b = offsets[i], offsets[i + 1]
        if b - a == 1:
            p[a] = 1.0
        else:
            _free(cost[a:b], temperature, penalty, targets[i], previous[a:b].sum(), p[a:b])
            if p[a:b].sum() < 1.0:
                _at_least_one(cost[a:b], temperature, p[a:b])
        entropy[i], divergence[i] = 0.0, 0.0
        for j in range(a, b):
            x, y, q = p[j], 1.0 - p[j], previous[j]
            if x == 0.0 and q == 0.0:  # most instances of a cold bag: all logarithms are 0
                continue
            own = _xlog(x, x) + _xlog(y, y)
            entropy[i] -= own
            divergence[i] += own - _xlog(x, q) - _xlog(y, 1.0 - q)


@njit(cache=True)
def _softmax(cost, temperature, p):
    """Set p to exp(-cost_j / T) over their sum."""
    lowest, total = cost.min(), 0.0
    for j in range(len(cost)):
        difference = lowest - cost[j]
        logit = difference / temperature if difference < 0.0 else 0.0
        p[j] = math.exp(logit) if logit > _UNDERFLOW else 0.0
        total += p[j]
    p /= total  # Eq. 11


@njit(cache=True)
def _water_fill(cost, temperature, count, p):
    """Set p_j = min(1, c exp(-cost_j / T)) with sum p = count < m."""
    order = np.argsort(cost, kind="mergesort")
    full, rest = -1, 0.0
    # Relative to the cheapest instance below 1, so that they never all underflow. With one unit
    # left to distribute, that instance alone suffices, and the loop ends.
    while rest < count - full:
        full, rest = full + 1, 0.0
        for j in order[full:]:
            difference = cost[order[full]] - cost[j]
            p[j] = 1.0 if difference == 0.0 else math.exp(difference / temperature)
            rest += p[j]
    p[order[full:]] *= (count - full) / rest
    p[order[:full]] = 1.0


@njit(cache=True)
def witness_step(cost, offsets, temperature, n_witnesses, previous, p, entropy, divergence):
    """Fill p with the cheapest distribution over the witnesses of every bag."""
    for i in range(len(offsets) - 1):
        a, b = offsets[i], offsets[i + 1]
        if n_witnesses >= b - a:
            p[a:b] = 1.0
        elif n_witnesses == 1:
            _softmax(cost[a:b], temperature, p[a:b])
        else:
            _water_fill(cost[a:b], temperature, n_witnesses, p[a:b])
        entropy[i], divergence[i] = 0.0, 0.0
        for j in range(a, b):
            if p[j] == 0.0:
                continue
            own = _xlog(p[j], p[j])
            entropy[i] -= own
            divergence[i] += own - _xlog(p[j], previous[j])
