"""Solvers: each takes a problem and returns a `Solution` with its certificate."""

from __future__ import annotations

from bagwise.solvers.newton import cold_start, newton, newton_steps, solve
from bagwise.solvers.solution import Solution, certify

__all__ = ["Solution", "certify", "cold_start", "newton", "newton_steps", "solve"]
