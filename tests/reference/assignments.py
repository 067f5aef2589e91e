"""Soft assignments of one bag by Newton's method in p, and by a cone program."""

import clarabel
import numpy as np
from scipy.special import logit

from reference.program import minimize


def newton_in_p(cost, T, C_proportion, target):
    """Damped Newton in p itself; on the face sum p = 1 where the free minimum breaks it."""

    def minimize(p, on_face):
        for _ in range(300):
            gradient = cost + 2 * C_proportion * (p.sum() - target) + T * logit(p)
            system = np.diag(T / (p * (1 - p))) + 2 * C_proportion
            step = -np.linalg.solve(system, gradient)
            if on_face:
                along = np.linalg.solve(system, np.ones_like(p))
                step -= step.sum() / along.sum() * along
            room = np.where(step > 0, 1 - p, p) / np.maximum(np.abs(step), 1e-300)
            share = min(1.0, 0.9 * room.min(), 1 / (1 + np.max(np.abs(step) / (p * (1 - p)))))
            p = p + (step if np.max(np.abs(step) / (p * (1 - p))) < 1e-3 else share * step)
            if np.max(np.abs(step)) < 1e-15:
                break
        return p

    if len(cost) == 1:
        return np.ones(1)
    p = minimize(np.full(len(cost), 0.5), on_face=False)
    return p if p.sum() >= 1 else minimize(np.full(len(cost), 1 / len(cost)), on_face=True)


def clarabel_value(cost, T, C_proportion=0.0, target=0.0, witnesses=None):
    """The best value by exponential cones: u <= -p log p, and v <= -(1-p) log(1-p) for labels."""
    m, labels = len(cost), witnesses is None
    width = 3 * m
    blocks, bounds, cones = [], [], []

    def constrain(columns, bound, cone):
        block = np.zeros((len(bound), width))
        for row, column, value in columns:
            block[row, column] = value
        blocks.append(block)
        bounds.append(bound)
        cones.append(cone)

    total = [(0, j, -1.0) for j in range(m)]
    if labels:
        constrain(total, [-1.0], clarabel.NonnegativeConeT(1))
    else:
        constrain(total, [-float(witnesses)], clarabel.ZeroConeT(1))
        at_most_one = [(j, j, 1.0) for j in range(m)]
        constrain(at_most_one, np.ones(m), clarabel.NonnegativeConeT(m))
        constrain([(j, 2 * m + j, 1.0) for j in range(m)], np.zeros(m), clarabel.ZeroConeT(m))
    for j in range(m):
        columns = [(0, m + j, -1.0), (1, j, -1.0)]
        constrain(columns, [0.0, 0.0, 1.0], clarabel.ExponentialConeT())
        if labels:
            columns = [(0, 2 * m + j, -1.0), (1, j, 1.0)]
            constrain(columns, [0.0, 1.0, 1.0], clarabel.ExponentialConeT())
    P = np.zeros((width, width))
    P[:m, :m] = np.triu(np.full((m, m), 2 * C_proportion))
    q = np.concatenate([cost - 2 * C_proportion * target, np.full(2 * m, -T)])
    bounds = np.concatenate(bounds)
    found = minimize(P, q, np.vstack(blocks), bounds, cones, max_step_fraction=0.95)
    assert str(found.status) in ("Solved", "AlmostSolved")
    return found.obj_val + C_proportion * target**2
