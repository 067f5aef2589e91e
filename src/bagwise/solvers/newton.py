"""Primal Newton for the two-sided problem with a piecewise quadratic loss.

Given a `Problem` whose loss has ``pieces``, returns the `Solution` of

    min_{w,b} 1/2|w|^2 + sum_k [ a_k l(z_k) + c_k l(-z_k) ].

On the current pieces the problem is a weighted ridge regression (Chapelle 2007, "Training a
support vector machine in the primal"). If the pieces at its minimizer are the same, that minimizer
is the optimum. A step is halved only if the objective would exceed all of its last three values
(Grippo, Lampariello & Lucidi 1986): full steps find the right pieces sooner than strict descent
does. Badly scaled features can make Newton zigzag. The weights are then raised tenfold at a time
from almost nothing, and each problem starts at the solution of the previous one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.designs import Design, Point
from bagwise.kernels import MANY_ROWS
from bagwise.losses import PiecewiseQuadratic
from bagwise.problems import Problem, Solution, certify, overflow
from bagwise.solvers.pieces import quadratic_gap
from bagwise.tolerances import (
    COARSE,
    INNER,
    MAX_STEPS,
    MEMORY,
    NOTHING,
    PATIENCE,
    SINGLE,
    SUFFICIENT,
    THINNING,
    TINY,
    provable_gap,
)

_STAGES = 10.0 ** np.arange(-8, 0)  # a tenth of the final weights comes last


def solve(problem: Problem, start: Point | None = None) -> Solution:
    """Solve a two-sided problem with the solver for its loss."""
    if isinstance(problem.loss, PiecewiseQuadratic):
        return newton(problem, start)
    from bagwise.solvers.hinge import solve_hinge

    return solve_hinge(problem)


def newton(
    problem: Problem, start: Point | None = None, *, tol: float = 1e-10, max_iter: int = MAX_STEPS
) -> Solution:
    """Solve a two-sided problem with a piecewise quadratic loss, from `cold_start` by default.

    Steps end when the pieces repeat or, in designs that solve their linear systems iteratively,
    when the KKT residual is at most ``tol`` times the largest weight. ``converged`` is True if the
    duality gap is at rounding level or, with iterative linear systems, if the residual reached
    ``tol``.
    """
    history: list[dict[str, float]] = []
    point = cold_start(problem) if start is None else start
    point, settled = newton_steps(problem, point, tol, min(PATIENCE, max_iter), history)
    solution = _certify(problem, point, settled)
    stuck = not settled or solution.gap > NOTHING * solution.objective
    if stuck and not solution.converged and len(history) < max_iter:
        staged, settled = _raise_weights(problem, tol, max_iter, history)
        again = _certify(problem, staged, settled)
        solution = again if again.gap < solution.gap else solution
    return replace(solution, n_iter=len(history), history=history)


def _certify(problem: Problem, point: Point, settled: bool) -> Solution:
    """Certify a point; where ridge steps are exact, only a gap at rounding level converged."""
    itself = problem.design.proves_itself
    duals = problem.own_duals(point) if itself else problem.duals(point.scores + point.intercept)
    solution = certify(problem, point, *duals, n_iter=0, converged=settled)
    rounding = problem.design.rounding
    worst = problem.risk(np.zeros_like(solution.scores))
    digits = 10 * SINGLE if itself else provable_gap(rounding)
    enough = digits * (solution.objective + rounding * worst)
    if solution.gap > enough:
        solution = replace(solution, gap=min(solution.gap, quadratic_gap(problem, point)))
    proven = solution.gap <= enough
    return replace(solution, converged=proven or (settled and not problem.design.exact))


def cold_start(problem: Problem) -> Point:
    """Return a starting point: zero, or the solution of a smaller problem.

    A fifth of the rows, for designs that factor a matrix of the rows' size and have many rows: it
    avoids factoring rows that turn out to be inactive. All rows of a low-rank approximation, for
    iterative kernel designs: they precondition with it anyway.
    """
    design = problem.design
    if design.proves_itself:
        return _start_from_sketch(problem, design)
    if not design.cost_is_cubic or design.n_rows <= MANY_ROWS:
        return design.start()
    rows = np.arange(0, design.n_rows, THINNING)
    thin = Problem(
        design.fresh().subset(rows),
        THINNING * problem.positive[rows],
        THINNING * problem.negative[rows],
        problem.loss,
        None if problem.margin is None else problem.margin[rows],
    )
    point, _ = newton_steps(thin, thin.design.start(), 1e-8, PATIENCE, [])
    ones = np.ones(len(rows)), rows, np.arange(len(rows) + 1)
    coef = design.lift(sp.csr_array(ones, shape=(len(rows), design.n_rows)), point.coef)
    return Point(coef, point.intercept, design @ coef)


def _start_from_sketch(problem: Problem, design: Design) -> Point:
    """Solve the problem of a low-rank kernel roughly, and take one step with the kernel itself.

    The step gives every active row its coefficient. Those of few pivots are large and of both
    signs, so that the rounding of K shows in their objective.
    """
    curvature, _ = problem.quadratic(np.zeros(design.n_rows))  # both sides of a row are active
    if not curvature.any():
        return design.start()
    design.prepare(curvature)
    sketch = design.sketch()
    assert sketch is not None  # it proves itself
    low = problem.on(sketch)
    point, _ = newton_steps(low, low.design.start(), 1e-8, PATIENCE, [], slack=COARSE)
    coef = sketch.dual(point.coef)
    point = Point(coef, point.intercept, design @ coef)
    atol = np.sqrt(2 * COARSE * problem.objective(point))
    return design.weighted_ridge(*problem.quadratic(point.scores + point.intercept), point, atol)


def _raise_weights(
    problem: Problem, tol: float, max_iter: int, history: list[dict[str, Any]]
) -> tuple[Point, bool]:
    """Raise the weights in stages; the records of a stage have its ``share`` of the weights."""
    point = problem.design.start()
    for share in _STAGES:
        stage = replace(
            problem, positive=share * problem.positive, negative=share * problem.negative
        )
        steps: list[dict[str, Any]] = []
        point, _ = newton_steps(stage, point, tol, min(PATIENCE, max_iter - len(history)), steps)
        history += [{**step, "share": share} for step in steps]
    return newton_steps(problem, point, tol, max_iter - len(history), history)


def newton_steps(
    problem: Problem,
    point: Point,
    tol: float,
    max_iter: int,
    history: list[dict[str, Any]],
    slack: float = 0.0,
) -> tuple[Point, bool]:
    """Take Newton steps until the pieces repeat; return the point and whether they did.

    One record per step is appended to ``history``. The objective may rise between steps, but never
    above that of ``point``. No certificate is computed. With a relative tolerance ``slack`` it also
    stops if a step changes the objective by less, or by what the quadratic promised within it.
    """
    design = problem.design
    values, pieces = [problem.objective(point)], problem.quadratic(point.scores + point.intercept)
    residual, goal = _residual_and_goal(problem, point, values[-1], tol, slack)
    for _ in range(max_iter):
        # 1) Minimize the quadratic that holds here, only as exactly as the residual justifies.
        atol = max(INNER * goal, 1e-2 * residual)
        if design.proves_itself:  # it knows by itself how much a step is worth
            atol = np.sqrt(2 * INNER * max(slack, SINGLE) * abs(values[-1]))
        full = design.weighted_ridge(*pieces, point, atol)
        # 2) Go there, or part of the way.
        drop = _promise(design, pieces, point, full)
        if np.isnan(drop):  # no step along it would be a number
            raise overflow(values[-1], drop)
        point, value, step = _line_search(problem, point, full, values, drop)
        values.append(value)
        history.append({"objective": value, "step": step})
        last_residual, (residual, goal) = (
            residual,
            _residual_and_goal(problem, point, value, tol, slack),
        )
        if design.proves_itself and slack == 0 and residual <= goal:
            return point, True
        # 3) Stop if nothing is left to gain. The next step gains about as much as this one missed
        #    its promise by: that is the effect of the pieces that changed.
        fall = values[-2] - value
        stalled = abs(fall) <= max(slack, design.rounding) * abs(values[-2])
        foreseen = slack > 0 and abs(fall - drop) <= slack * abs(value)
        whole = step == 1 or drop == 0  # at the optimum, rounding alone shortens a step
        arrived = whole and residual <= goal
        if arrived and (stalled or foreseen):
            return point, True
        # 4) Stop if the same quadratic holds: its minimizer is the optimum.
        last_pieces, pieces = pieces, problem.quadratic(point.scores + point.intercept)
        same = all(np.array_equal(new, old) for new, old in zip(pieces, last_pieces, strict=True))
        if arrived and same:
            return point, True
        if stalled and residual > 0.5 * last_residual:
            return point, False
    return point, False


def _residual_and_goal(
    problem: Problem, point: Point, value: float, tol: float, slack: float
) -> tuple[float, float]:
    """Return the KKT residual and its goal, or the duality gap of a design that proves itself."""
    design = problem.design
    if design.proves_itself and slack == 0:
        gap = value - problem.dual_objective(*problem.own_duals(point), point)
        return gap, SINGLE * abs(value)
    goal = tol * max(float(np.max(problem.positive + problem.negative)), TINY)
    roughly = design.exact or design.proves_itself
    return (0.0 if roughly else problem.residual_at(point)), goal


def _promise(design: Design, pieces: tuple[Array, Array], point: Point, full: Point) -> float:
    """Return the decrease of the quadratic from a point to its minimizer."""
    curvature, target = pieces

    def quadratic(at: Point) -> float:
        misfit = at.scores + at.intercept - target
        norm = design.squared_norm(at.coef, at.scores)
        return 0.5 * (norm + float(curvature @ misfit**2))

    return max(quadratic(point) - quadratic(full), 0.0)


def _line_search(
    problem: Problem, point: Point, full: Point, values: list[float], drop: float
) -> tuple[Point, float, float]:
    """Halve the step until the objective is below a recent one by a share of the promised decrease.

    Without that share, Newton can alternate forever between two pieces of equal objective. Rounding
    is allowed for, but only once: no step leads above the first of the objectives ``values``.
    """
    step, ceiling = 1.0, max(values[-MEMORY:])
    slack = problem.design.rounding
    for _ in range(PATIENCE):
        trial = point.toward(full, step)
        value = problem.objective(trial)
        enough = SUFFICIENT * step * drop
        if value <= min(
            ceiling - enough + slack * abs(ceiling), values[0] + slack * abs(values[0])
        ):
            return trial, value, step
        step /= 2
    return point, values[-1], 1.0  # no descent left above rounding
