"""`Run`, which every outer loop returns, the `Journal` that it keeps, and the lowest of several."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

Callback = Callable[[dict[str, Any]], None]
Steps = Generator[list[Any], Any, Any]  # yields looks at rows, is sent their sums


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
    """

    solution: Any
    assignment: Any
    history: list[dict[str, Any]]
    converged: bool
    starts: list[dict[str, Any]] = field(default_factory=list)


def as_steps(function: Callable[..., Any]) -> Callable[..., Steps]:
    """Return a function as a step that needs no pass over rows."""

    def step(*args: Any) -> Steps:
        yield from ()
        return function(*args)

    return step


def finish(steps: Steps) -> Any:
    """Return the result of steps none of which needs a pass over rows."""
    try:
        looks = next(steps)
    except StopIteration as end:
        return end.value
    raise TypeError(f"{looks!r} are for rows that are passed over: drive them by run().")


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


def keep_lowest(runs: Iterable[Run]) -> Run:
    """Return the run with the lowest objective, of equal ones the first, with a record of all."""
    kept: Run | None = None
    records = []
    for number, run in enumerate(runs):
        solution = run.solution
        record = {"start": number, "objective": solution.objective, "gap": solution.gap}
        records.append({**record, "n_iter": len(run.history)})
        if kept is None or solution.objective < kept.solution.objective:
            kept = run
    assert kept is not None  # n_init >= 1
    return replace(kept, starts=records)
