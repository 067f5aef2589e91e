"""`RowStore`: rows of floats that are elsewhere, and come as an array when asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.rowstores.blocks import row_blocks


def here(rows: Any) -> Any:
    """Return rows as a matrix of this process."""
    return np.asarray(rows) if isinstance(rows, RowStore) else rows


class RowStore(ABC):
    """A matrix of instances that `Bags.X` may be: selections stay where they are.

    ``np.asarray(store[rows])`` brings rows into this process.
    """

    shape: tuple[int, int]
    dtype: np.dtype  # of the arrays that it gives
    ndim: int = 2
    home = "here"  # where products are made: in this process, on a "device" or a "cluster"
    is_finite = False  # whether it is known to hold neither NaN nor infinity

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def is_here(self) -> bool:
        """Whether this process reads the rows itself, as it would those of an array."""
        return self.home == "here"

    @abstractmethod
    def __getitem__(self, rows: Any) -> RowStore:
        """Return a selection of rows, by a slice or by their numbers."""

    def mean(self, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        """Return the means of the features in float64, read in blocks; `numpy.mean` calls it."""
        total = np.zeros(self.shape[1])
        for block in row_blocks(len(self), 8 * self.shape[1]):
            total += np.asarray(self[block]).sum(axis=0, dtype=np.float64)
        return total / len(self)

    def read_into(self, out: Array) -> None:
        """Fill an array with all rows."""
        out[...] = np.asarray(self)

    @abstractmethod
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return all rows."""


def place_rows(X: Any, where: str, device: Any = None, memory: Any = None) -> Any:
    """Return instances that are in the named place.

    ``device`` is for "dask", ``memory`` is for devices.
    """
    on_device = where.startswith(("cuda", "cpu"))
    if memory is not None and not (on_device and memory >= 0):
        raise ValueError(
            f"memory={memory!r} with {where!r}: it is the number of bytes, 0 or more, that stay on "
            'a device of PyTorch, such as "cuda".'
        )
    if where == "host":
        return here(X)
    if sp.issparse(X):
        raise ValueError(
            f"Sparse instances cannot be moved to {where!r}: fit them where they are, or make them "
            "dense with bags.replace(X=bags.X.toarray()) if there is memory for that."
        )
    if where == "dask":
        from bagwise.rowstores.cluster import ClusterRows

        return ClusterRows.of(X, device)
    if on_device:
        from bagwise.rowstores.device import DeviceRows

        return DeviceRows.of(X, where, memory)
    raise ValueError(f'Unknown place {where!r}: expected "cuda", "cuda:0", ..., "dask" or "host".')
