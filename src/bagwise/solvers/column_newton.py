"""Newton's method for the saddle problem over a pool of assignments.

Given a `Saddle`, returns the `SaddlePoint` of

    min_{v in simplex} g(v),   g(v) = max_beta sum_k v_k D(beta, A_k) = min_w P_v(w).

For fixed v the maximiser is found by Newton steps on the pieces of the loss, with an exact line
search; it has been found when the pieces repeat. g is convex with gradient -Q_k / 2,
Q_k = beta'K_k beta, and on a piece its Hessian is H = R'(K_v + S^-1)^-1 R over the rows with
curvature, R_k = K_k beta: a damped quadratic program over the simplex gives the step in v, and the
same system carries beta along with it. All systems share the factor kept by `BorderedSystem`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagwise.solvers.bordered import BorderedSystem
from bagwise.solvers.saddle import Mixture, Saddle, SaddlePoint

__all__ = ["column_newton", "simplex_step"]

Array = NDArray[Any]

_SUFFICIENT = 1e-4
_ATTEMPTS = 8
_LEAST_DAMPING, _MOST_DAMPING = 1e-9, 1e-1
_INNER_STEPS = 200
_BISECTIONS = 40
_ROUNDING = 1e-14
_STALLED = 1e-7  # relative gap at which a step that finds no descent met rounding


@dataclass(frozen=True)
class _Inner:
    """The machine of fixed column weights: where Newton stands."""

    mixture: Mixture
    beta: Array
    scores: Array
    value: float


def column_newton(
    saddle: Saddle,
    start: SaddlePoint | None = None,
    *,
    system: BorderedSystem | None = None,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> SaddlePoint:
    """Solve a saddle problem over its pool.

    Parameters
    ----------
    saddle : Saddle
        With at least one column.
    start : SaddlePoint, default=None
        Where to start: a solution over a pool that this one extends.
    system : BorderedSystem, default=None
        Keeps its factor between calls.
    tol : float, default=1e-9
        Gap to reach, relative to the saddle value.
    max_iter : int, default=100
        Most steps in v.

    Returns
    -------
    SaddlePoint
        ``counts`` holds factorisations and systems solved; ``converged`` says whether the gap was
        reached.
    """
    system = system or BorderedSystem(saddle.K, saddle.negatives)
    before = system.n_factorisations, system.n_systems
    v, beta = _extended(saddle, start)
    inner = _maximise(saddle, system, saddle.mix(v), beta)
    point, history = _measured(saddle, inner), list[dict[str, float]]()
    while point.gap > tol * point.upper and len(history) < max_iter:
        history.append({"upper": point.upper, "gap": point.gap})
        moved = _step(saddle, system, inner, point)
        if moved is None:
            break
        inner, point = moved
    return replace(
        point,
        converged=point.gap <= max(tol, _STALLED) * point.upper,
        n_iter=len(history),
        history=history,
        counts={
            "factorisations": system.n_factorisations - before[0],
            "systems": system.n_systems - before[1],
        },
    )


def _extended(saddle: Saddle, start: SaddlePoint | None) -> tuple[Array, Array]:
    v = np.zeros(len(saddle.columns))
    if start is None:
        v[:] = 1 / len(v)
        return v, np.zeros(len(saddle.weight))
    v[: len(start.v)] = start.v
    return v, start.beta


def _measured(saddle: Saddle, inner: _Inner) -> SaddlePoint:
    # The duals that belong to the scores are feasible whatever rounding did to beta.
    return saddle.point(inner.mixture, saddle.dual(inner.scores))


# Fixed column weights ----------------------------------------------------------------------------


def _maximise(saddle: Saddle, system: BorderedSystem, mixture: Mixture, beta: Array) -> _Inner:
    """Find the machine of fixed column weights: ridge steps until the pieces repeat."""
    scores = saddle.scores(mixture, beta)
    inner = _Inner(mixture, beta, scores, saddle.primal(beta, scores))
    pieces = saddle.pieces(scores)
    if np.allclose(beta, pieces[0] * (pieces[1] - scores), rtol=1e-11, atol=0.0):
        return inner
    for _ in range(_INNER_STEPS):
        curvature, target = pieces
        full = system.at(mixture, curvature).solve(target[:, None])[:, 0]
        step, inner = _line_search(saddle, inner, full)
        last, pieces = pieces, saddle.pieces(inner.scores)
        if step == 1 and all(np.array_equal(a, b) for a, b in zip(last, pieces, strict=True)):
            break
        if step == 0:
            break
    return inner


def _line_search(saddle: Saddle, inner: _Inner, full: Array) -> tuple[float, _Inner]:
    """Minimise P_v between a point and a full Newton step, exactly; the slope is monotone."""
    scores = saddle.scores(inner.mixture, full)
    rise, move = full - inner.beta, scores - inner.scores

    def slope(step: float) -> float:
        at = inner.scores + step * move
        return float(rise @ at - saddle.dual(at) @ move)

    step = 1.0
    if slope(1.0) > _ROUNDING * inner.value:
        step = _root(slope) if slope(0.0) < 0 else 0.0
    beta, between = inner.beta + step * rise, inner.scores + step * move
    if step == 1:
        beta, between = full, scores
    value = saddle.primal(beta, between)
    if value > inner.value + _ROUNDING * inner.value:
        return 0.0, inner
    return step, _Inner(inner.mixture, beta, between, value)


def _root(slope: Callable[[float], float]) -> float:
    """Find the zero of a rising function on [0, 1] by bisection.

    scipy's root finders leave a reference cycle behind that keeps a kernel's worth of memory alive.
    """
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return low


# Column weights ----------------------------------------------------------------------------------


def _step(
    saddle: Saddle, system: BorderedSystem, inner: _Inner, point: SaddlePoint
) -> tuple[_Inner, SaddlePoint] | None:
    """Take a Newton step in v; None when g no longer falls.

    Assignments that differ in little make H flat: a small multiple of the identity keeps the step
    short in those directions, and grows until g falls enough. Where g falls by no more than
    rounding, a smaller gap tells a better point.
    """
    curvature, _ = saddle.pieces(inner.scores)
    carried = system.at(inner.mixture, curvature).solve(point.products)  # (K_v + S^-1)^-1 R
    hessian = point.products.T @ carried
    # In proportion to what is still missing, which keeps the convergence fast.
    missing = min(max(point.gap / point.upper, _LEAST_DAMPING), _MOST_DAMPING)
    v, damping = inner.mixture.v, missing * float(hessian.diagonal().max())
    norms = point.beta @ point.products
    # A constant in the gradient does not matter; without it the digits go to the differences.
    gradient = 0.5 * (norms @ v - norms)
    for _ in range(_ATTEMPTS):
        direction = simplex_step(hessian + damping * np.eye(len(v)), gradient, v)
        slope = float(gradient @ direction)
        moved = np.maximum(v + direction, 0.0)
        beta = inner.beta - carried @ direction
        trial = _maximise(saddle, system, saddle.mix(moved / moved.sum()), beta)
        measured = _measured(saddle, trial)
        if trial.value < inner.value + _SUFFICIENT * slope:
            return trial, measured
        if trial.value < inner.value * (1 + 100 * _ROUNDING) and measured.gap < 0.9 * point.gap:
            return trial, measured
        damping *= 100
    return None


def simplex_step(hessian: Array, gradient: Array, v: Array) -> Array:
    """Minimise 1/2 d'Hd + g'd over the d that keep v + d in the simplex; H positive definite."""
    import piqp

    slope, bend = float(np.abs(gradient).max()), float(hessian.diagonal().max())
    if slope == 0:
        return np.zeros_like(v)
    length = slope / bend  # in units of which the problem has numbers near 1
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-12)
    solver.setup(
        np.asfortranarray((hessian + hessian.T) / (2 * bend)),
        gradient / slope,
        np.ones((1, len(v)), order="F"),
        np.zeros(1),
        x_l=-v / length,
        x_u=np.full(len(v), np.inf),
    )
    solver.solve()
    step = np.maximum(length * solver.result.x, -v)
    emptied = v + step < 1e-12
    step[emptied] = -v[emptied]
    return step
