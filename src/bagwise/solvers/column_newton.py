"""Newton's method for the saddle problem over a pool of assignments.

Given a `Saddle`, returns the `SaddlePoint` of

    min_{v in simplex} g(v),   g(v) = max_beta sum_k v_k D(beta, A_k) = min_w P_v(w).

For fixed v the maximizer is found by Newton steps on the pieces of the loss, with an exact line
search, until the pieces repeat. g is convex with gradient -Q_k / 2, Q_k = beta'K_k beta. On a piece
its Hessian is H = R'(K_v + S^-1)^-1 R over the rows with curvature, R_k = K_k beta. A damped
quadratic program over the simplex gives the step in v, and the same system updates beta and omega.

H is nearly singular where assignments are nearly equal, and steps then lead far into other pieces.
But any beta bounds g from below by the plane sum_k v_k D(beta, A_k). The planes of steps that did
not descend stay in the program, which therefore does not try the same step again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from bagwise._typing import Array
from bagwise.problems import overflow
from bagwise.solvers.pool import Mixture, SaddlePoint, Weights
from bagwise.solvers.qp import TOLERANCES, UNBOUNDED, quadratic_program
from bagwise.solvers.saddle import Saddle
from bagwise.solvers.systems import Systems
from bagwise.tolerances import (
    INNER,
    LARGEST_DENSE,
    NOTHING,
    PROVEN,
    ROUNDING,
    SINGLE,
    SMALL_GAIN,
    SUFFICIENT,
    THINNING,
    TIE,
)

_INNER_STEPS = 200  # Newton steps at fixed column weights: about ten are usual
_DAMPING = 10.0  # factor after a step that did not descend, and its inverse after one that did
_ATTEMPTS = np.finfo(float).precision + 1  # the last one damps by all digits
_PLANES = 8  # of failed steps to remember: older ones lie far away


@dataclass(frozen=True)
class _Inner:
    """Newton's current point for fixed column weights."""

    mixture: Mixture
    at: Weights
    value: float
    is_exact: bool = False  # whether the pieces repeated


@dataclass
class _Failures:
    """What steps that did not descend teach the next ones."""

    planes: list[Array] = field(default_factory=list)  # D(beta, A_k) at their ends, (S,) each
    raised: float = 1.0  # by how much the damping is raised

    def add(self, saddle: Saddle, trial: _Inner) -> None:
        """Note a step that did not descend."""
        beta = saddle.make_feasible(trial.at.beta)
        end = saddle.point(trial.mixture, beta, trial.at.omega, np.zeros_like(beta))
        heights = -saddle.conjugate(beta) - 0.5 * end.norms
        if np.all(np.isfinite(heights)):
            self.planes = [*self.planes[1 - _PLANES :], heights]
        self.raised *= _DAMPING

    def around(self, inner: _Inner) -> tuple[Array, Array]:
        """Return the planes as heights above the current value of g, and slopes."""
        v = inner.mixture.v
        planes = np.array(self.planes).reshape(-1, len(v))
        heights = planes @ v
        return heights - inner.value, planes - heights[:, None]


def column_newton(
    saddle: Saddle,
    start: SaddlePoint | None = None,
    *,
    system: Systems | None = None,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> SaddlePoint:
    """Solve a saddle problem over its pool, to a gap of ``tol`` times the saddle value.

    ``start`` is a solution over a pool that this one extends, `thin_start` where it is not given.
    ``system`` keeps its factor between calls, and ``max_iter`` limits the steps in v. ``counts`` of
    the point holds the number of factorizations; ``converged`` says whether the gap was reached.
    """
    system = system or Systems(saddle)
    before = system.n_factorizations
    v, beta, omega = _extend(saddle, thin_start(saddle) if start is None else start)
    inner = _maximize(saddle, system, saddle.mix(v), beta, omega, tol)
    point, history = _measure(saddle, inner, tol), list[dict[str, float]]()
    failures = _Failures()
    while point.gap > tol * point.upper > 0 and len(history) < max_iter:
        history.append({"upper": point.upper, "gap": point.gap})
        moved = _step(saddle, system, inner, point, tol, failures)
        if moved is None:
            break
        inner, point = moved
    # Where all margins can be met, the optimum is 0, and no gap is small beside it.
    rounding = ROUNDING * float(saddle.weight @ saddle.loss.value(np.zeros(len(saddle.weight))))
    return replace(
        point,
        converged=point.gap <= max(tol, SINGLE) * point.upper + rounding,
        n_iter=len(history),
        history=history,
        counts={"factorizations": system.n_factorizations - before},
    )


def thin_start(saddle: Saddle) -> SaddlePoint | None:
    """Return a start for a problem with many negatives, from a fifth of them; None for few.

    At w = 0 all rows are active, and the first factor would be that of all of them.
    """
    if saddle.K is None or len(saddle.negatives) <= LARGEST_DENSE:
        return None
    p, negatives = saddle.n_bags, saddle.negatives[::THINNING]
    weight = np.concatenate([saddle.weight[:p], THINNING * saddle.weight[p::THINNING]])
    thin = replace(saddle, negatives=negatives, weight=weight, columns=(), keys=None)
    thin = thin.with_columns([column.weights for column in saddle.columns])
    point = column_newton(thin, tol=NOTHING)
    beta = np.zeros(len(saddle.weight))
    beta[:p], beta[p::THINNING] = point.beta[:p], point.beta[p:]
    return replace(point, beta=beta)


def _extend(saddle: Saddle, start: SaddlePoint | None) -> tuple[Array, Array, Array]:
    v = np.zeros(len(saddle.columns))
    if start is None:
        v[:] = 1 / len(v)
        return v, np.zeros(len(saddle.weight)), np.zeros(len(saddle.features.scale))
    v[: len(start.v)] = start.v
    return v, start.beta, start.omega


def _measure(saddle: Saddle, inner: _Inner, tol: float) -> SaddlePoint:
    """Return the best of what is known here, and the best bound.

    The duals that belong to the scores are feasible whatever rounding did to beta. Before the
    pieces repeat, and where margins are met to the last digits, beta itself is closer: its scores
    are the ones that the losses see. Where rounding ate the digits, w = 0 may be better than both.
    """
    beta, omega = inner.at.beta, inner.at.omega
    own, feasible = saddle.dual(inner.at.scores), saddle.make_feasible(beta)
    nothing, (curvature, _) = np.zeros_like(beta), saddle.pieces(inner.at.scores)
    known = list[SaddlePoint]()
    for candidate in (own, feasible, beta) if inner.is_exact else (feasible, own, beta):
        known.append(saddle.point(inner.mixture, candidate, omega, curvature))
        best = _best(known)
        near = best.upper <= (1 + NOTHING) * inner.value
        due_to_v = 0.5 * _columns_share(best)
        if best.gap <= tol * best.upper or (near and best.gap - due_to_v <= SMALL_GAIN * best.gap):
            return best
    if near:
        return best
    zero = saddle.point(inner.mixture, nothing, np.zeros_like(omega), curvature)
    best = _best([*known, zero])
    if not np.isfinite(best.upper):  # not even w = 0 has an objective: the kernel overflowed
        raise overflow(best.upper, best.upper - best.lower)
    return best


def _columns_share(point: SaddlePoint) -> float:
    """Return twice the gap that is due to the column weights."""
    return float(point.norms.max() - point.norms @ point.v)


def _best(known: list[SaddlePoint]) -> SaddlePoint:
    """Return the lowest of several points with the highest of their bounds."""
    lowest = min(known, key=lambda point: (np.isnan(point.upper), point.upper))
    bounds = [point.lower for point in known if not np.isnan(point.lower)]
    return replace(lowest, lower=max(bounds, default=-np.inf))


# Fixed column weights ----------------------------------------------------------------------------


def _maximize(
    saddle: Saddle, system: Systems, mixture: Mixture, beta: Array, omega: Array, slack: float
) -> _Inner:
    """Solve for beta and omega with fixed column weights: ridge steps until the pieces repeat.

    Or until the next step would gain less than ``slack`` of the objective. It gains about as much
    as the last one missed its promise by: that is the effect of the pieces that changed.
    """
    at = saddle.weights(mixture, beta, omega)
    inner, pieces = _Inner(mixture, at, saddle.primal(at)), saddle.pieces(at.scores)
    if np.allclose(beta, pieces[0] * (pieces[1] - at.scores), rtol=10 * TIE, atol=0.0):
        return replace(inner, is_exact=True)
    for _ in range(_INNER_STEPS):
        full = _ridge(saddle, system, mixture, *pieces)
        promised = _quadratic(saddle, inner.at, *pieces) - _quadratic(saddle, full, *pieces)
        before = inner.value
        step, inner = _line_search(saddle, inner, full)
        last, pieces = pieces, saddle.pieces(inner.at.scores)
        if step == 0 or (step < 1 and inner.value >= before):  # rounding rules
            break
        if step == 1 and all(np.array_equal(a, b) for a, b in zip(last, pieces, strict=True)):
            return replace(inner, is_exact=True)
        if step == 1 and abs(before - inner.value - promised) <= slack * inner.value:
            break
    return inner


def _quadratic(saddle: Saddle, at: Weights, curvature: Array, target: Array) -> float:
    return 0.5 * (saddle.squared_norm(at) + float(curvature @ (at.scores - target) ** 2))


def _ridge(
    saddle: Saddle, system: Systems, mixture: Mixture, curvature: Array, target: Array
) -> Weights:
    """Return beta with K_v beta + beta / s = target where s > 0, and omega = scale^2 Z_v'beta.

    Kernel values that are large beside their differences cost the border's Schur complement its
    digits: the residual tells, and is solved for.
    """
    made, used = system.at(mixture, curvature), curvature > 0
    beta, omega = (part[:, 0] for part in made.solve(target[:, None]))
    at, missed = saddle.weights(mixture, beta, omega), np.inf
    # Products with K cost more than digits are worth; those with features next to nothing.
    exact = INNER * TIE
    trusted, enough = (10 * SINGLE, PROVEN) if saddle.K is not None else (exact, exact)
    while True:
        residual = np.zeros_like(target)
        residual[used] = (target - at.scores)[used] - at.beta[used] / curvature[used]
        last, missed = missed, float(np.abs(residual).max())
        if missed <= (enough if np.isfinite(last) else trusted) or missed > 0.5 * last:
            return at
        unmet = saddle.unmet(mixture, at)
        more = made.solve(residual[:, None], unmet[:, None])
        at = saddle.weights(mixture, at.beta + more[0][:, 0], at.omega + more[1][:, 0])


def _line_search(saddle: Saddle, inner: _Inner, full: Weights) -> tuple[float, _Inner]:
    """Minimize P_v between a point and a full Newton step, exactly; the slope is monotone."""
    at, scale = inner.at, saddle.features.scale
    move, turn = full.scores - at.scores, (full.omega - at.omega) / scale
    rise = full.beta - at.beta

    def slope(step: float) -> float:
        there = at.toward(full, step)
        along = rise @ there.own + turn @ (there.omega / scale)
        return float(along - saddle.dual(there.scores) @ move)

    step = 1.0
    if slope(1.0) > ROUNDING * inner.value:
        step = _root(slope)
    there = at.toward(full, step)
    value = saddle.primal(there)
    if value > inner.value + ROUNDING * inner.value:
        return 0.0, inner
    return step, _Inner(inner.mixture, there, value)


def _root(slope: Callable[[float], float]) -> float:
    """Find the zero of an increasing function on [0, 1] that ends above zero; 0 if it begins there.

    False position and bisection in turn: the slope is linear between the pieces of the loss.
    SciPy's root finders leave a reference cycle that keeps the kernel matrix in memory.
    """
    low, high, below, above = 0.0, 1.0, slope(0.0), slope(1.0)
    enough, middle, bisect = ROUNDING * max(-below, above), 0.0, False
    while below < 0 and high - low > ROUNDING:
        share = 0.5 if bisect else below / (below - above)
        middle = low + share * (high - low)
        value = slope(middle)
        if abs(value) <= enough:
            break
        if value < 0:
            low, below = middle, value
        else:
            high, above = middle, value
        bisect = not bisect
    return middle


# Column weights ----------------------------------------------------------------------------------


def _step(
    saddle: Saddle,
    system: Systems,
    inner: _Inner,
    point: SaddlePoint,
    tol: float,
    failures: _Failures,
) -> tuple[_Inner, SaddlePoint] | None:
    """Take a Newton step in v; return None if g no longer decreases.

    A multiple of the identity keeps the step short where H is nearly singular, and is raised until
    g decreases enough. Where the decrease is within rounding, a smaller gap decides.
    """
    curvature, _ = saddle.pieces(inner.at.scores)
    # While the gap is large, the Hessian of the last pieces serves as well.
    near, p = point.gap > SMALL_GAIN * point.upper, saddle.n_bags
    # (K_v + S^-1)^-1 R, with R_k = own + Z_v omega_k, omega_k = scale reach_k.
    own = point.products.copy()
    own[:p] += np.einsum("spm,ms->ps", saddle.away - inner.mixture.away, point.reach)
    moments = point.reach / saddle.features.scale[:, None]
    carried, turned = system.at(inner.mixture, curvature, near).solve(own, moments)
    hessian = own.T @ carried + moments.T @ turned + point.reach.T @ point.reach
    # In proportion to the gap, which keeps the convergence fast; with more, steps hardly move.
    missing = min(max(point.gap / point.upper, PROVEN), 1 / _DAMPING)
    v, damping = inner.mixture.v, missing * float(hessian.diagonal().max()) * np.eye(len(point.v))
    # A constant in the gradient does not matter; subtracting it saves digits of the differences.
    gradient = 0.5 * (point.norms @ v - point.norms)
    slack = min(INNER / 2 * max(point.gap / point.upper, tol), SINGLE)
    if point.gap > _columns_share(point):
        slack = 0.0  # most of the gap is that of beta, which was not exact enough
    for attempt in range(_ATTEMPTS):
        heights, slopes = failures.around(inner)
        damped = hessian + failures.raised * damping
        direction = simplex_step(damped, gradient, v, (heights, slopes))
        # No plane is above g but by rounding: what promises a rise is no step down.
        fall = min(0.0, max([gradient @ direction, *(heights + slopes @ direction)]))
        moved = np.maximum(v + direction, 0.0)
        duals = inner.at.beta - carried @ direction, inner.at.omega - turned @ direction
        trial = _maximize(saddle, system, saddle.mix(moved / moved.sum()), *duals, slack)
        descends = trial.value < inner.value + SUFFICIENT * fall
        if descends or trial.value < inner.value * (1 + TIE):
            measured = _measure(saddle, trial, tol)
            if descends or measured.gap < (1 - INNER) * point.gap:
                if attempt == 0:
                    failures.raised = max(failures.raised / _DAMPING, 1.0)
                return trial, measured
        failures.add(saddle, trial)
    return None


def simplex_step(hessian: Array, gradient: Array, v: Array, planes: tuple[Array, Array]) -> Array:
    """Minimize 1/2 d'Hd + max(g'd, planes) over the d that keep v + d in the simplex.

    H is positive definite. ``planes`` are heights (J,) at d = 0 and slopes (J, S). d = 0 where the
    program fails, so that the caller damps H further.
    """
    slope, bend, size = float(np.abs(gradient).max()), float(hessian.diagonal().max()), len(v)
    if slope == 0 or bend == 0:  # nowhere to go, or a curvature that underflowed
        return np.zeros_like(v)
    length = slope / bend  # the unit that scales the problem to order one
    quadratic, linear = np.zeros((size + 1, size + 1), order="F"), np.eye(1, size + 1, size)[0]
    quadratic[:size, :size] = (hessian + hessian.T) / (2 * bend)
    # The last variable is the maximum.
    rows = np.column_stack([np.vstack([gradient, planes[1]]) / slope, -np.ones(1 + len(planes[0]))])
    unit = np.maximum(np.abs(rows).max(axis=1), 1.0)
    high = np.append(0.0, -planes[0] / (slope * length)) / unit
    binding = high < UNBOUNDED
    rows, high = (rows / unit[:, None])[binding], high[binding]
    between = np.asfortranarray(rows), np.full(len(high), -np.inf), high
    program = quadratic_program(
        quadratic,
        linear,
        np.append(-v / length, -np.inf),
        equal=(np.asfortranarray(1.0 - linear[None]), np.zeros(1)),
        between=between,
        **dict.fromkeys(TOLERANCES, TIE),
    )
    if not np.all(np.isfinite(program.x)):
        return np.zeros_like(v)
    step = np.maximum(length * program.x[:size], -v)
    emptied = v + step < TIE
    step[emptied] = -v[emptied]
    return step
