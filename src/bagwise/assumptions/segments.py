"""Reductions within bags on arrays of NumPy or PyTorch: the one class that knows both."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from bagwise._typing import Array


class Segments:
    """Bags of a vector: where each begins, and sums, maxima and first maxima within them.

    No bag is empty. ``xp`` is the namespace of the vectors, `numpy` or `torch`.
    """

    def __init__(self, xp: Any, sizes: Any) -> None:
        self.xp, self.sizes, self.starts = xp, sizes, xp.cumsum(sizes, 0) - sizes
        repeat = np.repeat if xp is np else xp.repeat_interleave
        self.bag = repeat(xp.arange(len(sizes), **self._place), sizes)

    @classmethod
    def of_offsets(cls, offsets: Array) -> Segments:
        """Return the bags of NumPy vectors with these offsets."""
        return cls(np, np.diff(offsets))

    @cached_property
    def _one(self) -> Any:
        return self.xp.ones(1, dtype=self.xp.float64, **self._place)

    @cached_property
    def counts(self) -> Any:
        """Sizes as floats."""
        return self.sizes * self._one

    @cached_property
    def has_singles(self) -> bool:
        """Whether a bag has one row only."""
        return bool((self.sizes == 1).any())

    @property
    def _place(self) -> dict[str, Any]:
        return {} if self.xp is np else {"device": self.sizes.device}

    def expand(self, bags: Any) -> Any:
        """Return one value per row from one per bag."""
        return bags[self.bag]

    def sum(self, values: Any) -> Any:
        """Return the sum of every bag."""
        return self._reduce(values, np.add, "sum")

    def max(self, values: Any) -> Any:
        """Return the largest value of every bag."""
        return self._reduce(values, np.maximum, "max")

    def _reduce(self, values: Any, ufunc: Any, name: str) -> Any:
        if self.xp is np:
            return ufunc.reduceat(values, self.starts) if len(self.starts) else values[:0]
        # No atomics, so that bits repeat; its own look at the lengths would wait for the device.
        return self.xp.segment_reduce(values, name, lengths=self.sizes, unsafe=True)

    def first_max(self, values: Any) -> Any:
        """Return a mask of the first of the largest values of every bag."""
        before = -self.xp.arange(len(values), dtype=self.xp.float64, **self._place)
        tops = self.xp.where(values == self.expand(self.max(values)), before, -np.inf)
        return tops == self.expand(self.max(tops))

    def indicate(self, mask: Any) -> Any:
        """Return 1.0 where a mask holds and 0.0 elsewhere."""
        return mask * self._one

    def select(self, bags: Any) -> tuple[Segments, Any]:
        """Return the segments of some bags (a mask), and the mask of their rows."""
        return Segments(self.xp, self.sizes[bags]), self.expand(bags)


def positive_part(values: Any) -> Any:
    """Return max(0, value), in either namespace."""
    return values * (values > 0)
