"""Mapped rows, touched by a thread a little ahead of whoever reads them in order."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

import numpy as np

from bagwise.rowstores import blocks
from bagwise.rowstores.blocks import is_mapped


class Ahead:
    """A context in which the pages of some rows come into memory while others are computed with.

    Without one, a pass reads, computes, reads, ...: the disk waits for the processor and back.
    Rows that no file is mapped to are left alone, and so are few rows.
    """

    def __init__(self, X: Any) -> None:
        self.thread: threading.Thread | None = None
        if is_mapped(X) and X.flags.c_contiguous and X.nbytes >= blocks.LARGE_SELECTION:
            self.width = X.strides[0]
            self.pages = np.asarray(X).reshape(-1).view(np.uint8)
            self.done, self.ended, self.moved = 0, False, threading.Condition()
            self.thread = threading.Thread(target=self._touch, daemon=True)

    def __enter__(self) -> Ahead:
        if self.thread is not None:
            self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self.thread is not None:
            with self.moved:
                self.ended = True
                self.moved.notify()
            self.thread.join()

    def advance(self, row: float) -> None:
        """Note that the rows before this one are done with."""
        if self.thread is not None and row * self.width - self.done >= blocks.BLOCK_BYTES:
            with self.moved:
                self.done = int(row * self.width)
                self.moved.notify()

    def _touch(self) -> None:
        start = 0
        while start < len(self.pages):
            with self.moved:
                while not self.ended and start >= self.done + blocks.LARGE_SELECTION:
                    self.moved.wait()
                start = max(start, self.done)  # what is done with may have left memory again
            if self.ended:
                return
            self.pages[start : start + blocks.BLOCK_BYTES : mmap.PAGESIZE].max(initial=0)
            start += blocks.BLOCK_BYTES


def map_ranges(X: Any, ranges: Iterable[slice], function: Callable[[slice], Any]) -> list[Any]:
    """Return what a function makes of ranges of rows, read in order."""
    found = []
    with Ahead(X) as ahead:
        for rows in ranges:
            found.append(function(rows))
            ahead.advance(rows.stop)
    return found
