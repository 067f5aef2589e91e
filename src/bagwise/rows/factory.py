"""Which rows are passed over, and how they are made."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.designs.conditioned import Shift, needs_conditioning
from bagwise.designs.linear import LARGEST_SYSTEM
from bagwise.losses import Loss, SquaredHinge
from bagwise.rows.host import Rows, WideRows
from bagwise.rowstores.cluster import ClusterRows
from bagwise.rowstores.device import DeviceRows


def can_pass(X: Any, loss: Loss) -> bool:
    """Return whether problems on these rows are solved by passes: dense rows, squared hinge."""
    if sp.issparse(X) or not isinstance(loss, SquaredHinge):
        return False
    return min(X.shape) <= LARGEST_SYSTEM or isinstance(X, DeviceRows | ClusterRows)


def make_rows(
    X: Any, offsets: Array, *, conditioned: bool = True, block_bytes: int | None = None
) -> Rows:
    """Return the rows of bags, conditioned where that saves digits unless they are not to be."""
    if isinstance(X, DeviceRows):
        from bagwise.designs.torch import TorchDense
        from bagwise.rows.device import RowsOnDevice

        shift: Any = TorchDense(X).condition().coordinates if conditioned else None
        return RowsOnDevice(X, offsets, shift)
    if isinstance(X, ClusterRows):
        from bagwise.rows.cluster import RowsOnCluster

        return RowsOnCluster(X, offsets, block_bytes, conditioned=conditioned)
    if not conditioned:
        return Rows(X, offsets, None, block_bytes)
    if X.shape[0] < X.shape[1]:
        return WideRows(X, offsets)
    needed, center, scale = needs_conditioning(X)
    return Rows(X, offsets, Shift(center, scale) if needed else None, block_bytes)
