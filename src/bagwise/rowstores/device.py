"""Rows on a device of PyTorch: a GPU, or the CPU where a test wants to know.

Where not all rows fit into the memory of the device, the first ones stay there and the others
stay where they are, in a file or in the memory of the host. They pass through the device whenever
rows are read: threads read pieces of a block into pinned memory, from where a CUDA stream of its
own copies them into one of two buffers, while the block before is multiplied.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import cycle, islice, pairwise
from queue import SimpleQueue
from types import TracebackType
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags.stored import verify
from bagwise.rowstores import base
from bagwise.rowstores.base import BYTES_PER_ROW, RowStore, count_rows

_READERS = min(8, os.cpu_count() or 1)  # 30 GB/s on 16 cores; with 16 readers it was 24


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
        buffers = [self.like.new_empty(shape) for _ in ranges[:2]]
        wanted = zip(ranges, cycle(buffers), strict=False)
        coming: list[Future] = []

        def order(n: int) -> None:
            free = self.now()
            for (a, b), buffer in islice(wanted, n):
                coming.append(self.loader.submit(self.load, buffer, list(sources(a, b)), free))

        order(len(buffers))  # one is filled while the other one is multiplied
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


_BLOCKS_ON_DEVICE = 16  # blocks that would fill a GPU: two of them are on their way
BLOCK_ROWS = 1 << 16  # rows per product: float32 sums of more rows would lose digits


def import_torch() -> Any:
    """Return PyTorch, or raise an error that says how to get it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError("Rows on a device need PyTorch: pip install 'bagwise[torch]'.") from error
    return torch


def send_to(values: Array, device: Any) -> Any:
    """Return a host vector as a tensor on a device, without waiting for what is computed there."""
    host = import_torch().as_tensor(np.ascontiguousarray(values))
    return host.to(device, non_blocking=True)  # memory that is not pinned is copied first


class DeviceRows(RowStore):
    """Rows of which ``tensor`` has the first ones, and ``rest`` those that did not fit.

    ``chosen`` selects among them, without a copy. bfloat16 becomes float32 where it leaves the
    device. Fitted ``scalers`` are applied to every block that is read.
    """

    home = "device"

    def __init__(
        self,
        tensor: Any,
        is_finite: bool = False,
        rest: Any = None,
        chosen: Array | None = None,
        scalers: tuple[Any, ...] = (),
    ) -> None:
        torch = import_torch()
        self.tensor, self.rest, self.chosen, self.is_finite = tensor, rest, chosen, is_finite
        self.scalers = scalers
        n_rows = len(tensor) + (0 if rest is None else len(rest))
        self.shape = n_rows if chosen is None else len(chosen), tensor.shape[1]
        kinds = {torch.float16: np.float16, torch.float64: np.float64}
        self.dtype = np.dtype(kinds.get(tensor.dtype, np.float32))

    @classmethod
    def of(cls, X: Any, device: str, memory: float | None = None) -> DeviceRows:
        """Copy rows to a device as far as they fit, and look whether all are finite.

        ``memory`` is how many bytes of them stay there, by default what the device has left.
        """
        torch = import_torch()
        if device.startswith("cuda") and not torch.cuda.is_available():
            raise RuntimeError(
                f"PyTorch {torch.__version__} sees no GPU: install a build with CUDA on a machine "
                'with a GPU, or leave the bags where they are. bags.to("cpu") brings them back.'
            )
        kind = {np.float16: torch.float16, np.float64: torch.float64}
        dtype = kind.get(X.dtype.type, torch.float32)
        n_rows, width = len(X), max(1, X.shape[1] * X.dtype.itemsize)
        room = _room(torch, device, X) if memory is None else memory
        resident = n_rows if room >= n_rows * width else max(0, int(room // width))
        tensor = torch.empty((resident, X.shape[1]), dtype=dtype, device=device)
        if resident:
            with Conveyor(torch, tensor, resident) as belt:
                belt.load(tensor, [(0, resident, X, slice(0, resident))], belt.now())
        rows = cls(tensor, True, X[resident:] if resident < n_rows else None)
        rows.is_finite = rows._look(getattr(X, "is_finite", False))
        logging.getLogger(__name__).info("%s", rows.where)
        return rows

    def _look(self, known: bool) -> bool:
        """Return whether all rows are finite: a finite sum proves it."""
        torch, streamed = import_torch(), self.rest is not None
        seen = self if streamed and not known else DeviceRows(self.tensor)
        sums = (block.sum(dtype=torch.float64) for _, block in seen.blocks())
        return all(bool(torch.isfinite(total)) for total in sums)

    @property
    def n_resident(self) -> int:
        """How many of the rows stay on the device."""
        if self.chosen is None:
            return len(self.tensor)
        return int(np.count_nonzero(self.chosen < len(self.tensor)))

    @property
    def where(self) -> str:
        """What stays on the device, and what passes through it in every pass, in words."""
        kept, width = self.n_resident, self.shape[1] * self.tensor.element_size()
        text = f"{kept:,} of {len(self):,} rows ({kept * width / 1e9:.3g} GB) stay on "
        text += f"{self.tensor.device}"
        moved = (len(self) - kept) * width / 1e9
        return f"{text}, {moved:.3g} GB pass through it whenever rows are read" if moved else text

    # Blocks --------------------------------------------------------------------------------------

    def cuts(self, offsets: Array | None = None) -> Array:
        """Return where blocks begin and end, in rows, or in the bags whose offsets are given.

        They depend on the shape of the rows and the device alone, not on what else is there.
        """
        # The state of a fit to the rows of a block is no larger than a block either.
        width = max(self.shape[1] * self.tensor.element_size(), BYTES_PER_ROW)
        limit = max(1, _block_bytes(self.tensor.device) // width)
        count = max(1, -(-len(self) // limit))
        ends = np.arange(count + 1) * len(self) // count
        return ends if offsets is None else np.unique(np.searchsorted(offsets, ends))

    def blocks(self, cuts: Array | None = None) -> Iterator[tuple[slice, Any]]:
        """Yield ranges of rows, and the rows on the device while the next ones are on their way."""
        ranges = list(pairwise((self.cuts() if cuts is None else cuts).tolist()))
        moving = [each for each in ranges if not self._is_resident(*each)]
        if not moving:
            yield from ((slice(a, b), self._scale(self.tensor[a:b])) for a, b in ranges)
            return
        longest = max(b - a for a, b in moving)
        with Conveyor(import_torch(), self.tensor, longest) as belt:
            coming = belt.blocks(moving, self._sources)
            for a, b in ranges:
                resident = self._is_resident(a, b)
                yield slice(a, b), self._scale(self.tensor[a:b] if resident else next(coming))

    def _scale(self, rows: Any) -> Any:
        """Return a block as the scalers make it, computed in float64."""
        if not self.scalers:
            return rows
        scaled = rows.new_empty(rows.shape)
        units = [[send_to(v, rows.device) for v in center_and_scale(s)] for s in self.scalers]
        for part, out in zip(rows.split(BLOCK_ROWS), scaled.split(BLOCK_ROWS), strict=True):
            values = part.double()
            for center, scale in units:
                values = (values - center) / scale
            out.copy_(values)
        return scaled

    def each_block(self, function: Callable[[slice, Any], Any]) -> list[Any]:
        """Return what a function makes of the blocks."""
        return [function(*each) for each in self.blocks()]

    def _is_resident(self, start: int, stop: int) -> bool:
        return self.chosen is None and stop <= len(self.tensor)

    def _sources(self, start: int, stop: int) -> Iterator[tuple[int, int, Any, Any]]:
        """Yield ranges of a block, and where their rows are."""
        kept = len(self.tensor)
        if self.chosen is None:
            here, there = slice(start, min(kept, stop)), slice(max(start - kept, 0), stop - kept)
            if start < kept:
                yield 0, here.stop - start, self.tensor, here
            if stop > kept:
                yield max(kept - start, 0), stop - start, self.rest, there
            return
        numbers = self.chosen[start:stop]
        turns = np.flatnonzero(np.diff(numbers < kept)) + 1
        for a, b in pairwise([0, *turns.tolist(), len(numbers)]):
            part = numbers[a:b]
            yield (a, b, self.tensor, part) if part[0] < kept else (a, b, self.rest, part - kept)

    # Selections, and the way back ----------------------------------------------------------------

    def standardize(self, scaler: Any) -> DeviceRows:
        """Return the rows as a fitted scaler makes them, block by block."""
        scalers = (*self.scalers, scaler)
        return DeviceRows(self.tensor, self.is_finite, self.rest, self.chosen, scalers)

    def __getitem__(self, rows: Any) -> DeviceRows:
        kept, rest, select = len(self.tensor), self.rest, self._select
        if isinstance(rows, slice) and (rows.step or 1) == 1 and self.chosen is None:
            start, stop, _ = rows.indices(len(self))
            rest = (
                None if rest is None or stop <= kept else rest[max(start - kept, 0) : stop - kept]
            )
            return select(self.tensor[start : min(stop, kept)], rest)
        numbers = np.arange(len(self))[rows] if self.chosen is None else self.chosen[rows]
        if rest is not None:
            return select(self.tensor, rest, numbers)
        return select(self.tensor[self.numbers(numbers)])

    def _select(self, tensor: Any, rest: Any = None, chosen: Array | None = None) -> DeviceRows:
        return DeviceRows(tensor, self.is_finite, rest, chosen, self.scalers)

    def numbers(self, numbers: Array) -> Any:
        """Return numbers of rows as a tensor on the device."""
        return send_to(numbers, self.tensor.device)

    def read_into(self, out: Array) -> None:
        """Fill an array with all rows."""
        for a, b, source, rows in self._sources(0, len(self)) if len(self) else ():
            if source is self.tensor:
                out[a:b] = _on_host(source[rows])
            else:
                read_into(out[a:b], source, rows)
        for scaler in self.scalers if len(self) else ():
            out[...] = scaler.transform(out)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if self.rest is None and not self.scalers:
            rows = _on_host(self.tensor)
        else:
            rows = np.empty(self.shape, self.dtype)
            self.read_into(rows)
        return rows if dtype is None else rows.astype(dtype, copy=False)


def center_and_scale(scaler: Any) -> tuple[Array, Array]:
    """Return what a fitted ``StandardScaler`` subtracts, and by what it divides."""
    center = scaler.mean_ if scaler.with_mean else np.zeros_like(scaler.scale_)
    return center, scaler.scale_


def _on_host(tensor: Any) -> Array:
    half = tensor.dtype == import_torch().bfloat16
    return (tensor.float() if half else tensor).cpu().numpy()


def _block_bytes(device: Any) -> int:
    """Return the size of a block: the power of two below a 16th of the device's memory."""
    if device.type != "cuda":
        return base.LARGE_SELECTION
    total = import_torch().cuda.get_device_properties(device).total_memory
    return 1 << int(np.log2(total / _BLOCKS_ON_DEVICE))


def _free_on(torch: Any, where: Any) -> int:
    """Return the bytes that are left on a GPU, with those that PyTorch keeps ready."""
    free, _ = torch.cuda.mem_get_info(where)
    return free + torch.cuda.memory_reserved(where) - torch.cuda.memory_allocated(where)


def _room(torch: Any, device: str, X: Any) -> float:
    """Return the bytes for rows on a device: all of them, or what is left beside two blocks."""
    if not device.startswith("cuda"):
        return float("inf")
    (n_rows, d), where = X.shape, torch.device(device)
    block = _block_bytes(where)
    room = _free_on(torch, where) - 2 * block - BYTES_PER_ROW * n_rows  # temporary results
    room -= 8 * d * (8 * d + 3 * BLOCK_ROWS)  # rows in float64, with what is made of them
    return room if room >= n_rows * d * X.dtype.itemsize else room - 2 * block
