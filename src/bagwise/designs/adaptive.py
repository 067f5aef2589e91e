"""Which rows a prepared inverse should carry while a path of ridge problems runs over it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagwise.designs.inverse import PreparedInverse

__all__ = ["AdaptiveInverse"]

Array = NDArray[Any]

_PATIENCE = 4  # problems without curvature after which a row is idle


class AdaptiveInverse:
    """A prepared inverse that drops rows which stay idle, and takes them back when they return.

    Idle rows make every correction larger. They are dropped by a Schur complement once carrying
    them has cost as much as dropping them would; a row that returns is added by bordering.
    """

    def __init__(self, K: Array, whole: PreparedInverse) -> None:
        self.K, self.whole, self.narrow = K, whole, whole
        self.idle = np.zeros(len(K), dtype=np.int64)
        self.outside = np.zeros(len(K), dtype=bool)
        self.burden = 0.0

    def serving(self, curvature: Array) -> PreparedInverse:
        """Return the inverse to correct for this curvature: it holds every row that has some."""
        self.idle = np.where(curvature > 0, 0, self.idle + 1)
        back = np.flatnonzero(self.outside & (curvature > 0))
        if len(back):
            root = self.whole.root[np.searchsorted(self.whole.rows, back)]
            self._serve(self.narrow.extended(self.K, back, root))
        keep = np.flatnonzero(self.idle[self.narrow.rows] < _PATIENCE)
        n, kept = len(self.narrow.rows), len(keep)
        self.burden += float(n - kept) ** 3
        if self.burden > (n - kept) * kept * n:
            self._serve(self.narrow.restricted(keep))
            self.burden = 0.0
        return self.narrow

    def _serve(self, narrow: PreparedInverse) -> None:
        self.narrow = narrow
        self.outside[self.whole.rows] = True
        self.outside[narrow.rows] = False
