"""Standardizing as part of the passes: statistics by one reading, and rows scaled when read."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.designs.conditioned import moments
from bagwise.rowstores import RowStore
from bagwise.rowstores.base import is_mapped, row_blocks
from bagwise.rowstores.cluster import ClusterRows
from bagwise.rowstores.device import DeviceRows
from bagwise.rowstores.files import FileRows


def as_store(X: Any) -> RowStore | None:
    """Return instances that are not in the memory of this process; None for all others."""
    return FileRows([X]) if is_mapped(X) else X if isinstance(X, RowStore) else None


def fit_scaler(scaler: Any, X: RowStore, weights: Array | None = None) -> Any:
    """Fit a ``StandardScaler`` to rows, where they are.

    Weights of rows, and missing values, are for rows that this process reads.
    """
    if weights is None and len(X) > 1:
        mean, spread = _moments(X[:-1])
        if np.isfinite(mean).all():
            scaler.mean_, scaler.var_, scaler.scale_ = mean, spread**2, spread
            scaler.n_features_in_, scaler.n_samples_seen_ = X.shape[1], np.int64(len(X) - 1)
            return scaler.partial_fit(np.asarray(X[-1:]))  # settles scales of constant features
    for some in row_blocks(len(X), 8 * X.shape[1]):
        part = None if weights is None else weights[some]
        scaler.partial_fit(np.asarray(X[some]), sample_weight=part)
    return scaler


def _moments(X: RowStore) -> tuple[Array, Array]:
    if isinstance(X, ClusterRows):
        from bagwise.rows.cluster import each_of

        return moments(X, partial(each_of, X))
    if isinstance(X, DeviceRows):
        from bagwise.designs.torch import TorchDense

        return TorchDense(X).moments()
    return moments(X)
