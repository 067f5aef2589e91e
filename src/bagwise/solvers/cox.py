"""Cox's partial likelihood with a ridge penalty, by Newton's method.

Given rows x_i, events d_i at times T_i and weights c_i, returns w of

    min_w -sum_{i: d_i = 1} c_i [ x_i.w - log S_i(w) ] + alpha / 2 |w|^2,
    S_i(w) = sum_{j: T_j >= T_i} c_j exp(x_j.w),

where of m events at the same time the l-th subtracts the share l / m of their own terms from S_i
(Efron 1977). The objective is alpha-strongly convex: |gradient|^2 / (2 alpha) bounds its distance
from the optimum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.times import Times
from bagwise.tolerances import MAX_STEPS, TIE


def solve_cox(
    rows: Array, times: Times, weight: Array, alpha: float, *, tol: float = TIE
) -> tuple[Array, list[dict[str, Any]]]:
    """Return w and one record per step, with "objective" and "gap"."""
    order = np.argsort(-times.time, kind="stable")
    rows, times, weight = rows[order], times[order], weight[order]
    coef = np.zeros(rows.shape[1])
    value, gradient, hessian = _derivatives(rows, times, weight, alpha, coef)
    history: list[dict[str, Any]] = []
    for _ in range(MAX_STEPS):
        gap = float(gradient @ gradient) / (2 * alpha)
        history.append({"objective": value, "gap": gap})
        if gap <= tol * max(abs(value), 1.0):
            break
        direction, step = -np.linalg.solve(hessian, gradient), 1.0
        slope = float(gradient @ direction)
        for _ in range(50):  # halvings: 1e-15 of the step is none
            trial = _derivatives(rows, times, weight, alpha, coef + step * direction)
            if trial[0] <= value + 1e-4 * step * slope:
                break
            step /= 2
        else:
            break
        coef = coef + step * direction
        value, gradient, hessian = trial
    return coef, history


def _derivatives(
    rows: Array, times: Times, weight: Array, alpha: float, coef: Array
) -> tuple[float, Array, Array]:
    """Return value, gradient and Hessian; rows are sorted from the latest time to the earliest."""
    scores = rows @ coef
    top = scores.max(initial=0.0)
    terms = weight * np.exp(scores - top)
    value = alpha / 2 * float(coef @ coef)
    gradient, hessian = alpha * coef, alpha * np.eye(len(coef))
    sum_0, sum_1 = 0.0, np.zeros(len(coef))
    sum_2 = np.zeros(hessian.shape)
    start, moments = 0, np.flatnonzero(np.diff(times.time)) + 1
    for stop in [*moments.tolist(), len(scores)]:  # those at risk grow with every earlier time
        part = slice(start, stop)
        start = stop
        own, X = terms[part], rows[part]
        sum_0, sum_1 = sum_0 + own.sum(), sum_1 + own @ X
        sum_2 = sum_2 + (X.T * own) @ X
        event = times.event[part] & (weight[part] > 0)
        if not event.any():
            continue
        c, tied, Z = weight[part][event], own[event], X[event]
        value -= float(c @ (scores[part][event] - top))
        gradient = gradient - c @ Z
        tied_0, tied_1, tied_2 = tied.sum(), tied @ Z, (Z.T * tied) @ Z
        for share in np.arange(len(c)) / len(c):
            mass = c.mean()  # the weights of tied events are shared, as in other programs
            s_0, s_1 = sum_0 - share * tied_0, sum_1 - share * tied_1
            value += mass * float(np.log(s_0))
            gradient = gradient + mass * s_1 / s_0
            curve = (sum_2 - share * tied_2) / s_0 - np.outer(s_1, s_1) / s_0**2
            hessian = hessian + mass * curve
    return value, gradient, hessian


def cox_loss(rows: Array, times: Times, weight: Array, coef: Array) -> tuple[float, Array]:
    """Return the negative log partial likelihood and its gradient in the coefficients."""
    order = np.argsort(-times.time, kind="stable")
    return _derivatives(rows[order], times[order], weight[order], 0.0, coef)[:2]


def cox_baseline(scores: Array, times: Times, weight: Array) -> tuple[Array, Array]:
    """Return the times of events, and the cumulative hazard of score 0 there (Breslow)."""
    moments = np.unique(times.time[times.event & (weight > 0)])
    terms = weight * np.exp(scores)
    at_risk = np.array([terms[times.time >= t].sum() for t in moments])
    events = np.array([weight[times.event & (times.time == t)].sum() for t in moments])
    return moments, np.cumsum(events / at_risk)
