"""Several selections of the same rows, taken from one stream of blocks through a device.

Folds have rows of their own, and blocks of their own, whose bounds decide about bits. A block of a
selection is put together on the device from the blocks of the stream, of which each passes once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bagwise._typing import Array


class Wanted(NamedTuple):
    """What a pass does with the blocks of some rows on a device."""

    rows: Any  # DeviceRows
    cuts: Array
    function: Callable[[slice, Any], Any]


def serve_blocks(wanted: list[Wanted]) -> list[list[Any]]:
    """Return what each function makes of its blocks, in order."""
    found: list[list[Any]] = [[] for _ in wanted]
    streams: dict[Any, dict[Any, _Selection]] = {}
    for (rows, cuts, function), results in zip(wanted, found, strict=True):
        chosen = None if rows.chosen is None else rows.chosen.tobytes()
        same = streams.setdefault((id(rows.rest), rows.tensor.data_ptr()), {})
        which = same.setdefault((chosen, cuts.tobytes()), _Selection(rows, cuts))
        which.takers.append((function, results))
    for same in streams.values():
        in_order = [each for each in same.values() if each.is_sorted]
        together = in_order if len(in_order) > 1 else []
        for each in same.values():
            if each not in together:
                each.take_own()
        if together:
            for rows, block in together[0].rows.whole().blocks():
                for each in together:
                    each.take(rows, block)
    return found


class _Selection:
    """Some rows, and who takes their blocks."""

    def __init__(self, rows: Any, cuts: Array) -> None:
        self.rows, self.cuts, self.next = rows, cuts, 0
        self.takers: list[tuple[Callable[[slice, Any], Any], list[Any]]] = []
        self.is_sorted = rows.chosen is None or bool(np.all(np.diff(rows.chosen) >= 0))
        self.buffer: Any = None

    def take_own(self) -> None:
        """Take blocks of a stream of its own."""
        for rows, block in self.rows.blocks(self.cuts):
            self._give(rows, block)

    def take(self, rows: slice, block: Any) -> None:
        """Take what is selected of a block, and give away the blocks that it completes."""
        chosen, start, end = self.rows.chosen, rows.start, rows.stop
        if chosen is not None:
            start, end = np.searchsorted(chosen, [start, end]).tolist()
        while start < end:
            first, last = self.cuts[self.next : self.next + 2].tolist()
            stop = min(end, last)
            own = slice(start, stop) if chosen is None else chosen[start:stop]
            self._put(block, own, rows.start, slice(start - first, stop - first))
            if stop == last:
                self._give(slice(first, last), self.buffer[: last - first])
                self.next += 1
            start = stop

    def _put(self, block: Any, own: Any, first: int, where: slice) -> None:
        """Copy rows of a block, which begins with the given row, to their place."""
        if self.buffer is None:
            self.buffer = block.new_empty((int(np.diff(self.cuts).max()), block.shape[1]))
        if isinstance(own, slice):
            self.buffer[where] = block[own.start - first : own.stop - first]
            return
        index = self.rows.numbers(own - first)
        self.buffer[where] = block[index]

    def _give(self, rows: slice, block: Any) -> None:
        for function, results in self.takers:
            results.append(function(rows, block))
