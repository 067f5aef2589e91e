"""One runner of cells: models on folds in, records out.

A cell is one fit that is judged: a model on a fold. Its ``id``, a text, names its record and says
all that the result depends on; its ``name`` is that of the model; its ``head`` is what the record
says before the result. `Runner` runs cells in this process, or in several by joblib, and stores
every record at once; a stored cell is not run again unless it failed.

The time limit is soft. Estimators that iterate look at the clock through their ``callback``. A cell
may take as long as lets all cells of its model finish; a longer one is stopped, since its model
would be late in any case. Time that models known to be cheaper still need is theirs. What a model
takes is seen on a part of the bags (`Probe`) before its first cell, and on its first cell before
the others. A model that would take more than its part of the time comes last; one that does not fit
into time or memory is left out, with the reason. Nothing depends on the clock unless the limit is
reached.
"""

from __future__ import annotations

import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import ceil, inf
from pathlib import Path
from typing import Any

import joblib
from joblib import Parallel, delayed, effective_n_jobs

from bagwise.bags import Bags
from bagwise.bags.leaks import fingerprints
from bagwise.errors import message_of
from bagwise.io._records import ResultsFile, hold_lock, read_records
from bagwise.model_selection.clock import NEVER, Cost, Deadline, OutOfTimeError, Probe
from bagwise.rowstores import RowStore
from bagwise.tolerances import one_blas_thread

Record = dict[str, Any]


# Stored records -----------------------------------------------------------------------------------


def hash_data(bags: Bags, *more: Any) -> str:
    """Return a hash of bags and of what belongs to them."""
    X = fingerprints(bags) if isinstance(bags.X, RowStore) else bags.X
    return str(joblib.hash((X, bags.offsets, *more)))


def read_store(path: Path, identify: Callable[[Record], str]) -> tuple[list[Record], dict]:
    """Return records that are of no cell (`identify` says ""), and the last one of each cell."""
    every = [(identify(record), record) for record in read_records(path)]
    return [record for name, record in every if not name], {n: r for n, r in every if n}


def is_failure(record: Record) -> bool:
    """Return whether a cell failed; "error" is what version 0.2 wrote."""
    return "failure" in record or "error" in record


class Store:
    """A file of records, one JSON line per cell; its folder is locked while the store is open."""

    def __init__(self, path: Path, identify: Callable[[Record], str]) -> None:
        self.path, self.identify = path, identify
        self._stack = ExitStack()
        self._file: ResultsFile | None = None

    def __enter__(self) -> Store:
        self._stack.enter_context(hold_lock(self.path.parent))
        self.heads, self.records = read_store(self.path, self.identify)
        return self

    def __exit__(self, *reason: object) -> None:
        self._stack.close()

    def append(self, record: Record) -> None:
        """Write a record; it is on the disk when this returns."""
        if self._file is None:
            self._file = self._stack.enter_context(ResultsFile(self.path))
        self._file.append(record)


# The run ------------------------------------------------------------------------------------------


@dataclass
class Runner:
    """Runs cells, within a time limit.

    Parameters
    ----------
    work : callable
        ``work(data, cell, until)`` returns what the record says, in JSON's types.
    data : callable
        ``data(cell)`` returns what ``work`` gets; it travels to other processes.
    store : Store, default=None
        Where records are kept.
    deadline : Deadline, default=never
        When to stop.
    n_jobs : int, default=None
        Number of cells that run at the same time.
    probes : dict of str to Probe, default={}
        What is measured before the first cell of a model; models without a probe are not.
    n_refits : int, default=0
        Fits that a model needs after its cells.
    announce : callable, default=nothing
        ``announce(name, seconds)`` hears what the cells of a model would take before the first.

    Attributes
    ----------
    left_out : dict of str to str
        Models that did not fit into time or memory, and why.
    in_time : bool
        Whether the time limit changed nothing.
    """

    work: Callable[[Any, Any, Deadline], Record]
    data: Callable[[Any], Any]
    store: Store | None = None
    deadline: Deadline = NEVER
    n_jobs: int | None = None
    probes: dict[str, Probe] = field(default_factory=dict)
    n_refits: int = 0
    announce: Callable[[str, float], Any] = lambda name, seconds: None
    left_out: dict[str, str] = field(default_factory=dict)
    in_time: bool = True

    def __post_init__(self) -> None:
        self._elapsed: dict[str, list[float]] = {}  # seconds of the cells of each model
        self._open: Counter[str] = Counter()  # cells of each model that did not begin
        self._failed: set[str] = set()
        self._costs: dict[str, Cost] = {}  # of a cell, foreseen
        self._late: set[str] = set()  # models that come after the others

    def recall(self, cells: Sequence[Any]) -> list[tuple[Any, Record]]:
        """Return cells with their stored records; failures do not count."""
        stored = {} if self.store is None else self.store.records
        known = {i: r for i, r in stored.items() if not is_failure(r)}
        return [(cell, known[cell.id]) for cell in cells if cell.id in known]

    def run(self, cells: Sequence[Any], later: Sequence[Any] = ()) -> Iterator[tuple[Any, Record]]:
        """Yield the other cells with their records; a model that failed is not tried again.

        Time is kept for those that are to be run ``later``.
        """
        known = {cell.id for cell, _ in self.recall(cells)}
        left = [cell for cell in cells if cell.id not in known]
        self._open = Counter(cell.name for cell in [*left, *later])
        parallel = Parallel(
            self.n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
        )
        jobs = (
            delayed(_run_cell)(self.work, self.data(cell), cell, until)
            for cell, until in self._affordable(left)
        )
        for cell, record in parallel(jobs):
            if record is None:
                self._leave_out(cell.name, "it was stopped: its folds would not finish in time")
                continue
            self._note(cell, record)
            yield cell, record

    def _note(self, cell: Any, record: Record) -> None:
        if self.store is not None:
            self.store.append(record)
        if "failure" in record:
            self._failed.add(cell.name)
        self._elapsed.setdefault(cell.name, []).append(record["elapsed"])

    def _affordable(self, cells: list[Any]) -> Iterator[tuple[Any, Deadline]]:
        """Yield the cells that are to be run, one by one, each with its own deadline."""
        waiting = sorted(cells, key=lambda cell: cell.name in self._late)
        while waiting:
            if self.deadline.left <= 0:
                self.in_time = False
                return
            cell = waiting.pop(0)
            if cell.name in self.left_out or cell.name in self._failed:
                continue
            if self._comes_last(cell.name):
                waiting = sorted([cell, *waiting], key=lambda other: other.name == cell.name)
                continue
            seconds = self._share(cell.name)
            reason = self._refuse(cell.name, seconds)
            if reason:
                self._leave_out(cell.name, reason)
                continue
            self._open[cell.name] -= 1
            yield cell, Deadline.after(seconds)

    def _comes_last(self, name: str) -> bool:
        """Return, once, whether a model would take more than its part of the time."""
        if name in self._costs or name in self._elapsed or name not in self.probes:
            return False
        others = [n for n in self._open if n not in self._elapsed and n not in self.left_out]
        part = self.deadline.left / len(others) / self._rounds(name)
        cost = self._costs[name] = self.probes[name].measure(part)
        self.announce(name, cost.seconds * self._rounds(name))
        if cost.seconds <= part:
            return False
        self._late.add(name)
        self._open[name] = self._open.pop(name)  # other models have their time first
        return True

    def _leave_out(self, name: str, reason: str) -> None:
        self.left_out[name] = reason
        self.in_time = self.in_time and "memory" in reason

    def _rounds(self, name: str) -> int:
        """Return how many fits of a model are left, one after the other."""
        return ceil(self._open[name] / effective_n_jobs(self.n_jobs)) + self.n_refits

    def _mean_seconds(self, name: str) -> float:
        """Return the seconds per cell of a model, 0 before the first one."""
        elapsed = self._elapsed.get(name, [0.0])
        return sum(elapsed) / len(elapsed)

    def _share(self, name: str) -> float:
        """Return the seconds that a cell may take for all cells of its model to finish in time."""
        if self.deadline == NEVER:  # a benchmark has thousands of names
            return inf
        others = [other for other in self._open if other != name and other not in self.left_out]
        cheaper = [n for n in others if self._mean_seconds(n) <= (self._foresee(name) or inf)]
        taken = sum(self._mean_seconds(other) * self._rounds(other) for other in cheaper)
        return (self.deadline.left - taken) / self._rounds(name)

    def _foresee(self, name: str) -> float:
        """Return the seconds per cell of a model, before the first one those of its probe or 0."""
        return self._mean_seconds(name) or (self._costs[name].seconds if name in self._costs else 0)

    def _refuse(self, name: str, seconds: float) -> str:
        """Return why a model cannot go on, or ""."""
        if seconds <= 0:
            return "no time was left for it"
        took = self._mean_seconds(name)
        if took:
            slow = f"a fold took {took:.1f} s, its other folds would not finish in time"
            return slow if took > seconds else ""
        if name not in self.probes:
            return ""
        if name in self._late:  # it was measured no longer than its part of the time
            self._costs[name] = self.probes[name].measure(seconds, again=True)
        return self.probes[name].refuse(self._costs[name], seconds)


def _run_cell(
    work: Callable[..., Record], data: Any, cell: Any, until: Deadline
) -> tuple[Any, Record | None]:
    """Return the record of a cell, None if it was stopped; perhaps in another process."""
    began, clock = time.process_time(), time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, one_blas_thread():
        warnings.simplefilter("always")
        try:
            until.check()
            record = work(data, cell, until)
        except OutOfTimeError:
            return cell, None
        except Exception as error:  # noqa: BLE001 (a result of this model; the others go on)
            record = {"failure": _describe(error)}
    record["warned"] = [message_of(warning.message) for warning in caught]
    took = {"seconds": time.process_time() - began, "elapsed": time.perf_counter() - clock}
    return cell, {**cell.head, **record, **took}


def _describe(error: Exception) -> str:
    """Say why a fit failed; for what is no fault of the data also where."""
    said = message_of(error)
    if isinstance(error, MemoryError):
        return said or "not enough memory"
    if isinstance(error, ValueError):
        return said
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {said} (in {where.name}, line {where.lineno})"
