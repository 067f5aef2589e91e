"""`Run`, which every outer loop returns, and the `Journal` that it keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

Callback = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Run:
    """The result of an outer loop, and its iterations.

    Attributes
    ----------
    solution : Solution, Point or SaddlePoint
        The solution of the last convex problem that was accepted.
    assignment : ndarray or Saddle
        What that problem was built from: weights of instances, witnesses, or a pool of assignments;
        None if there is no such thing.
    history : list of dict
        One record per iteration.
    converged : bool
        False only when a bound on the number of iterations ended the loop.
    starts : list of dict
        Objective, gap and iterations of every start, where there were several.
    stability : ndarray of shape (n_bags,) or None
        How well the other starts agree with this run about the positives of each bag.
    """

    solution: Any
    assignment: Any
    history: list[dict[str, Any]]
    converged: bool
    starts: list[dict[str, Any]] = field(default_factory=list)
    stability: Any = None


class Journal:
    """Collects one record per iteration and passes it to a callback."""

    def __init__(self, callback: Callback | None) -> None:
        self.records: list[dict[str, Any]] = []
        self._callback, self._began = callback, perf_counter()

    def add(self, **record: Any) -> dict[str, Any]:
        """Append a record with the seconds since the start, and return it."""
        record["seconds"] = perf_counter() - self._began
        self.records.append(record)
        if self._callback is not None:
            self._callback(record)
        return record
