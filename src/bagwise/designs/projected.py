"""Conjugate gradients for the dual of a weighted ridge regression, and its preconditioner.

With A = I + S^1/2 K S^1/2 on the active rows and a = S^1/2 1, the dual coefficients beta = S^1/2 u
of `ridge.solve_dual` and the intercept solve

    A u + b a = S^1/2 t,   a'u = 0.

CG runs on the plane a'u = 0 (Gould, Hribar & Nocedal 2001).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bagwise._typing import Array
from bagwise.designs.ridge import factor_in_place, solve_factored

_ENOUGH = 0.05  # excess per decrease so far: a relative residual would ask too much far from the
# optimum and too little near it (36 to 1,202 Newton steps instead of 10)
_MAX_ITERATIONS = 200  # about the cost of a factor of 7,000 rows
_PATIENCE = 30  # iterations without progress: a weak preconditioner, or only rounding is left
_PROGRESS = 0.7  # of the excess: a smaller one counts as progress


class Woodbury:
    """A^-1 for K = L L': I - S^1/2 L (I + L'SL)^-1 L' S^1/2."""

    def __init__(self, rows: Array, root: Array, hessian: Array) -> None:
        self.rows, self.root = rows, root
        self._root = root.astype(rows.dtype)
        system = hessian.astype(rows.dtype)  # a copy: it is factored in place
        system.flat[:: len(system) + 1] += 1
        self._factor = factor_in_place(system.T)
        self.ones = self(root)
        self.mass = float(root @ self.ones)

    def __call__(self, residual: Array) -> Array:
        """Return A^-1 residual."""
        weighted = self._root * residual.astype(self.rows.dtype)
        inner = solve_factored(self._factor, weighted @ self.rows)
        return residual - self._root * (self.rows @ inner)

    def intercept(self, residual: Array) -> float:
        """Return the multiple of ``root`` that a residual contains."""
        return float(self.root @ self(residual)) / self.mass


def solve_projected(
    product: Callable[[Array], Array],
    near: Woodbury,
    right: Array,
    start: tuple[Array, Array],
    value: float,
    atol: float,
) -> tuple[Array, bool]:
    """Return u, close enough to the solution for Newton's method, and whether it is.

    The primal objective Q of the ridge problem at w = Phi' S^1/2 u exceeds its minimum by at most
    |r|^2 / 2. CG stops where this is a small part of the decrease so far, or below atol^2 / 2.

    Parameters
    ----------
    product : callable
        v -> K v on the active rows.
    near : Woodbury
        The preconditioner.
    right : ndarray
        S^1/2 (t - b) at some intercept b.
    start : tuple of ndarray
        u, and K S^1/2 u.
    value : float
        Q at the point that Newton's method stands at.
    atol : float
        Residual norm below which nothing is gained.
    """
    root = near.root

    def system(v: Array) -> Array:
        return v + root * product(root * v)

    # 1) Move the start onto the plane.
    u, scores = start
    residual = right - root * scores - u
    if abs(root @ u) > len(u) * np.finfo(float).eps * (root @ np.abs(u)):  # more than rounding
        step = near.ones * (-(root @ u) / near.mass)
        u, residual = u + step, residual - system(step)
    direction, slope = np.zeros_like(u), 1.0
    best, best_at, best_u = np.inf, 0, u
    for iteration in range(_MAX_ITERATIONS + 1):
        # 2) Project the preconditioned residual. What is a multiple of the root belongs to the
        #    intercept; left in, it would drown the rest in rounding.
        ascent = near(residual)
        shift = float(root @ ascent) / near.mass
        ascent -= shift * near.ones
        right, residual = right - shift * root, residual - shift * root
        # 3) Stop if the rest cannot matter to Newton's method.
        excess = 0.5 * float(residual @ residual)
        if excess < _PROGRESS * best:
            best, best_at, best_u = excess, iteration, u
        reached = 0.5 * float(u @ (right - residual - u) + (residual + u) @ (residual + u))
        enough = excess <= max(_ENOUGH * (value - reached), 0.5 * atol**2)
        if iteration and enough:
            return u, True
        if iteration > best_at + _PATIENCE:
            break
        # 4) Take one step along a conjugate direction.
        last, slope = slope, float(residual @ ascent)
        if slope <= 0:  # nothing is left on the plane: the start, say, was the solution
            return u, enough
        direction = ascent + (slope / last if iteration else 0.0) * direction
        image = system(direction)
        length = slope / float(direction @ image)
        u, residual = u + length * direction, residual - length * image
    return best_u, False
