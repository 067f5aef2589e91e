"""Dual coordinate descent with one block a bag, for the bag hinge without a graph.

    min_w  1/2|w|^2 + sum_i U_i max(0, 1 - Y_i f_i),   f_i the witness's score (Y_i = 1) or the
    highest score of the bag (Y_i = -1),

has the dual

    max_alpha  sum alpha - 1/2 |sum_k alpha_k Y_k x_k|^2,
               alpha >= 0,  sum_{k in bag i} alpha_k <= U_i,

with one variable for a witness and one for every instance of a negative bag. A visit of a bag is an
exact step on its most violating instance while its sum may grow, an exact exchange between two
instances when it may not, and a step back on instances above their margin. 20 to 60 times faster
here than cutting planes, which see all bags through one slack.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bagwise.designs import Design
from bagwise.oracles_graph import BagHinge, BagScores
from bagwise.segments import segment_sum
from bagwise.solvers.solution import Solution

__all__ = ["block_descent"]

Array = NDArray[Any]

_FULL = 1e-12  # share of a bag's bound below which there is no room
_PASSES_OVER_UNSETTLED = 4  # for one over all


def block_descent(
    design: Any,
    loss: BagHinge,
    witnesses: Array,
    *,
    intercept: bool = True,
    start: Array | None = None,
    tol: float = 1e-10,
    max_passes: int = 5000,
) -> Solution:
    """Solve one convex problem of CCCP.

    Parameters
    ----------
    design : LinearDesign
        All rows.
    loss : BagHinge
        Bags, labels and shares; ``loss.weight`` times a share is the bound U_i.
    witnesses : ndarray of int of shape (n_bags,)
        The row that speaks for each bag.
    intercept : bool, default=True
        Append a constant feature 1; it is penalised like the others.
    start : ndarray of shape (n_rows,), default=None
        Signed weights on rows of an earlier problem, w = Phi'start.
    tol : float, default=1e-10
        Stop at a duality gap of this share of the objective at w = 0.
    max_passes : int, default=5000
        Most passes over the bags.

    Returns
    -------
    Solution
        ``dual`` holds the signed weights on rows, w = Phi'dual.
    """
    tol = max(tol, design.rounding)  # scores of single precision cannot prove a smaller gap
    blocks = _Blocks.of(loss, witnesses)
    rows = sp.csr_array(design.matrix(blocks.rows))
    if intercept:
        rows = sp.csr_array(sp.hstack([rows, np.ones((rows.shape[0], 1))], format="csr"))
    alpha = blocks.feasible(start)
    w = np.asarray(rows.T @ (alpha * blocks.labels), dtype=np.float64)
    violation = np.empty(len(blocks.upper))
    visit = partial(_compiled(), *_arrays(rows, blocks), alpha, w, np.zeros(len(w)), violation)
    order, history = np.random.RandomState(0), list[dict[str, float]]()
    goal = tol * loss.weight * float(loss.share.sum())
    gap, n_passes = np.inf, 0
    while n_passes < max_passes and gap > goal:
        n_passes += 1
        visit(order.permutation(len(violation)))
        worst = float(violation.max())
        unsettled = np.flatnonzero(violation > 0)
        for _ in range(_PASSES_OVER_UNSETTLED):
            visit(order.permutation(unsettled))
        # Rounding gathers in w: it is made anew before it is measured.
        w[:] = rows.T @ (alpha * blocks.labels)
        objective, lower = _values(rows, blocks, alpha, w)
        gap = objective - lower
        history.append({"objective": objective, "dual": lower, "violation": worst})
    return _solution(design, loss, blocks, witnesses, alpha, intercept, n_passes, tol, history)


class _Blocks:
    """The rows that take part, block after block."""

    def __init__(self, rows: Array, offsets: Array, labels: Array, upper: Array) -> None:
        self.rows, self.offsets, self.labels, self.upper = rows, offsets, labels, upper

    @classmethod
    def of(cls, loss: BagHinge, witnesses: Array) -> _Blocks:
        sizes, used = np.diff(loss.offsets), loss.share > 0
        by_witness = loss.positive | (loss.negatives == "witnesses")
        whole = np.flatnonzero(used & ~by_witness)
        inside = np.concatenate([np.arange(a, b) for a, b in _spans(loss.offsets, whole)])
        rows = np.concatenate([witnesses[used & by_witness], inside.astype(np.int64)])
        bounds = loss.weight * loss.share
        labels = np.where(loss.positive, 1.0, -1.0)
        first = np.flatnonzero(used & by_witness)
        counts = np.ones(len(first), dtype=int), sizes[whole]
        owners = np.concatenate([first, np.repeat(whole, counts[1])])
        if loss.negatives == "instances":
            return cls(rows, np.arange(len(rows) + 1), labels[owners], bounds[owners])
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        return cls(rows, offsets, labels[owners], bounds[np.concatenate([first, whole])])

    def feasible(self, start: Array | None) -> Array:
        """Return start as alpha, scaled down where a block exceeds its bound."""
        if start is None:
            return np.zeros(len(self.rows))
        alpha = np.maximum(start[self.rows] * self.labels, 0.0)
        total = segment_sum(alpha, self.offsets)
        shrink = np.minimum(1.0, self.upper / np.maximum(total, 1e-300))
        return alpha * np.repeat(shrink, np.diff(self.offsets))


def _spans(offsets: Array, bags: Array) -> list[tuple[int, int]]:
    return [(int(offsets[i]), int(offsets[i + 1])) for i in bags] or [(0, 0)]


def _arrays(rows: Any, blocks: _Blocks) -> tuple[Array, ...]:
    norms = np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    data = rows.data.astype(np.float64, copy=False)
    return data, rows.indices, rows.indptr, norms, blocks.labels, blocks.offsets, blocks.upper


def _values(rows: Any, blocks: _Blocks, alpha: Array, w: Array) -> tuple[float, float]:
    """Return the primal and the dual objective."""
    slack = np.maximum(0.0, 1 - blocks.labels * (rows @ w))
    highest = np.maximum.reduceat(slack, blocks.offsets[:-1])
    half = 0.5 * float(w @ w)
    return half + float(blocks.upper @ highest), float(alpha.sum()) - half


def _solution(
    design: Design,
    loss: BagHinge,
    blocks: _Blocks,
    witnesses: Array,
    alpha: Array,
    intercept: bool,
    n_passes: int,
    tol: float,
    history: list[dict[str, float]],
) -> Solution:
    dual = np.zeros(design.n_rows)
    dual[blocks.rows] = alpha * blocks.labels
    coef, bias = design.T @ dual, float(intercept * dual.sum())
    scores = design @ coef + bias
    half = 0.5 * (design.squared_norm(coef) + bias**2)
    value = loss.value(BagScores.of(scores, loss.offsets, witnesses))
    objective, lower = half + loss.weight * value, float(alpha.sum()) - half
    gap = max(objective - lower, 0.0)
    return Solution(
        coef=coef,
        intercept=bias,
        scores=scores,
        dual=dual,
        objective=objective,
        gap=gap,
        residual=0.0,  # w is made of the duals
        n_iter=n_passes,
        converged=gap <= 2 * tol * loss.weight * float(loss.share.sum()),
        history=history,
    )


@cache
def _compiled() -> Any:
    import numba

    return numba.njit(cache=True)(_one_pass)


def _one_pass(
    data, indices, indptr, norms, labels, offsets, upper, alpha, w, scratch, violation, order
):
    """Visit the blocks in this order; leave each one's violation of optimality."""
    for i in order:
        # 1) The instance that most wants more weight, and the one that least deserves what it has.
        total, best, bad = 0.0, -1, -1
        least, most = np.inf, -np.inf
        for k in range(offsets[i], offsets[i + 1]):
            score = 0.0
            for j in range(indptr[k], indptr[k + 1]):
                score += data[j] * w[indices[j]]
            gradient = labels[k] * score - 1.0
            total += alpha[k]
            if gradient < least:
                least, best = gradient, k
            if alpha[k] > 0.0 and gradient > most:
                most, bad = gradient, k
        room = upper[i] - total
        full = room <= _FULL * upper[i]
        violation[i] = max(most - min(least, 0.0), 0.0) if full else max(-least, most, 0.0)
        # 2) More weight, or an exchange.
        if least < 0.0 and not full:
            step = min(-least / max(norms[best], 1e-300), room)
            alpha[best] += step
            for j in range(indptr[best], indptr[best + 1]):
                w[indices[j]] += step * labels[best] * data[j]
        elif least < 0.0 and bad != best and most > least:
            for j in range(indptr[best], indptr[best + 1]):
                scratch[indices[j]] = data[j]
            across = 0.0
            for j in range(indptr[bad], indptr[bad + 1]):
                across += data[j] * scratch[indices[j]]
            distance = norms[best] + norms[bad] - 2.0 * across
            step = min((most - least) / max(distance, 1e-300), alpha[bad])
            alpha[best] += step
            alpha[bad] -= step
            for j in range(indptr[best], indptr[best + 1]):
                scratch[indices[j]] = 0.0
                w[indices[j]] += step * labels[best] * data[j]
            for j in range(indptr[bad], indptr[bad + 1]):
                w[indices[j]] -= step * labels[bad] * data[j]
        # 3) Less weight.
        if bad >= 0 and alpha[bad] > 0.0 and most > 0.0:
            score = 0.0
            for j in range(indptr[bad], indptr[bad + 1]):
                score += data[j] * w[indices[j]]
            step = min(max(labels[bad] * score - 1.0, 0.0) / max(norms[bad], 1e-300), alpha[bad])
            alpha[bad] -= step
            for j in range(indptr[bad], indptr[bad + 1]):
                w[indices[j]] -= step * labels[bad] * data[j]
