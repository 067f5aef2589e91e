"""Newton's method for the saddle problem over a pool of assignments.

Given a `Saddle`, returns the `SaddlePoint` of

    min_{v in simplex} g(v),   g(v) = max_beta sum_k v_k D(beta, A_k) = min_w P_v(w).

For fixed v the maximizer is found by Newton steps on the pieces of the loss, with an exact line
search, until the pieces repeat. g is convex with gradient -Q_k / 2, Q_k = beta'K_k beta. On a piece
its Hessian is H = R'(K_v + S^-1)^-1 R over the rows with curvature, R_k = K_k beta. A damped
quadratic program over the simplex gives the step in v, and the same system updates beta. The factor
kept by `BorderedSystem` serves all systems.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bagwise._typing import Array
from bagwise.solvers.bordered import BorderedSystem
from bagwise.solvers.qp import TOLERANCES, quadratic_program
from bagwise.solvers.saddle import Mixture, Saddle, SaddlePoint
from bagwise.solvers.solution import overflow

_SUFFICIENT = 1e-4  # of the predicted decrease: Armijo's usual constant
_ATTEMPTS = 8  # each damps 100 times more: the last step is 1e-14 of the first
_LEAST_DAMPING, _MOST_DAMPING = 1e-9, 1e-1  # relative: rounding of H; beyond, steps hardly move
_INNER_STEPS = 200  # Newton steps at fixed v; about ten are usual
_BISECTIONS = 40  # halve [0, 1] to 1e-12
_ROUNDING = 1e-14  # relative: a smaller change of P_v is rounding
_REFINEMENTS = 10  # of a ridge solution; none is needed where the features are scaled
_TRUSTED = 1e-6  # residual of the scores, in units of the margin, that needs no refinement
_REFINED = 1e-9  # residual at which refinement ends
_FAR_OFF = 1e-3  # relative rise of P_v from beta to its own duals that only rounding explains
_SHARE_OF_GAP = 0.05  # that beta may miss while v moves: the step then still gains a digit
_LOOSEST = 1e-7  # of the objective that beta may miss: with more, v took twice the steps
_MANY_ROWS = 3000  # negatives, below which a factor of all rows takes well under a second
_THINNING = 5  # a factor of a fifth of the rows costs 1/125
_FAR = 1e-2  # relative gap, above which the Hessian of the last pieces serves as well
_STALLED = 1e-7  # relative gap below which a step without descent is due to rounding


@dataclass(frozen=True)
class _Inner:
    """Newton's current point for fixed column weights."""

    mixture: Mixture
    beta: Array
    scores: Array
    value: float
    settled: bool = False  # whether the pieces repeated: beta is then exact


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
        A solution over a pool that this one extends.
    system : BorderedSystem, default=None
        Keeps its factor between calls.
    tol : float, default=1e-9
        Maximum gap, relative to the saddle value.
    max_iter : int, default=100
        Maximum number of steps in v.

    Returns
    -------
    SaddlePoint
        ``counts`` holds the numbers of factorizations and systems; ``converged`` says whether the
        gap was reached.
    """
    system = system or BorderedSystem(saddle.K, saddle.negatives)
    before = system.n_factorizations, system.n_systems
    v, beta = _extended(saddle, start)
    inner = _maximize(saddle, system, saddle.mix(v), beta, tol)
    point, history = _measured(saddle, inner), list[dict[str, float]]()
    while point.gap > tol * point.upper and len(history) < max_iter:
        history.append({"upper": point.upper, "gap": point.gap})
        moved = _step(saddle, system, inner, point, tol)
        if moved is None:
            break
        inner, point = moved
    return replace(
        point,
        converged=point.gap <= max(tol, _STALLED) * point.upper,
        n_iter=len(history),
        history=history,
        counts={
            "factorizations": system.n_factorizations - before[0],
            "systems": system.n_systems - before[1],
        },
    )


def thin_start(saddle: Saddle) -> SaddlePoint | None:
    """Return a start for a problem with many negatives, from a fifth of them; None for few.

    At w = 0 all rows are active, and the first factor would be that of all of them.
    """
    if len(saddle.negatives) <= _MANY_ROWS:
        return None
    p, negatives = saddle.n_bags, saddle.negatives[::_THINNING]
    weight = np.concatenate([saddle.weight[:p], _THINNING * saddle.weight[p::_THINNING]])
    thin = replace(saddle, negatives=negatives, weight=weight, columns=(), keys=None)
    for column in saddle.columns:
        thin = thin.with_column(column.weights)
    point = column_newton(thin, thin_start(thin), tol=_LOOSEST)
    beta = np.zeros(len(saddle.weight))
    beta[:p], beta[p::_THINNING] = point.beta[:p], point.beta[p:]
    return replace(point, beta=beta)


def _extended(saddle: Saddle, start: SaddlePoint | None) -> tuple[Array, Array]:
    v = np.zeros(len(saddle.columns))
    if start is None:
        v[:] = 1 / len(v)
        return v, np.zeros(len(saddle.weight))
    v[: len(start.v)] = start.v
    return v, start.beta


def _measured(saddle: Saddle, inner: _Inner) -> SaddlePoint:
    # The duals that belong to the scores are feasible whatever rounding did to beta. Before the
    # pieces repeat, beta itself is closer: its scores are the ones that the losses see.
    beta = saddle.dual(inner.scores) if inner.settled else saddle.feasible(inner.beta)
    point = saddle.point(inner.mixture, beta)
    if point.upper <= (1 + _FAR_OFF) * inner.value:
        return point
    # Rounding ate the digits: the best of what there is, w = 0 included, and the best bound.
    others = [
        saddle.point(inner.mixture, beta)
        for beta in (inner.beta, np.zeros_like(inner.beta))
        if np.isfinite(saddle.conjugate(beta))
    ]
    known = [c for c in (point, *others) if np.isfinite(c.upper) and not np.isnan(c.lower)]
    if not known:  # not even w = 0 has an objective: the kernel overflowed
        raise overflow(point.upper, point.upper - point.lower)
    best = min(known, key=lambda candidate: candidate.upper)
    return replace(best, lower=max(candidate.lower for candidate in known))


# Fixed column weights ----------------------------------------------------------------------------


def _maximize(
    saddle: Saddle, system: BorderedSystem, mixture: Mixture, beta: Array, slack: float
) -> _Inner:
    """Solve for beta with fixed column weights: ridge steps until the pieces repeat.

    Or until the next step would gain less than ``slack`` of the objective. It gains about as much
    as the last one missed its promise by: that is the effect of the pieces that changed.
    """
    scores = saddle.scores(mixture, beta)
    inner = _Inner(mixture, beta, scores, saddle.primal(beta, scores))
    pieces = saddle.pieces(scores)
    if np.allclose(beta, pieces[0] * (pieces[1] - scores), rtol=1e-11, atol=0.0):
        return replace(inner, settled=True)
    for _ in range(_INNER_STEPS):
        full, scores = _ridge(saddle, system, mixture, *pieces)
        promised = _quadratic(inner.beta, inner.scores, *pieces) - _quadratic(full, scores, *pieces)
        before = inner.value
        step, inner = _line_search(saddle, inner, full, scores)
        last, pieces = pieces, saddle.pieces(inner.scores)
        if step == 0:
            break
        if step == 1 and all(np.array_equal(a, b) for a, b in zip(last, pieces, strict=True)):
            return replace(inner, settled=True)
        if step == 1 and abs(before - inner.value - promised) <= slack * inner.value:
            break
    return inner


def _quadratic(beta: Array, scores: Array, curvature: Array, target: Array) -> float:
    return 0.5 * float(beta @ scores + curvature @ (scores - target) ** 2)


def _ridge(
    saddle: Saddle, system: BorderedSystem, mixture: Mixture, curvature: Array, target: Array
) -> tuple[Array, Array]:
    """Return beta with K_v beta + beta / s = target where s > 0, and K_v beta.

    Kernel values that are large beside their differences (a linear kernel on features with an
    offset) cost the border's Schur complement its digits: the residual tells, and is solved for.
    """
    made, used = system.at(mixture, curvature), curvature > 0
    beta = made.solve(target[:, None])[:, 0]
    scores, missed = saddle.scores(mixture, beta), np.inf
    for _ in range(_REFINEMENTS):
        residual = np.zeros_like(target)
        residual[used] = (target - scores)[used] - beta[used] / curvature[used]
        last, missed = missed, float(np.abs(residual).max())
        if missed <= (_REFINED if np.isfinite(last) else _TRUSTED) or missed > 0.5 * last:
            break
        better = beta + made.solve(residual[:, None])[:, 0]
        beta, scores = better, saddle.scores(mixture, better)
    return beta, scores


def _line_search(saddle: Saddle, inner: _Inner, full: Array, scores: Array) -> tuple[float, _Inner]:
    """Minimize P_v between a point and a full Newton step, exactly; the slope is monotone."""
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
    """Find the zero of an increasing function on [0, 1] by bisection.

    SciPy's root finders leave a reference cycle that keeps the kernel matrix in memory.
    """
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return low


# Column weights ----------------------------------------------------------------------------------


def _step(
    saddle: Saddle, system: BorderedSystem, inner: _Inner, point: SaddlePoint, tol: float
) -> tuple[_Inner, SaddlePoint] | None:
    """Take a Newton step in v; return None if g no longer decreases.

    Nearly equal assignments make H nearly singular. A small multiple of the identity keeps the step
    short in those directions, and is raised until g decreases enough. Where the decrease is within
    rounding, a smaller gap decides.
    """
    curvature, _ = saddle.pieces(inner.scores)
    near = point.gap > _FAR * point.upper
    carried = system.at(inner.mixture, curvature, near).solve(point.products)  # (K_v + S^-1)^-1 R
    hessian = point.products.T @ carried
    # In proportion to the gap, which keeps the convergence fast.
    missing = min(max(point.gap / point.upper, _LEAST_DAMPING), _MOST_DAMPING)
    v, damping = inner.mixture.v, missing * float(hessian.diagonal().max())
    norms = point.beta @ point.products
    # A constant in the gradient does not matter; subtracting it saves digits of the differences.
    gradient = 0.5 * (norms @ v - norms)
    slack = min(_SHARE_OF_GAP * max(point.gap / point.upper, tol), _LOOSEST)
    for _ in range(_ATTEMPTS):
        direction = simplex_step(hessian + damping * np.eye(len(v)), gradient, v)
        slope = float(gradient @ direction)
        moved = np.maximum(v + direction, 0.0)
        beta = inner.beta - carried @ direction
        trial = _maximize(saddle, system, saddle.mix(moved / moved.sum()), beta, slack)
        descends = trial.value < inner.value + _SUFFICIENT * slope
        if descends or trial.value < inner.value * (1 + 100 * _ROUNDING):
            measured = _measured(saddle, trial)
            if descends or measured.gap < 0.9 * point.gap:
                return trial, measured
        damping *= 100
    return None


def simplex_step(hessian: Array, gradient: Array, v: Array) -> Array:
    """Minimize 1/2 d'Hd + g'd over the d that keep v + d in the simplex; H positive definite.

    d = 0 where the program fails, so that the caller damps H further.
    """
    slope, bend = float(np.abs(gradient).max()), float(hessian.diagonal().max())
    if slope == 0:
        return np.zeros_like(v)
    length = slope / bend  # the unit that scales the problem to order one
    symmetric = np.asfortranarray((hessian + hessian.T) / (2 * bend))
    equal = np.ones((1, len(v)), order="F"), np.zeros(1)
    tight = dict.fromkeys(TOLERANCES, 1e-12)
    program = quadratic_program(symmetric, gradient / slope, -v / length, equal=equal, **tight)
    if not np.all(np.isfinite(program.x)):
        return np.zeros_like(v)
    step = np.maximum(length * program.x, -v)
    emptied = v + step < 1e-12
    step[emptied] = -v[emptied]
    return step
