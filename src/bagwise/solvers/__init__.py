"""Solvers: each takes a problem and returns a `Solution` with its certificate."""

from __future__ import annotations

from bagwise.designs import Point
from bagwise.losses import PiecewiseQuadratic
from bagwise.problems import Problem
from bagwise.solvers.newton import cold_start, newton, newton_steps
from bagwise.solvers.solution import Solution, certify

__all__ = ["Solution", "certify", "cold_start", "newton", "newton_steps", "solve"]


def solve(problem: Problem, start: Point | None = None) -> Solution:
    """Solve a two-sided problem with the solver for its loss."""
    if isinstance(problem.loss, PiecewiseQuadratic):
        return newton(problem, start)
    from bagwise.solvers.hinge import solve_hinge

    return solve_hinge(problem)
