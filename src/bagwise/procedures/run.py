"""`Run`, which every outer loop returns, the `Journal` that it keeps, and what drives loops.

A fit to rows that are passed over is a generator: it yields a list of looks and is sent their sums.
`together` makes one fit of several, with one reading of the rows per round, and `run` drives a fit
to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from bagwise.rows import Rows
from bagwise.rows.looks import Steps
from bagwise.rowstores.base import available_memory

Callback = Callable[[dict[str, Any]], None]
_MATRICES = 6  # of the size of H that a fit holds: two views, their sums, a factor


@dataclass(frozen=True)
class Run:
    """The result of an outer loop, and its iterations."""

    solution: Any  # Solution, Point or SaddlePoint: of the last convex problem that was accepted
    assignment: Any  # what that was built from: weights, witnesses, a pool (Saddle), or None
    history: list[dict[str, Any]]  # one record per iteration
    converged: bool  # False only when a bound on the number of iterations ended the loop
    # Objective, gap and iterations of every start, where there were several.
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


# Fits side by side ---------------------------------------------------------------------------


def together(fits: Iterable[Steps]) -> Steps:
    """Advance fits in step; return their results, in order."""
    fits = list(fits)
    results: list[Any] = [None] * len(fits)
    waiting = dict[int, list[Any]]()

    def advance(i: int, sums: list[Any] | None) -> None:
        try:
            waiting[i] = fits[i].send(sums)
        except StopIteration as end:
            results[i] = end.value
            waiting.pop(i, None)

    for i in range(len(fits)):
        advance(i, None)
    while waiting:
        asked = list(waiting.items())
        sums = yield [look for _, looks in asked for look in looks]
        for i, looks in asked:
            advance(i, sums[: len(looks)])
            sums = sums[len(looks) :]
    return results


def run(rows: Rows, fit: Steps) -> Any:
    """Drive a fit to its end; return its result."""
    sums: list[Any] | None = None
    while True:
        try:
            looks = fit.send(sums)
        except StopIteration as end:
            return end.value
        sums = rows.run_pass(looks)


def run_all(rows: Rows, fits: Iterable[Steps]) -> list[Any]:
    """Drive fits to their ends, as many side by side as memory has room for."""
    fits, one = list(fits), _MATRICES * 8 * rows.n_coef**2
    room = max(1, int(available_memory() / 2 // max(1, one)))
    groups = (fits[i : i + room] for i in range(0, len(fits), room))
    return [result for group in groups for result in run(rows, together(group))]
