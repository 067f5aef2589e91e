"""A bound on the distance from the optimum that needs no dual variables.

With a squared hinge and weights so large that 1/2|w|^2 hardly counts (features of 1e100, C of 1e8),
w = Phi'beta holds only up to the rounding of a sum of large terms, and the duality gap, which
squares what is missing, proves nothing. But the objective F is quadratic on the current pieces,
with gradient g and Hessian H at v. If its minimizer v - H^-1 g lies on the same pieces, that is the
minimizer of F, because F is convex, and F(v) is 1/2 g'H^-1 g above it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.designs import Point
from bagwise.problems import Problem

_MANY_COEFFICIENTS = 500  # an eigendecomposition of this size takes a fraction of a second
_SINGULAR = 1e-12  # relative eigenvalue below which H^-1 g has too few digits to prove anything


def quadratic_gap(problem: Problem, point: Point) -> float:
    """Return F(v) - min F by the quadratic at v; infinite where it does not hold at its minimum.

    Linear designs only. The rounding errors of g count in full.
    """
    design: Any = problem.design
    if design.n_coef > _MANY_COEFFICIENTS:
        return np.inf
    z = point.scores + point.intercept
    curvature, target = pieces = problem.quadratic(z)
    pull = curvature * (target - z)
    hessian, gradient, error = _derivatives(design, curvature, pull, point.coef, z)
    unit = np.sqrt(np.maximum(hessian.diagonal(), np.finfo(float).tiny))
    scaled = hessian / unit / unit[:, None]
    if not np.all(np.isfinite(scaled)):
        return np.inf
    values, vectors = np.linalg.eigh(scaled)
    if not values[0] > _SINGULAR * values[-1]:
        return np.inf
    along, blurred = vectors.T @ (gradient / unit), np.abs(vectors.T) @ (error / unit)
    step = -(vectors @ (along / values)) / unit
    there = problem.quadratic(z + design @ step[:-1] + step[-1])
    if not all(np.array_equal(new, old) for new, old in zip(there, pieces, strict=True)):
        return np.inf
    return 0.5 * float(((np.abs(along) + blurred) ** 2 / values).sum())


def _derivatives(
    design: Any, curvature: Array, pull: Array, coef: Array, z: Array
) -> tuple[Array, Array, Array]:
    """Return Hessian and gradient in (coef, intercept), and a bound on the gradient's rounding."""
    d, mixed = design.n_coef, design.weighted_sum(curvature)
    hessian = np.zeros((d + 1, d + 1))
    hessian[:d, :d] = design.weighted_gram(curvature)
    hessian[:d, :d].flat[:: d + 1] += design.metric
    hessian[:d, d] = hessian[d, :d] = mixed
    hessian[d, d] = curvature.sum()
    gradient = np.append(design.metric * coef - design.weighted_sum(pull), -pull.sum())
    # |sum_k x_kj r_k| is off by eps sum_k |x_kj r_k|, which Cauchy and Schwarz bound.
    moved = curvature * (1 + np.abs(z))  # r_k itself inherits the rounding of its score
    lengths = np.append(np.sqrt(design.weighted_squares(np.ones(len(z)))), np.sqrt(len(z)))
    return hessian, gradient, design.rounding * lengths * float(np.linalg.norm(moved))
