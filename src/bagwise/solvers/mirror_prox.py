"""Mirror prox for the saddle problem over a pool (Zhang & Jin 2020, Algorithm 1), for comparison.

Given a `Saddle`, returns a `SaddlePoint` of

    min_{v in simplex} max_{a, b >= 0} sum_k v_k D([a; b], A_k).

One iteration takes two mirror steps from the same point, the second one with the gradients at the
end of the first. u = [a; b] moves in the Euclidean geometry and is clipped at zero; v moves in the
entropy geometry and is normalized.

The deterministic form uses exact gradients and a step size that is adapted until

    eta <g(y) - g(w), y - w+> <= V(w, y) + V(y, w+)

holds. ``gradients="stochastic"`` is Algorithm 1 as printed: its first step uses gradients at a
running average (lines 5 and 18). It draws the column of the gradient in u from v, and a column for
the gradient in v uniformly (lines 6-9, 12-15). Departures: gamma_t = 2 / (t + 2), because the
printed 2 / (t + 1) leaves the domain at t = 0; a step size eta_t of order 1 / sqrt(t). With exact
gradients the printed averages were slower than the plain form. C, the set of all assignments, is
the pool.

Reference: T. Zhang, H. Jin, "Optimal margin distribution machine for multi-instance learning",
IJCAI 2020.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from bagwise._typing import Array
from bagwise.solvers.pool import SaddlePoint
from bagwise.solvers.saddle import Saddle
from bagwise.tolerances import TIE, TINY

_CHECK_EVERY = 50  # iterations: computing gaps then takes a few percent of the time


class _State(NamedTuple):
    a: Array
    b: Array
    v: Array

    def mix(self, other: _State, share: float) -> _State:
        return _State(*((1 - share) * x + share * y for x, y in zip(self, other, strict=True)))


def mirror_prox(
    saddle: Saddle,
    start: SaddlePoint | None = None,
    *,
    gradients: str = "exact",
    random_state: np.random.RandomState | None = None,
    tol: float = 1e-4,
    max_iter: int = 20_000,
) -> SaddlePoint:
    """Approach the saddle point by first-order steps; return the best point seen.

    The parameters are those of `column_newton`. With ``gradients="stochastic"``, columns are drawn
    from ``random_state``.
    """
    steps = {"exact": _take_exact_steps, "stochastic": _take_stochastic_steps}[gradients]
    rng = random_state or np.random.RandomState(0)
    best: SaddlePoint | None = None
    history: list[dict[str, float]] = []
    for n_iter, candidates in enumerate(steps(saddle, _first(saddle, start), rng)):
        if n_iter % _CHECK_EVERY and n_iter != max_iter:
            continue
        for state in candidates:
            point = _point(saddle, state)
            best = point if best is None or point.gap < best.gap else best
        assert best is not None
        history.append({"upper": best.upper, "gap": best.gap})
        if best.gap <= tol * best.upper or n_iter >= max_iter:
            break
    assert best is not None
    converged = best.gap <= tol * best.upper
    return replace(best, converged=converged, n_iter=n_iter, history=history)


def _first(saddle: Saddle, start: SaddlePoint | None) -> _State:
    size = len(saddle.columns)
    beta = np.zeros(len(saddle.weight)) if start is None else saddle.sign * start.beta
    v = np.full(size, 1 / size)
    if start is not None and len(start.v):
        # Steps in the entropy geometry cannot leave a face of the simplex.
        known = np.concatenate([start.v, np.zeros(size - len(start.v))])
        v = 0.9 * known + 0.1 * v
    return _State(np.maximum(beta, 0.0), np.maximum(-beta, 0.0), v)


def _point(saddle: Saddle, state: _State) -> SaddlePoint:
    # Where both a and b are positive, their difference has a higher D.
    return saddle.point(saddle.mix(state.v), saddle.sign * (state.a - state.b))


# Gradients ---------------------------------------------------------------------------------------


def _separable(saddle: Saddle, state: _State) -> tuple[Array, Array, float]:
    """Return the part without K: the gradients in a and b, and the value."""
    theta, nu = saddle.loss.theta, saddle.loss.nu
    C = np.maximum(saddle.weight, TINY) / (1 - theta) ** 2
    of_a = 1 - theta - state.a / (2 * C)
    value = (1 - theta) * state.a.sum() - (state.a**2 / (4 * C)).sum()
    if nu == 0:
        return of_a, np.full_like(of_a, -np.inf), float(value)
    of_b = -1 - theta - state.b / (2 * nu * C)
    value -= (1 + theta) * state.b.sum() + (state.b**2 / (4 * nu * C)).sum()
    return of_a, of_b, float(value)


def _gradient(saddle: Saddle, state: _State) -> _State:
    """Return the ascent direction in a and b and the gradient in v, D(u, A_k)."""
    of_a, of_b, value = _separable(saddle, state)
    beta = saddle.sign * (state.a - state.b)
    products = saddle.products(beta)
    margins = saddle.sign * (products @ state.v)
    return _State(of_a - margins, of_b + margins, value - 0.5 * (beta @ products))


def _sample_gradient(saddle: Saddle, state: _State, rng: np.random.RandomState) -> _State:
    """Return unbiased estimates of `_gradient` (lines 6-9)."""
    size = len(state.v)
    drawn = np.searchsorted(np.cumsum(state.v), rng.random_sample() * state.v.sum())
    i, j = min(int(drawn), size - 1), int(rng.randint(size))
    of_a, of_b, value = _separable(saddle, state)
    beta = saddle.sign * (state.a - state.b)
    products = saddle.products(beta)
    margins = saddle.sign * products[:, i]
    of_v = np.zeros(size)
    of_v[j] = size * (value - 0.5 * float(beta @ products[:, j]))
    return _State(of_a - margins, of_b + margins, of_v)


# Steps -------------------------------------------------------------------------------------------


def _mirror_step(at: _State, gradient: _State, step: float, entropy: float) -> _State:
    exponent = -step * gradient.v / entropy
    v = at.v * np.exp(exponent - exponent.max())
    return _State(
        np.maximum(at.a + step * gradient.a, 0.0),
        np.maximum(at.b + step * gradient.b, 0.0),
        v / v.sum(),
    )


def _entropy_weight(saddle: Saddle) -> float:
    """Weigh the entropy against |u|^2 / 2 by the sizes of the two domains.

    That of u is unbounded: the best multiple of the duals at w = 0 estimates the solution's size.
    """
    ray = saddle.dual(np.zeros(len(saddle.weight)))
    state = _State(np.abs(ray), np.zeros_like(ray), np.ones(1))
    linear = (1 - saddle.loss.theta) * state.a.sum()
    bend = 2 * (linear - _separable(saddle, state)[2]) + float((ray @ saddle.products(ray)).mean())
    size = linear / bend * ray
    return float(size @ size) / np.log(max(len(saddle.columns), 2))


def _curvature(saddle: Saddle) -> float:
    """Return the largest curvature of D in u with uniform v."""
    mixture = saddle.mix(np.full(len(saddle.columns), 1 / len(saddle.columns)))
    n_rows, theta = len(saddle.weight), saddle.loss.theta
    product = LinearOperator((n_rows, n_rows), matvec=lambda x: saddle.scores(mixture, x.ravel()))
    largest = float(eigsh(product, 1, v0=np.ones(n_rows), tol=1e-2)[0][0])
    used = saddle.weight[saddle.weight > 0]
    weakest = min(1.0, saddle.loss.nu or 1.0) * used.min()
    return 2 * largest + (1 - theta) ** 2 / (2 * weakest)


def _divergence(at: _State, to: _State, entropy: float) -> float:
    squares = np.sum((to.a - at.a) ** 2) + np.sum((to.b - at.b) ** 2)
    used = to.v > 0
    relative = to.v[used] @ np.log(to.v[used] / at.v[used])
    return float(0.5 * squares + entropy * relative)


def _inner(gradient: _State, other: _State, y: _State, w: _State) -> float:
    """Return <g(y) - g(w), y - w+> of the monotone operator [-grad_u; grad_v]."""
    rise = (other.a - gradient.a) @ (y.a - w.a)
    if np.all(np.isfinite(gradient.b)):
        rise += (other.b - gradient.b) @ (y.b - w.b)
    return float((other.v - gradient.v) @ (y.v - w.v) - rise)


def _take_exact_steps(saddle: Saddle, state: _State, rng: Any) -> Iterator[tuple[_State, ...]]:
    """Yield the last point and the step-weighted average, endlessly."""
    entropy, step = _entropy_weight(saddle), 1.0 / _curvature(saddle)
    average, mass = state, 0.0
    while True:
        yield state, average
        gradient = _gradient(saddle, state)
        while True:
            halfway = _mirror_step(state, gradient, step, entropy)
            other = _gradient(saddle, halfway)
            ahead = _mirror_step(state, other, step, entropy)
            room = _divergence(state, halfway, entropy) + _divergence(halfway, ahead, entropy)
            if step * _inner(gradient, other, halfway, ahead) <= room * (1 + TIE) + TINY:
                break
            step /= 2
        mass += step
        average = average.mix(halfway, step / mass)
        state, step = ahead, 1.1 * step


def _take_stochastic_steps(
    saddle: Saddle, state: _State, rng: np.random.RandomState
) -> Iterator[tuple[_State, ...]]:
    """Yield the running average of Algorithm 1 (line 18), endlessly."""
    entropy, first_step = 10 * _entropy_weight(saddle), 1.0 / _curvature(saddle)
    average, t = state, 0
    while True:
        yield (average,)
        share, step = 2 / (t + 2), first_step / np.sqrt(1 + t / 100)
        middle = average.mix(state, share)  # line 5
        halfway = _mirror_step(state, _sample_gradient(saddle, middle, rng), step, entropy)
        state = _mirror_step(state, _sample_gradient(saddle, halfway, rng), step, entropy)
        average = average.mix(state, share)  # line 18
        t += 1
