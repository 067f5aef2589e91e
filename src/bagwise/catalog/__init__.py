"""The one list of estimators: their papers and names, what they are for, how they are checked.

`by_paper_name`, ``bagwise models``, docs/methods.md, `bagwise.model_selection.candidates`,
`bagwise.testing.estimators` and the model files read it. Estimators are named by dotted path and
imported when asked for, so that the catalog may list whatever lies above it.
"""

from __future__ import annotations

from bagwise.catalog.entries import ENTRIES, OF_TASKS
from bagwise.catalog.entry import (
    EVERY,
    Entry,
    Method,
    UnknownMethodError,
    by_paper_name,
    entry_of,
    make_estimator,
    paper_name_of,
    rank_cost,
    usual_grid,
)

__all__ = [
    "ENTRIES",
    "EVERY",
    "METHODS",
    "OF_TASKS",
    "Entry",
    "Method",
    "UnknownMethodError",
    "by_paper_name",
    "entry_of",
    "make_estimator",
    "paper_name_of",
    "rank_cost",
    "usual_grid",
]

METHODS = tuple(method for entry in ENTRIES for method in entry.methods)  # of classes
