"""L-BFGS for min_w alpha/2 |w|^2 + R(w) with a smooth risk R, by SciPy's L-BFGS-B.

Where R is convex, or the difference of a convex function and one that is replaced by its tangent
at w, the objective is alpha-strongly convex: f(w) - f* <= |grad f(w)|^2 / (2 alpha) is proven, and
the solver stops on it.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from bagwise._typing import Array
from bagwise.problems import Solution, overflow
from bagwise.solvers.bundle import ScoreOracle

_MEMORY = 20  # pairs kept: beside one pass over the instances their cost is nothing


def lbfgs(
    oracle: ScoreOracle, alpha: float, start: Array, *, tol: float, max_iter: int = 1000
) -> Solution:
    """Minimize from a starting point, to a gap |grad|^2 / (2 alpha) of ``tol`` times the objective.

    After ``max_iter`` iterations no further round begins; a round starts SciPy's solver with an
    empty memory. ``gap`` bounds what a convex problem that touches the objective here can gain; for
    a convex R it is the distance from the minimum. ``scores`` are z, the intercept is 0.
    """

    def objective(w: Array) -> tuple[float, Array]:
        risk, r = oracle.evaluate(oracle.forward(w))
        return risk + alpha / 2 * float(w @ w), oracle.backward(r) + alpha * w

    w, steps = np.asarray(start, dtype=np.float64), 0
    value, gradient = objective(w)
    gap = float(gradient @ gradient) / (2 * alpha)
    while gap > tol * abs(value) and steps < max_iter:
        largest = float(np.sqrt(2 * alpha * tol * abs(value) / len(w)))  # the gap is then met
        options = {"maxiter": max_iter, "gtol": largest, "ftol": 0.0, "maxcor": _MEMORY}
        options["maxfun"] = 2 * max_iter  # one or two evaluations per iteration are usual
        found = minimize(objective, w, jac=True, method="L-BFGS-B", options=options)
        w, value, gradient, steps = found.x, float(found.fun), found.jac, steps + int(found.nit)
        gap = float(gradient @ gradient) / (2 * alpha)
        if found.nit == 0:  # rounding ends it
            break
    if not (np.isfinite(value) and np.isfinite(gap)):
        raise overflow(value, gap)
    return Solution(
        coef=w,
        intercept=0.0,
        scores=oracle.forward(w),
        dual=np.empty(0),
        objective=value,
        gap=gap,
        residual=float(np.abs(gradient).max(initial=0.0)),
        n_iter=steps,
        converged=gap <= tol * abs(value),
    )
