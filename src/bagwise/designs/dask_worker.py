"""What a worker of a Dask cluster does: keep shards of jobs, sweep them, write checkpoints.

A job is one class against the rest on some rows. Everything that happens to its shards is an
operation with a number: a pass, a new assignment, and so on. A worker that does not have a shard,
or has it after another operation than it should, makes it from the last checkpoint and repeats the
few operations since. So a task may run anywhere, and twice, and returns the same bits.

Jobs and checkpoints are files in a folder that all workers see. A job ends when its folder is gone.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from bagwise._threads import one_blas_thread
from bagwise._typing import Array
from bagwise.assumptions.rules import Rule
from bagwise.designs.conditioned import Shift
from bagwise.designs.dense import Dense
from bagwise.designs.swept import Labels, Shard, Sums
from bagwise.designs.tree import Node, add_neighbors, grow
from bagwise.rowstores.blocks import BLOCK_BYTES
from bagwise.rowstores.cluster import ClusterRows, memory_of_worker
from bagwise.rowstores.passes import in_step

JOB = "job.pickle"
# What the constructor of a shard makes, here or on a device, and nothing changes.
_CONSTANT = {"rows", "labels", "torch", "parts", "cuts", "metric"}
_CONSTANT |= {"rounding", "n_coef", "passes"}
_MALLOC_OPTIONS = (-1, -3)  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc
_KEPT_BYTES = 2 * BLOCK_BYTES  # 32 MiB, the most that glibc accepts: a block and its copy


@dataclass(frozen=True)
class Sweep:
    """A pass at a point."""

    coef: Array
    intercept: float
    rule: Rule


@dataclass(frozen=True)
class Change:
    """A method of shards that takes nothing: "sharpen", "refine" or "revert"."""

    method: str


@dataclass(frozen=True)
class Assign:
    """A new assignment of the instances of positive bags, in a file of float64 numbers."""

    path: str


@dataclass(frozen=True)
class Order:
    """What a worker is to do with some shards of a job, and what it is to return."""

    folder: str
    shards: list[int]
    base: int  # number of operations before the last checkpoint
    operations: list[Any]  # those since
    checkpoint: bool  # whether to write the next one
    sums: bool  # of the last operation, a pass; the assignment otherwise

    @property
    def version(self) -> int:
        """Number of operations when it is done."""
        return self.base + len(self.operations)


@dataclass
class Job:
    """Rows with labels, cut into shards; ``shards`` are those that this worker has."""

    rows: ClusterRows
    coordinates: Shift | None
    labels: Labels
    cuts: list[int]
    shards: dict[int, tuple[int, Any]] = field(default_factory=dict)  # with their version

    def __post_init__(self) -> None:
        self.rows.mapped  # noqa: B018  (shards share the map)
        self.design = Dense(self.rows, self.coordinates)
        self.positives = self.labels.positive_parts(self.cuts)
        inside = np.diff(self.labels.offsets) * self.labels.positive
        before = np.concatenate([[0], np.cumsum(inside)])[self.cuts]
        self.inside = [slice(int(a), int(b)) for a, b in pairwise(before)]

    def fresh(self, i: int) -> Any:
        """Return a shard as it is before all operations."""
        bags = slice(self.cuts[i], self.cuts[i + 1])
        labels = self.labels.part(bags)
        rows: Any = self.design.span(*self.labels.offsets[[bags.start, bags.stop]])
        if self.rows.device is None:
            return labels.shard(rows)
        return labels.on_device(_device_rows(rows.X, self.rows.device, self.coordinates))

    def shard(self, i: int, order: Order) -> Any:
        """Return a shard that is ready for the last operation of an order, or done with it."""
        version, shard = self.shards.pop(i, (-1, None))
        last = order.version - order.sums
        if not order.base <= version <= last:
            version = order.base
            shard = self.fresh(i) if version == 0 else self._restore(order, i)
        for operation in order.operations[version - order.base : last - order.base]:
            self._operate(shard, i, operation)
        return shard

    def _operate(self, shard: Any, i: int, operation: Any) -> None:
        if isinstance(operation, Sweep):
            for _ in _visits(shard, operation, self.positives[i]):
                pass
        elif isinstance(operation, Assign):
            part = _part_of(operation.path, self.inside[i])
            shard.p = shard.rows.up(part) if self.rows.device else part
        else:
            getattr(shard, operation.method)()

    def keep(self, i: int, order: Order, shard: Any) -> None:
        """Keep a shard that is done with an order, on disk if the order says so."""
        self.shards[i] = order.version, shard
        if not order.checkpoint:
            return
        state = {name: _here(value) for name, value in vars(shard).items() if name not in _CONSTANT}
        file = _checkpoint(order.folder, i, order.version)
        scratch = file.with_suffix(f".{os.getpid()}")
        scratch.write_bytes(pickle.dumps(state, protocol=5))
        scratch.replace(file)
        for old in file.parent.glob(f"{i}-*.checkpoint"):
            if int(old.stem.split("-")[1]) < order.base:
                old.unlink(missing_ok=True)

    def _restore(self, order: Order, i: int) -> Any:
        shard = self.fresh(i)
        state = pickle.loads(_checkpoint(order.folder, i, order.base).read_bytes())
        for name, value in state.items():
            is_tensor = hasattr(getattr(shard, name), "device") and self.rows.device
            setattr(shard, name, shard.rows.up(value) if is_tensor else value)
        return shard


_JOBS: dict[str, Job] = {}


def advance(orders: list[Order], n_threads: int = 1) -> tuple[str, list[Any]]:
    """Carry out orders in one reading of the rows; return the worker, and one answer per order.

    An answer is a list of nodes of the tree of sums, or the assignment of every shard.
    """
    from distributed import get_worker

    _keep_freed_memory()
    memory = memory_of_worker()
    for folder in [folder for folder in list(_JOBS) if not Path(folder).exists()]:
        _JOBS.pop(folder, None)
    shares = [_share(orders, k, n_threads) for k in range(n_threads)]
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        parts = list(pool.map(_read_once, shares, [memory] * n_threads))
    answers = [[each for part in parts for each in part[k]] for k in range(len(orders))]
    return get_worker().address, [
        add_neighbors(answer) if order.sums else answer
        for order, answer in zip(orders, answers, strict=True)
    ]


def _share(orders: list[Order], k: int, n: int) -> list[Order]:
    ends = [len(order.shards) * j // n for order in orders for j in (k, k + 1)]
    return [
        Order(**{**vars(order), "shards": order.shards[a:b]})
        for order, a, b in zip(orders, ends[::2], ends[1::2], strict=True)
    ]


@cache
def _keep_freed_memory() -> None:
    """Let blocks reuse memory: Dask's nanny has it returned at once, which doubles a pass."""
    if sys.platform == "linux" and "MALLOC_TRIM_THRESHOLD_" in os.environ:
        libc = ctypes.CDLL(None)
        for option in _MALLOC_OPTIONS:
            libc.mallopt(option, _KEPT_BYTES)


def _read_once(orders: list[Order], memory: int | None = None) -> list[list[Any]]:
    """Let the sweeps of several jobs go through the rows side by side, block by block."""
    answers: list[list[Any]] = [[] for _ in orders]
    running = (_carry_out(*each, memory) for each in zip(orders, answers, strict=True))
    in_step([partial(next, each) for each in running])
    return answers


def _carry_out(order: Order, answer: list[Any], memory: int | None) -> Generator[float, None, None]:
    """Work on one shard after another; yield the fraction of the rows that lies behind."""
    if not order.shards:
        return
    job = _job(order.folder)
    offsets, is_crowded = job.labels.offsets, job.rows.crowds(memory)
    for i in order.shards:
        first = int(offsets[job.cuts[i]])
        shard = job.shard(i, order)
        if order.sums:
            visits = _visits(shard, order.operations[-1], job.positives[i])
            while True:
                try:
                    done = next(visits)
                except StopIteration as end:
                    grow(answer, Node(0, i, end.value))
                    break
                yield (first + done) / offsets[-1]
        else:
            answer.append((i, _here(shard.p)))
        job.keep(i, order, shard)
        if is_crowded:
            job.rows[first : int(offsets[job.cuts[i + 1]])].release()


def _visits(shard: Any, pass_: Sweep, positives: slice) -> Generator[int, None, Sums]:
    rule = pass_.rule.part(positives)
    if isinstance(shard, Shard):
        return (yield from shard.visits(pass_.coef, pass_.intercept, rule))
    yield 0
    return shard.sweep(pass_.coef, pass_.intercept, rule).here()


def _job(folder: str) -> Job:
    if folder not in _JOBS:
        _JOBS[folder] = Job(*pickle.loads((Path(folder) / JOB).read_bytes()))
    return _JOBS[folder]


def _checkpoint(folder: str, i: int, version: int) -> Path:
    return Path(folder) / f"{i}-{version}.checkpoint"


def _here(value: Any) -> Any:
    """Return a tensor as an array; other values as they are."""
    return value.cpu().numpy() if hasattr(value, "cpu") else value


def _part_of(path: str, which: slice) -> Array:
    """Read part of a file of float64 numbers."""
    return np.fromfile(path, np.float64, which.stop - which.start, offset=8 * which.start)


_ON_DEVICE: WeakValueDictionary[Any, Any] = WeakValueDictionary()  # rows, once for all jobs


def _device_rows(rows: ClusterRows, device: str, coordinates: Any) -> Any:
    """Return the design of rows on a device: jobs on the same rows share them."""
    from bagwise.designs.torch import TorchDense
    from bagwise.rowstores.device import DeviceRows

    which = rows.rows
    where = (which.start, which.stop) if isinstance(which, slice) else which.tobytes()
    key = rows.file, where, device
    moved = _ON_DEVICE.get(key)
    if moved is None:
        _ON_DEVICE[key] = moved = DeviceRows.of(rows, device)
    design = TorchDense(moved)
    if coordinates is not None:
        design.place(coordinates)
    return design


def scores(rows: ClusterRows, coordinates: Any, coef: Array) -> Array:
    """Return the scores of a block of rows."""
    return Dense(rows, coordinates)._rows(slice(None)) @ coef


def combine(rows: ClusterRows, weights: Any, coordinates: Any) -> Array:
    """Return the part of weighted sums that a block of rows has."""
    return weights @ Dense(rows, coordinates)._rows(slice(None))


def sum_rows(rows: ClusterRows, coordinates: Any) -> Array:
    """Return the sum of a block of rows."""
    return Dense(rows, coordinates)._rows(slice(None)).sum(axis=0, dtype=np.float64)


def in_order(nodes: Iterable[Node]) -> list[Node]:
    """Return nodes from several workers in the order of their shards."""
    return sorted(nodes, key=lambda node: node.first)
