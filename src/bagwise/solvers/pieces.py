"""Bounds on the distance from the optimum where rounding leaves the duality gap without meaning.

With weights so large that 1/2|w|^2 hardly counts (features of 1e100, C of 1e8), w = Phi'beta holds
only up to the rounding of a sum of large terms, and the duality gap, which squares what is missing,
proves nothing.

- `quadratic_gap`, for the squared hinge: the objective F is quadratic on the current pieces, with
  gradient g and Hessian H at v. If its minimizer v - H^-1 g lies on the same pieces, that is the
  minimizer of F, because F is convex, and F(v) is 1/2 g'H^-1 g above it.
- `mend_gap`, for the hinge: duals strictly inside their bounds can be moved until
  w = Phi'beta and sum beta = 0 hold. That they can suffices, and what they lose by it is bounded.
"""

from __future__ import annotations

import numpy as np

from bagwise._typing import Array
from bagwise.designs import LinearDesign, Point
from bagwise.problems import Problem
from bagwise.tolerances import LARGEST_DENSE, TIE, TINY


def quadratic_gap(problem: Problem, point: Point) -> float:
    """Return F(v) - min F by the quadratic at v; infinite where it does not hold at its minimum.

    Infinite for kernels, too. The rounding errors of g count in full.
    """
    design = problem.design.linear
    if design is None or design.n_coef > LARGEST_DENSE:
        return np.inf
    z = point.scores + point.intercept
    curvature, target = pieces = problem.quadratic(z)
    pull = curvature * (target - z)
    hessian, gradient, error = _derivatives(design, curvature, pull, point.coef, z)
    found = resolve(hessian, gradient, error)
    if found is None:
        return np.inf
    away, size = found
    there = problem.quadratic(z - design @ away[:-1] - away[-1])
    if not all(np.array_equal(new, old) for new, old in zip(there, pieces, strict=True)):
        return np.inf
    return 0.5 * size


def _derivatives(
    design: LinearDesign, curvature: Array, pull: Array, coef: Array, z: Array
) -> tuple[Array, Array, Array]:
    """Return Hessian and gradient in (coef, intercept), and a bound on the gradient's rounding."""
    d = design.n_coef
    hessian = _border_gram(design, curvature)
    hessian[:d, :d].flat[:: d + 1] += design.metric
    gradient = np.append(design.metric * coef - design.weighted_sum(pull), -pull.sum())
    # |sum_k x_kj r_k| is off by eps sum_k |x_kj r_k|, which Cauchy and Schwarz bound.
    moved = curvature * (1 + np.abs(z))  # r_k itself inherits the rounding of its score
    lengths = np.append(np.sqrt(design.weighted_squares(np.ones(len(z)))), np.sqrt(len(z)))
    return hessian, gradient, design.rounding * lengths * float(np.linalg.norm(moved))


def mend_gap(
    problem: Problem, point: Point, dual: Array, freedom: Array, value: float, loss: float
) -> float:
    """Return the duality gap of duals that lie near ``dual`` and are feasible; infinite if none is.

    For the hinge; infinite for kernels. Row k's dual may move by ``freedom_k`` either way, which
    changes ``value``, the part of the dual objective that is linear in the duals, by less than
    ``loss`` if all are moved as far. Moved by freedom^2 Phi v with the v that makes the equations
    hold, none moves by more than rho of its freedom, rho^2 = r'(Phi' freedom^2 Phi)^-1 r where r
    is what is missing; its rounding errors count in full.
    """
    design = problem.design.linear
    if design is None or design.n_coef > LARGEST_DENSE:
        return np.inf
    required = design.metric * point.coef
    missing = np.append(design.weighted_sum(dual) - required, dual.sum())
    terms = np.sqrt(design.weighted_squares(dual**2)) + np.abs(required)
    error = design.rounding * np.append(terms, np.linalg.norm(dual))
    found = resolve(_border_gram(design, freedom**2), missing, error)
    if found is None:
        return np.inf
    rho = float(np.sqrt(found[1]))
    if not rho <= 1:
        return np.inf
    norm = design.squared_norm(point.coef)
    return max(problem.objective(point) + 0.5 * norm - value, 0.0) + rho * loss


def _border_gram(design: LinearDesign, weights: Array) -> Array:
    """Return Phi' diag(weights) Phi with a column of ones in Phi."""
    d = design.n_coef
    gram = np.empty((d + 1, d + 1))
    gram[:d, :d] = design.weighted_gram(weights)
    gram[:d, d] = gram[d, :d] = design.weighted_sum(weights)
    gram[d, d] = weights.sum()
    return gram


def resolve(matrix: Array, vector: Array, error: Array) -> tuple[Array, float] | None:
    """Return A^-1 v, and v'A^-1 v with the errors of v in full; None where A is near singular.

    Eigenvectors are those of A scaled to a unit diagonal.
    """
    unit = np.sqrt(np.maximum(matrix.diagonal(), TINY))
    scaled = matrix / unit / unit[:, None]
    if not np.all(np.isfinite(scaled)):
        return None
    values, vectors = np.linalg.eigh(scaled)
    if not values[0] > TIE * values[-1]:  # too few digits to prove anything
        return None
    along, blurred = vectors.T @ (vector / unit), np.abs(vectors.T) @ (error / unit)
    size = float(((np.abs(along) + blurred) ** 2 / values).sum())
    return (vectors @ (along / values)) / unit, size
