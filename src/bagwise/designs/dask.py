"""Rows on the workers of a Dask cluster: scores there; whatever else needs rows reads them here."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.designs.dense import Dense
from bagwise.rowstores.cluster import ClusterRows, each_part


class ClusterDense(Dense):
    """Dense rows whose products with weights are made by the workers."""

    X: ClusterRows

    def __matmul__(self, coef: Array) -> Array:
        """Return X w."""
        coef = coef.astype(self.precision)
        blocks = [(block.start, block.stop) for block in self._blocks()]
        parts = each_part(self.X, _score, blocks, self.coordinates, coef)
        return np.concatenate(parts).astype(np.float64)


def _score(rows: ClusterRows, coordinates: Any, coef: Array) -> Array:
    """Return the scores of a block of rows."""
    return Dense(rows, coordinates)._rows(slice(None)) @ coef
