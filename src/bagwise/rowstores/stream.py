"""Rows on their way to a device: the next block travels while the present one is multiplied.

Threads read pieces of a block into pinned memory, from where a CUDA stream of its own copies them
into one of two buffers on the device. On the CPU of PyTorch the same happens without streams.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import cycle, islice
from queue import SimpleQueue
from types import TracebackType
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags.stored import verify
from bagwise.rowstores.base import RowStore
from bagwise.rowstores.blocks import count_rows

_READERS = min(8, os.cpu_count() or 1)  # 30 GB/s on 16 cores; with 16 readers it was 24
_BUFFERS = 2  # one is filled while the other one is multiplied


def read_into(out: Array, source: Any, rows: slice | Array) -> None:
    """Fill an array with rows of a matrix that is in memory or in files."""
    part = source[rows]
    if isinstance(part, RowStore):
        part.read_into(out)
        return
    verify(part)
    np.copyto(out, part)


class Conveyor:
    """Two buffers on a device, and what fills them; to be used in a ``with`` statement."""

    def __init__(self, torch: Any, like: Any, longest: int) -> None:
        self.torch, self.like, self.longest = torch, like, longest
        self.module = torch.get_device_module(like.device)
        self.stream = self.module.Stream(like.device)
        self.readers = ThreadPoolExecutor(_READERS, "bagwise-reader")
        self.loader = ThreadPoolExecutor(1, "bagwise-loader")
        width = like.shape[1] * like.element_size()
        self.n_rows = min(longest, count_rows(width))
        self.staging: SimpleQueue[tuple[Any, Any]] = SimpleQueue()
        pinned = {"dtype": like.dtype, "pin_memory": like.device.type == "cuda"}
        for _ in range(min(2 * _READERS, -(-longest // self.n_rows))):
            piece = torch.empty((self.n_rows, like.shape[1]), **pinned)
            self.staging.put((piece, self.module.Event()))

    def __enter__(self) -> Conveyor:
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.loader.shutdown(cancel_futures=True)
        self.readers.shutdown(cancel_futures=True)
        self._present.wait_stream(self.stream)  # before the memory is used again

    @property
    def _present(self) -> Any:
        """The stream of the products."""
        return self.module.current_stream(self.like.device)

    def now(self) -> Any:
        """Return the event at which all products until now are done."""
        event = self.module.Event()
        event.record(self._present)
        return event

    def blocks(self, ranges: list[tuple[int, int]], sources: Any) -> Iterator[Any]:
        """Yield ranges of rows as tensors, each valid until the next one is asked for.

        ``sources(a, b)`` yields what a range consists of: (first position, last, source, rows),
        where the source is a tensor on the device, or a matrix on the host.
        """
        shape = self.longest, self.like.shape[1]
        buffers = [self.like.new_empty(shape) for _ in range(min(_BUFFERS, len(ranges)))]
        wanted = zip(ranges, cycle(buffers), strict=False)
        coming: list[Future] = []

        def order(n: int) -> None:
            free = self.now()
            for (a, b), buffer in islice(wanted, n):
                coming.append(self.loader.submit(self.load, buffer, list(sources(a, b)), free))

        order(_BUFFERS)
        for (a, b), buffer in zip(ranges, cycle(buffers), strict=False):
            coming.pop(0).result().wait(self._present)
            yield buffer[: b - a]
            order(1)

    def load(self, target: Any, parts: list[Any], free: Any) -> Any:
        """Fill a tensor on the device when it is free; return the event at which it is full."""
        free.wait(self.stream)
        jobs = []
        for first, stop, source, rows in parts:
            if self.torch.is_tensor(source):
                self._gather(target[first:stop], source, rows)
                continue
            for start in range(first, stop, self.n_rows):
                end = min(stop, start + self.n_rows)
                some = _piece(rows, start - first, end - first)
                jobs.append(self.readers.submit(self._bring, target[start:end], source, some))
        for job in jobs:
            job.result()
        full = self.module.Event()
        full.record(self.stream)
        return full

    def _gather(self, target: Any, source: Any, rows: slice | Array) -> None:
        with self.module.stream(self.stream):
            if isinstance(rows, slice):
                target.copy_(source[rows])
            else:
                index = self.torch.as_tensor(rows).to(source.device)
                self.torch.index_select(source, 0, index, out=target)

    def _bring(self, target: Any, source: Any, rows: slice | Array) -> None:
        piece, copied = self.staging.get()
        try:
            copied.synchronize()
            read_into(piece[: len(target)].numpy(), source, rows)
            with self.module.stream(self.stream):
                target.copy_(piece[: len(target)], non_blocking=True)
            copied.record(self.stream)
        finally:
            self.staging.put((piece, copied))


def _piece(rows: slice | Array, start: int, stop: int) -> slice | Array:
    """Return part of a selection of rows."""
    if isinstance(rows, slice):
        return slice(rows.start + start, rows.start + stop)
    return rows[start:stop]
