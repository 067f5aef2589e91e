"""Ridge on the positives, hinge on the negatives, penalized intercept (Avolio & Fuduli 2021).

    P(z) = 1/2|z|^2 + 1/2 sum_{k in +} W_k (1 - f_k)^2 + sum_{j in -} W_j max(0, 1 + f_j),

with z = (w, b) and f = Phi w + b. Given the multipliers 0 <= lambda_j <= W_j of the negatives, z
solves the ridge regression P z = A'W 1 - B'lambda, P = I + A'WA, where A and B are the positive and
the negative rows with a constant 1. This leaves a box problem in lambda alone:

    max_lambda  sum lambda - 1/2 |c - B~'lambda|^2,   B~ = B L^-T, c = L^-1 A'W 1, P = L L',

solved by coordinate descent on the whitened rows B~ (features), or on their products
B P^-1 B' = K_BB - K_BA S (I + S K_AA S)^-1 S K_AB, S = W^1/2 (kernels, and more features than
rows), which are computed for negatives that have violated optimality only. There is one
factorization per problem, of the positives' size. The ridge block is eliminated exactly because
descent on both blocks at once would stall.

Rows with an offset carry the constant themselves, with its own weight in |z|^2
(`bagwise.designs.augmented`).

For any beta = (beta+, -lambda), D = -1/2|A'beta+ - B'lambda|^2 + sum (beta+ - beta+^2 / 2W) +
sum lambda is a lower bound on P; beta+ = W (1 - f) makes it the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve, solve_triangular

from bagwise._typing import Array
from bagwise.designs import Dense, Design, LinearDesign, Point
from bagwise.designs.base import factor_in_place
from bagwise.designs.gram import double_block
from bagwise.errors import SCALE, Message
from bagwise.kernels import check_matrix
from bagwise.problems import Solution
from bagwise.solvers.dual_cd import descend_gram, descend_rows
from bagwise.solvers.pool import meet
from bagwise.tolerances import INNER, SINGLE

_AT_ONCE = 400  # negatives to add at least, later half as many as there are: 2 to 5 rounds


@dataclass(frozen=True)
class _Split:
    """The rows with weight, by side."""

    positive: Array  # row numbers
    negative: Array
    weight: Array  # W of all rows

    @classmethod
    def of(cls, positive: Array, weight: Array) -> _Split:
        used = weight > 0
        return cls(np.flatnonzero(positive & used), np.flatnonzero(~positive & used), weight)


def semiproximal(
    design: Design,
    positive: Array,
    weight: Array,
    start: Array | None = None,
    *,
    tol: float = 1e-9,
    max_passes: int = 20_000,
) -> Solution:
    """Solve the problem, until no projected gradient exceeds ``tol``.

    ``weight`` is W, including C, and ``start`` holds initial multipliers of the negatives, 0 on
    other rows. ``dual`` of the solution is beta, ``residual`` is |z - (A'beta+ - B'lambda)|.
    """
    split = _Split.of(positive, weight)
    multipliers = np.zeros(design.n_rows) if start is None else start.copy()
    multipliers[split.positive] = 0.0
    limits, linear = (tol, max_passes), design.linear
    if linear is None or (design.n_coef >= design.n_rows and not design.augmented):
        point, n_passes = _descend_products(design, split, multipliers, *limits)
    else:
        descend = _descend_features if design.n_coef < design.n_rows else _turn_features
        point, n_passes = descend(linear, split, multipliers, *limits)
    found = _certify(design, split, point, multipliers, n_passes)
    if found.converged:
        return found
    # Rounding may have eaten the solution: never a point worse than z = 0.
    zero = _certify(design, split, design.start(), multipliers, n_passes)
    return zero if zero.objective < found.objective else found


def _descend_features(
    design: LinearDesign, split: _Split, multipliers: Array, tol: float, max_passes: int
) -> tuple[Point, int]:
    on_positives = np.zeros(design.n_rows)
    on_positives[split.positive] = split.weight[split.positive]
    system, total, rows = _add_constant(design, on_positives, split.negative)
    if not np.isfinite(system).all():
        what = f"The products of the features overflow {system.dtype}: scale the features with "
        raise FloatingPointError(Message(what, SCALE, ", or lower C."))
    if design.augmented:  # rounding may have eaten an eigenvalue: give it that back
        system.flat[:: len(system) + 1] *= 1 + 4 * len(system) * np.finfo(float).eps
    factor, _ = factor_in_place(system)
    whitened = solve_triangular(factor, rows.T, lower=True, check_finite=False).T
    inner = np.zeros(len(total) + 1)  # `descend_rows` has a last entry for a constant feature
    lambdas = multipliers[split.negative]
    inner[:-1] = solve_triangular(factor, total, lower=True) - lambdas @ whitened
    n_passes, _ = descend_rows(
        sp.csr_array(whitened),
        np.full(len(lambdas), -1.0),
        split.weight[split.negative],
        lambdas,
        inner,
        0.0,
        tol=tol,
        max_passes=max_passes,
    )
    multipliers[split.negative] = lambdas
    inner[:-1] = solve_triangular(factor, total, lower=True) - lambdas @ whitened
    z = solve_triangular(factor, inner[:-1], lower=True, trans="T")
    if design.augmented:
        return Point(z, 0.0, design @ z), n_passes
    return Point(z[:-1], float(z[-1]), design @ z[:-1]), n_passes


def _turn_features(
    design: LinearDesign, split: _Split, multipliers: Array, tol: float, max_passes: int
) -> tuple[Point, int]:
    """Turn more features than rows into as many as rows; the constant stays."""
    rows, unit = _select_rows(design, np.arange(design.n_rows)), design.scale.max()
    basis, across = np.linalg.qr((rows * (design.scale / unit))[:, :-1].T)
    narrow = Dense(np.column_stack([across.T, rows[:, -1]]))
    narrow.scale = np.append(np.full(len(across), unit), design.scale[-1])
    narrow.metric, narrow.augmented = narrow.scale**-2.0, True
    point, n_passes = _descend_features(narrow, split, multipliers, tol, max_passes)
    coef = np.append(design.scale[:-1] / unit * (basis @ point.coef[:-1]), point.coef[-1])
    return Point(coef, 0.0, design @ coef), n_passes


def _descend_products(
    design: Design, split: _Split, multipliers: Array, tol: float, max_passes: int
) -> tuple[Point, int]:
    """Descend on a growing set of negatives: most of them have no multiplier."""
    working, n_passes = _Working(_products(design), split), 0
    while True:
        beta = working.duals(multipliers)
        coef = design.adjoint(beta)
        point = Point(coef, float(beta.sum()), design @ coef)
        slope = -1.0 - (point.scores + point.intercept)[split.negative]
        if not working.grow(multipliers[split.negative], slope, tol) or n_passes >= max_passes:
            return point, n_passes
        rows = split.negative[working.members]
        lambdas = multipliers[rows]
        passes, _ = descend_gram(
            np.ascontiguousarray(working.Q),
            lambdas,
            slope[working.members],
            split.weight[rows],
            tol=INNER * tol,
            max_passes=max_passes - n_passes,
        )
        multipliers[rows], n_passes = lambdas, n_passes + passes


class _Working:
    """Negatives whose multipliers are solved for, and Q = B P^-1 B' between them."""

    def __init__(self, K: Array, split: _Split) -> None:
        self.K, self.split, up = K, split, split.positive
        self.root = np.sqrt(split.weight[up])
        system = double_block(K, up, up)
        system += 1.0
        system *= self.root
        system *= self.root[:, None]
        system.flat[:: len(up) + 1] += 1
        self.factor = factor_in_place(system.T)
        self.members = np.empty(0, dtype=np.intp)  # numbers among the negatives
        self.half, self.Q = np.empty((len(up), 0)), np.empty((0, 0))

    def duals(self, multipliers: Array) -> Array:
        """Return beta of all rows: that of the positives solves their ridge problem."""
        up, beta = self.split.positive, -multipliers
        used = np.flatnonzero(multipliers)
        pushed = self._across(used) @ multipliers[used]
        beta[up] = self.root * cho_solve(self.factor, self.root * (1 + pushed), check_finite=False)
        return beta

    def grow(self, lambdas: Array, slope: Array, tol: float) -> bool:
        """Add the negatives that violate optimality most; return whether any does."""
        upper = self.split.weight[self.split.negative]
        violation = np.where(lambdas < upper, np.maximum(-slope, 0.0), 0.0)
        violation = np.where(lambdas > 0, np.maximum(violation, slope), violation)
        if violation.max(initial=0.0) <= tol:
            return False
        inside = (lambdas > 0) & (lambdas < upper)
        violation[inside] = np.inf  # free ones move with any other
        violation[self.members] = 0.0
        order = np.argsort(-violation, kind="stable")[: max(_AT_ONCE, len(self.members) // 2)]
        new = np.sort(order[violation[order] > tol])
        rows = self.split.negative[new]
        half = solve_triangular(
            self.factor[0], self.root[:, None] * self._across(rows), lower=True, check_finite=False
        )
        known = self.split.negative[self.members]
        border = double_block(self.K, rows, known) + 1.0 - half.T @ self.half
        corner = double_block(self.K, rows, rows) + 1.0 - half.T @ half
        self.Q = np.block([[self.Q, border.T], [border, corner]])
        self.half = np.concatenate([self.half, half], axis=1)
        self.members = np.concatenate([self.members, new])
        return True

    def _across(self, rows: Array) -> Array:
        return double_block(self.K, self.split.positive, rows) + 1.0


def _products(design: Design) -> Array:
    if design.linear is not None:  # a kernel has them already
        fewer = "It is needed with more features than instances: use fewer bags."
        n = design.n_rows
        check_matrix("The matrix between training instances", n, n, 8, fewer)
    return design.products()


def _add_constant(
    design: LinearDesign, weight: Array, negative: Array
) -> tuple[Array, Array, Array]:
    """Return I + A'WA, A'W 1 and the negative rows, with the constant feature."""
    if design.augmented:
        system, total = design.weighted_gram(weight), design.weighted_sum(weight)
        system.flat[:: len(system) + 1] += design.metric
        return system, total, _select_rows(design, negative)
    total = np.append(design.adjoint(weight), weight.sum())
    system = np.empty((design.n_coef + 1, design.n_coef + 1))
    system[:-1, :-1] = design.weighted_gram(weight)
    system[-1], system[:, -1] = total, total
    system.flat[:: len(system) + 1] += 1
    rows = design.matrix(negative)
    dense = rows.toarray() if sp.issparse(rows) else rows
    with_ones = np.column_stack([dense, np.ones(len(dense))]).astype(np.float64, copy=False)
    return system, total, with_ones


def _select_rows(design: LinearDesign, rows: Array) -> Array:
    """Return some rows in the coordinates of the coefficients."""
    one = np.ones(len(rows)), rows, np.arange(len(rows) + 1)
    found = design.combine(sp.csr_array(one, shape=(len(rows), design.n_rows)))
    return found.toarray() if sp.issparse(found) else found


def _certify(
    design: Design, split: _Split, point: Point, multipliers: Array, n_passes: int
) -> Solution:
    up, down = split.positive, split.negative
    scores = point.scores + point.intercept
    weight, lambdas = split.weight[up], multipliers[down]
    beta = np.zeros(design.n_rows)
    beta[up] = weight * (1 - scores[up])
    beta[down] = -lambdas
    # Eq. 3, the objective; below, a lower bound on it.
    loss = 0.5 * weight @ (1 - scores[up]) ** 2
    loss += split.weight[down] @ np.maximum(0.0, 1 + scores[down])
    objective = 0.5 * _norm(design, point.coef, point.intercept, point.scores) + loss
    bound = beta[up].sum() - 0.5 * (beta[up] ** 2 / weight).sum() + lambdas.sum()
    norm, away = _dual_norm(design, point, beta, np.abs(beta) + _rounding_sources(split, scores))
    gap = float(max(objective - (bound - 0.5 * norm), 0.0))
    return Solution(
        coef=point.coef,
        intercept=point.intercept,
        scores=scores,
        dual=beta,
        objective=float(objective),
        gap=gap,
        residual=float(np.sqrt(max(away, 0.0))),
        n_iter=n_passes,
        converged=bool(gap <= max(10 * SINGLE, 1e3 * design.rounding) * objective),
    )


def _norm(design: Design, coef: Array, intercept: float, scores: Array | None = None) -> float:
    return design.squared_norm(coef, scores) + intercept**2


def _rounding_sources(split: _Split, scores: Array) -> Array:
    """Return what the duals of the positives inherit the rounding of."""
    rounded = np.zeros_like(scores)
    rounded[split.positive] = (split.weight * (1 + np.abs(scores)))[split.positive]
    return rounded


def _dual_norm(design: Design, point: Point, beta: Array, moved: Array) -> tuple[float, float]:
    """Return |z|^2 of the duals, and the squared distance of the point from their z."""
    linear = design.linear
    if linear is None or not design.augmented:
        coef = design.adjoint(beta)
        norm = _norm(design, coef, beta.sum())
        return norm, _norm(design, point.coef - coef, point.intercept - beta.sum())
    found, wanted = linear.scale * linear.weighted_sum(beta), point.coef / linear.scale
    lengths = np.sqrt(linear.weighted_squares(np.ones(design.n_rows)))
    margin = 1 + float(np.abs(point.scores).max())
    reached, cost = meet(found, wanted, linear.scale, lengths, moved, margin)
    away = reached - wanted
    return min(float(found @ found), float(reached @ reached) + 2 * cost), float(away @ away)
