"""Outer loops; each of them returns a `Run`."""

from bagwise.procedures.alternate import alternate
from bagwise.procedures.cccp import cccp
from bagwise.procedures.run import Run

__all__ = ["Run", "alternate", "cccp"]
