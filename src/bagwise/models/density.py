"""Diverse density: how likely is it that a point, with one scale per feature, is the concept?

With d_k = sum_f s_f^2 (x_kf - c_f)^2 and p_k = exp(-d_k), a bag's negative log likelihood is

    noisy-or:           -log(1 - prod_k (1 - p_k)) if it is positive, -sum_k log(1 - p_k) if not;
    most likely cause:  min_k d_k if it is positive, -log(1 - max_k p_k) if not,

each bag times its weight. Everything is computed from d in log space, so that points far from all
instances still have a gradient. Functions take d of shape (n,) or, for many points at once, (n, k).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bagwise._typing import Array
from bagwise.bags.segments import bag_index, expand, segment_argmax, segment_logsumexp, segment_sum
from bagwise.tolerances import TIE

_NEAREST = 1e-10  # a negative instance exactly on the point costs 23, not infinity
_MOST_PAIRS = 1_000_000_000  # of candidates and instances: a minute or two


@dataclass(frozen=True)
class Concept:
    """A point in instance space, its scales, and what became of the search for it."""

    point: Array
    scale: Array
    objective: float
    history: list[dict[str, float]]  # one record per step
    converged: bool


@dataclass(frozen=True)
class Density:
    """Instances (scaled, dense or CSR), their bags, labels and weights."""

    X: Any
    offsets: Array
    positive: Array  # (n_bags,) bool
    weight: Array  # (n_bags,)

    @cached_property
    def squares(self) -> Any:
        """The squares of all values of X."""
        return self.X**2 if isinstance(self.X, np.ndarray) else self.X.multiply(self.X).tocsr()

    @cached_property
    def row_weight(self) -> Array:
        """The weight of each instance's bag."""
        return expand(self.weight, self.offsets)

    @cached_property
    def in_positive(self) -> Array:
        """Whether an instance belongs to a positive bag."""
        return expand(self.positive, self.offsets)

    def distances(self, point: Array, scale: Array) -> Array:
        """Return d for every instance."""
        s = scale**2
        squared = self.squares @ s - 2 * (self.X @ (s * point)) + s @ point**2
        return np.maximum(squared, 0.0)

    # Likelihoods: value and derivative with respect to d -----------------------------------------

    def noisy_or(self, d: Array) -> tuple[Array, Array]:
        """Return the negative log likelihood under the noisy-or, and its derivative in d."""
        d = np.maximum(d, _NEAREST)
        p, rest = np.exp(-d), -np.expm1(-d)  # p and 1 - p
        log_rest = np.log(rest)
        miss = segment_sum(log_rest, self.offsets)  # log of prod (1 - p)
        log_hit = self._log_hit(d, p, miss)
        weight, is_positive = _like(self.row_weight, d), _like(self.in_positive, d)
        per_bag = np.where(_like(self.positive, d), -log_hit, -miss)
        ratio = np.exp(expand(miss - log_hit, self.offsets) - d) / rest
        slope = np.where(is_positive, ratio, -p / rest)
        return (_like(self.weight, d) * per_bag).sum(axis=0), weight * slope

    def _log_hit(self, d: Array, p: Array, miss: Array) -> Array:
        """Return log(1 - prod (1 - p)) of every bag, also where all p underflow."""
        total = segment_sum(p, self.offsets)
        share = np.ones_like(total)
        np.divide(-np.expm1(miss), total, out=share, where=total > TIE)
        return segment_logsumexp(-d, self.offsets) + np.log(share)

    def most_likely_cause(self, d: Array) -> tuple[Array, Array]:
        """Return the negative log likelihood of the nearest instances, and its derivative in d."""
        nearest = self.causes(d)
        d_near = np.maximum(np.take_along_axis(d, nearest, axis=0), _NEAREST)
        rest = -np.expm1(-d_near)
        is_positive, weight = _like(self.positive, d), _like(self.weight, d)
        per_bag = np.where(is_positive, d_near, -np.log(rest))
        slope = np.zeros_like(d)
        of_nearest = weight * np.where(is_positive, 1.0, -np.exp(-d_near) / rest)
        np.put_along_axis(slope, nearest, of_nearest, axis=0)
        return (weight * per_bag).sum(axis=0), slope

    def causes(self, d: Array) -> Array:
        """Return the row of the nearest instance of every bag."""
        return _like(self.offsets[:-1], d) + segment_argmax(-d, self.offsets)

    # Searching -----------------------------------------------------------------------------------

    def objective(self, likelihood: str) -> Callable[[Array], tuple[float, Array]]:
        """Return theta = (point, scale) -> (value, gradient) for an optimizer."""
        of_distances = getattr(self, likelihood)

        def value_and_gradient(theta: Array) -> tuple[float, Array]:
            point, scale = np.split(theta, 2)
            value, slope = of_distances(self.distances(point, scale))
            total, first, second = slope.sum(), self.X.T @ slope, self.squares.T @ slope
            by_point = 2 * scale**2 * (point * total - first)
            by_scale = 2 * scale * (second - 2 * point * first + point**2 * total)
            return float(value), np.concatenate([by_point, by_scale])

        return value_and_gradient

    def climb(
        self, likelihood: str, point: Array, scale: Array, tol: float, max_iter: int
    ) -> Concept:
        """Return the local optimum that L-BFGS reaches from a start."""
        history: list[dict[str, float]] = []
        result = minimize(
            self.objective(likelihood),
            np.concatenate([point, scale]),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-8},
            callback=lambda intermediate_result: history.append(
                {"objective": float(intermediate_result.fun)}
            ),
        )
        point, scale = np.split(result.x, 2)
        stopped = result.nit >= max_iter
        history = history or [{"objective": float(result.fun)}]  # the start was an optimum
        return Concept(point, np.abs(scale), float(result.fun), history, not stopped)

    def only(self, rows: Array) -> Density:
        """Return the density of bags that keep one instance each."""
        return Density(self.X[rows], np.arange(len(rows) + 1), self.positive, self.weight)

    def starts(self, likelihood: str, gamma: float, n_init: int) -> Array:
        """Return rows to start from: the likeliest instance of each of the likeliest positive bags.

        Every instance of a positive bag is tried as the point, all scales being sqrt(gamma); of
        very many, as many as a few minutes allow, spread evenly over the bags.
        """
        candidates = np.flatnonzero(self.in_positive)
        most = max(n_init, _MOST_PAIRS // self.X.shape[0])
        candidates = candidates[:: -(-len(candidates) // most)]
        block = max(1, (1 << 22) // self.X.shape[0])
        values = np.concatenate(
            [
                self._values_at(likelihood, candidates[i : i + block], gamma)
                for i in range(0, len(candidates), block)
            ]
        )
        order = np.argsort(values, kind="stable")
        bags = bag_index(self.offsets)[candidates[order]]
        _, first = np.unique(bags, return_index=True)
        best = order[np.sort(first)]
        _, distinct = np.unique(np.round(values[best], 9), return_index=True)  # copies tie
        return candidates[best[np.sort(distinct)][:n_init]]

    def _values_at(self, likelihood: str, rows: Array, gamma: float) -> Array:
        points = self.X[rows]
        points = points if isinstance(points, np.ndarray) else points.toarray()
        products = self.X @ points.T
        norms = np.asarray(self.squares.sum(axis=1)).ravel()
        d = gamma * np.maximum(norms[:, None] - 2 * products + (points**2).sum(axis=1), 0.0)
        return getattr(self, likelihood)(d)[0]


def measure_distances(X: Any, point: Array, scale: Array) -> Array:
    """Return d for rows that were not centered."""
    if not isinstance(X, np.ndarray):
        X = X.astype(np.float64)
        return Density(X, *(np.empty(0),) * 3).distances(point, scale)
    blocks = range(0, len(X), 8192)
    parts = [(((X[i : i + 8192] - point) * scale) ** 2).sum(axis=1) for i in blocks]
    return np.concatenate(parts)


def _like(values: Array, d: Array) -> Array:
    """Give one value per row (or bag) the number of axes that d has."""
    return values if d.ndim == 1 else values[:, None]
