"""The engine: rows that are only ever passed over, and Newton's method on their sums."""

from bagwise.rows.factory import can_pass, make_rows
from bagwise.rows.host import Rows
from bagwise.rows.looks import Assignment, Labels, Place
from bagwise.rows.newton import Newton, View
from bagwise.rows.steps import run, run_all, together

__all__ = [
    "Assignment",
    "Labels",
    "Newton",
    "Place",
    "Rows",
    "View",
    "can_pass",
    "make_rows",
    "run",
    "run_all",
    "together",
]
