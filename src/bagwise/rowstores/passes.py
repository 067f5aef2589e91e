"""Passes over rows that lie in files: fits in a group read them once for all.

A pass is a generator. It yields the number of rows that it is done with, and returns its result.
Passes that are taken together read the same part of a file at the same time: the one that is
furthest behind in the file goes on. The work and the sums of each are its own, and so are its bits.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterable, Sequence
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any

import numpy as np

from bagwise.rowstores.ahead import Ahead
from bagwise.rowstores.blocks import lies_in_files
from bagwise.rowstores.together import request_pass

Visits = Generator[int, None, Any]
_WITHIN: ContextVar[bool] = ContextVar("_WITHIN", default=False)  # a pass, which may need others


def run_pass(X: Any, visits: Visits) -> Any:
    """Return the result of a pass over rows, which shares its reading with those of other fits."""
    if _WITHIN.get() or not lies_in_files(X):
        return run_alone(visits)
    return request_pass(_walk, _Pass(X, visits))


def visit_ranges(ranges: Iterable[slice], function: Callable[[slice], Any]) -> Visits:
    """Apply a function to ranges of rows; the result is a list."""
    found = []
    for rows in ranges:
        found.append(function(rows))
        yield rows.stop
    return found


def shift_visits(first: int, visits: Visits) -> Visits:
    """Take a pass over rows that come after some others."""
    while True:
        try:
            row = next(visits)
        except StopIteration as end:
            return end.value
        yield first + row


def run_alone(visits: Visits) -> Any:
    """Take a pass by itself, and return its result."""
    return in_step([partial(next, visits)])[0]


def in_step(
    passes: Sequence[Callable[[], float]], tell: Callable[[float], None] = lambda place: None
) -> list[Any]:
    """Go through several passes side by side, and return their results.

    Calling a pass takes its next step and returns its place in the rows. Whichever is furthest
    behind goes on; ``tell`` is told where that is.
    """
    found: list[Any] = [None] * len(passes)
    queue: list[tuple[float, int]] = [(-np.inf, k) for k in range(len(passes))]
    while queue:
        place, k = queue[0]
        tell(place)
        try:
            heapq.heapreplace(queue, (passes[k](), k))
        except StopIteration as end:
            found[k] = end.value
            heapq.heappop(queue)
    return found


class _Pass:
    """A pass over some rows of a file, which knows where in the file it is."""

    def __init__(self, X: Any, visits: Visits) -> None:
        from bagwise.rowstores.files import FileRows

        self.X, self.visits, self.context = X, visits, copy_context()
        self.context.run(_WITHIN.set, True)
        self.rows: Any = FileRows.of(X) if isinstance(X, np.ndarray) else X

    def __call__(self) -> int:
        """Go on, and return the row of the file that comes next."""
        return self.rows.place(self.context.run(next, self.visits))


def _walk(passes: list[_Pass]) -> list[Any]:
    # One pass alone need not read what it leaves out of the file.
    X, first = passes[0].X, passes[0].rows.places[0]
    if len(passes) > 1:
        X, first = passes[0].rows.file, 0
    with Ahead(X) as ahead:
        return in_step(passes, lambda place: ahead.advance(place - first))
