"""From the name of a place to rows that are there."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from bagwise.rowstores.base import here


def place_rows(
    X: Any, where: str, device: Any = None, folder: Any = None, memory: Any = None
) -> Any:
    """Return instances that are in the named place.

    ``device`` and ``folder`` are for "dask", ``memory`` is for devices.
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

        return ClusterRows.of(X, device, folder)
    if on_device:
        from bagwise.rowstores.device import DeviceRows

        return DeviceRows.of(X, where, memory)
    raise ValueError(f'Unknown place {where!r}: expected "cuda", "cuda:0", ..., "dask" or "host".')
