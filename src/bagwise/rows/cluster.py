"""Rows on the workers of a Dask cluster: the passes of `bagwise.rows.host`, as tasks.

A task visits some neighboring shards and adds them up; the client adds what the tasks return. The
numbers of shards per task are powers of two, so that any of them gives the same tree of sums, and
the bits of one process. A pass keeps nothing: what a lost worker had to do, Dask lets another do.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache, partial
from typing import Any
from uuid import uuid4

from bagwise._typing import Array
from bagwise.designs.conditioned import Shift, needs_conditioning
from bagwise.rows.host import Rows, add_up
from bagwise.rows.looks import Look
from bagwise.rowstores.base import BLOCK_BYTES, parts_of
from bagwise.rowstores.cluster import (
    ClusterRows,
    current_client,
    each_part,
    live_workers,
    memory_of_worker,
)
from bagwise.tolerances import one_blas_thread

_TASKS_PER_THREAD = 4  # so that a slow one does not hold up all others
_MALLOC_OPTIONS = (-1, -3)  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc


class RowsOnCluster(Rows):
    """Rows of files that all workers can open."""

    X: ClusterRows

    def __init__(
        self, X: ClusterRows, offsets: Array, block_bytes: int | None, *, conditioned: bool = True
    ) -> None:
        shift = None
        if conditioned:
            needed, center, scale = needs_conditioning(X, partial(each_of, X))
            shift = Shift(center, scale) if needed else None
        super().__init__(X, offsets, shift, block_bytes)
        self.token = uuid4().hex  # of what workers keep on their devices

    def run_pass(self, looks: list[Look]) -> list[Any]:
        """Return the sums of all rows for every look."""
        self.passes += 1
        client = current_client()
        threads, size = live_workers(client), 1
        while len(self.shards) >= 2 * _TASKS_PER_THREAD * size * sum(threads.values()):
            size *= 2
        groups = [self.shards[i : i + size] for i in range(0, len(self.shards), size)]
        workers, calls = list(threads), []
        for i, group in enumerate(groups):
            first, end = group[0][0].bag, group[-1][-1].end
            rows = slice(*self.offsets[[first, end]].tolist())
            parts = [look.part(slice(first, end), rows) for look in looks]
            where = workers[i * len(workers) // len(groups)]  # the same in every pass
            task = self.part(group), parts, self.X.device, self.token
            calls.append(
                client.submit(_visit, *task, workers=[where], allow_other_workers=True, pure=False)
            )
        found = client.gather(calls)
        return [add_up(parts) for parts in zip(*found, strict=True)]


def each_of(X: ClusterRows, function: Any, *args: Any) -> list[Any]:
    """Return what a function makes of the parts of the rows, in their order."""
    return each_part(X, function, parts_of(X), *args)


def _visit(rows: Rows, looks: list[Look], device: str | None, token: str) -> list[Any]:
    """Return the sums of some shards for every look, on a worker."""
    _keep_freed_memory()
    store: Any = rows.X
    with one_blas_thread():
        if device is None:
            rows.X = store.local()
            sums = rows.run_pass(looks)
        else:
            sums = _visit_on_device(rows, looks, device, token)
    if store.crowds(memory_of_worker()):
        store.release()
    return sums


_ON_DEVICE: dict[tuple[str, int], Any] = {}  # rows of the last job, by their first one


def _visit_on_device(rows: Rows, looks: list[Look], device: str, token: str) -> list[Any]:
    """Visit shard by shard, so that the bits do not depend on how many a task has."""
    for other in [key for key in _ON_DEVICE if key[0] != token]:
        del _ON_DEVICE[other]
    found = []
    for shard in rows.shards:
        bags = slice(shard[0].bag, shard[-1].end)
        within = slice(*rows.offsets[[bags.start, bags.stop]].tolist())
        there = _move(rows.part([shard]), device, token)
        sums = there.run_pass([look.part(bags, within) for look in looks])
        found.append([each.bring() for each in sums])
    return [add_up(parts) for parts in zip(*found, strict=True)]


def _move(rows: Rows, device: str, token: str) -> Rows:
    """Return the rows of a shard on a device, where they stay."""
    from bagwise.rows.device import RowsOnDevice
    from bagwise.rowstores.device import DeviceRows

    store: Any = rows.X
    first = store.rows.start if isinstance(store.rows, slice) else int(store.rows[0])
    if (token, first) not in _ON_DEVICE:
        moved = DeviceRows.of(store, device)
        _ON_DEVICE[token, first] = RowsOnDevice(moved, rows.offsets, rows.coordinates)
    return _ON_DEVICE[token, first]


@cache
def _keep_freed_memory() -> None:
    """Let blocks reuse memory: Dask's nanny has it returned at once, which doubles a pass."""
    if sys.platform == "linux" and "MALLOC_TRIM_THRESHOLD_" in os.environ:
        libc = ctypes.CDLL(None)
        for option in _MALLOC_OPTIONS:
            libc.mallopt(option, 2 * BLOCK_BYTES)  # 32 MiB, the most that glibc accepts
