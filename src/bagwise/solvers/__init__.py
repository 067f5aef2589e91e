"""Solvers: each takes a problem and returns a `Solution` with its certificate."""

from __future__ import annotations

from bagwise.problems import Solution, certify
from bagwise.solvers.newton import cold_start, newton, newton_steps, solve

__all__ = ["Solution", "certify", "cold_start", "newton", "newton_steps", "solve"]
