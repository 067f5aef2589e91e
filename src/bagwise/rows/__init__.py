"""The engine: rows that are only ever passed over, and Newton's method on their sums."""

from bagwise.rows.host import Rows, can_pass, make_rows
from bagwise.rows.looks import Assignment, Labels, Place
from bagwise.rows.newton import Newton, View

__all__ = ["Assignment", "Labels", "Newton", "Place", "Rows", "View", "can_pass", "make_rows"]
