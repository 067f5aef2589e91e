"""Outer loops, each written once."""

from bagwise.procedures.alternate import Alternation, alternate

__all__ = ["Alternation", "alternate"]
