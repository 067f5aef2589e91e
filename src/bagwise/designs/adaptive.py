"""Which rows a prepared inverse should carry while a path of ridge problems runs over it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagwise.designs.inverse import PreparedInverse

__all__ = ["AdaptiveInverse"]

Array = NDArray[Any]

_PATIENCE = 4  # problems without curvature after which a row is idle
_CARRYING = 2.0  # cost of an idle row's share of a correction, in units of dropping it
_FEW_ROWS = 3000  # up to here all rows are inverted at once
_SHELF = 4  # narrowed inverses kept for twins
_COPY = 20.0  # price of a pass over a matrix, in operations an entry
_LOOK_FIRST = 3  # problems watched before the others' rows are inverted


class AdaptiveInverse:
    """A prepared inverse that drops rows which stay idle, and takes them back when they return.

    Idle rows make every correction larger. They are dropped by a Schur complement once carrying
    them has cost as much as dropping them would; a row that returns is added by bordering. Twins of
    a subset (the runs of a search over one fold) keep narrowed inverses on a shelf they share: the
    next run's wanted rows are nearly the last one's. Elsewhere nothing is shared, so that no run
    depends on those before it. Of many rows only those that carry curvature in the first problems
    are inverted at all.
    """

    def __init__(
        self,
        K: Array,
        curvature: Array,
        whole: PreparedInverse | None = None,
        shelf: list[PreparedInverse] | None = None,
    ) -> None:
        self.K, self.curvature, self.whole = K, curvature, whole
        self.shelf = shelf
        if whole is None and len(K) <= _FEW_ROWS:
            self.whole = PreparedInverse.of(K, curvature)
        self.narrow = self.whole
        self.idle = np.zeros(len(K), dtype=np.int64)
        self.outside = np.zeros(len(K), dtype=bool)
        self.seen, self.burden = 0, 0.0

    def serving(self, curvature: Array) -> PreparedInverse | None:
        """Return the inverse to correct, which holds every row that has curvature, if there is one.

        There is none during the first problems over many rows.
        """
        self.idle = np.where(curvature > 0, 0, self.idle + 1)
        self.seen += 1
        if self.narrow is None:
            if self.seen <= _LOOK_FIRST:
                return None
            alive = np.where(self.idle < 2, self.curvature, 0.0)
            self._serve(PreparedInverse.of(self.K, alive))
        return self._updated(curvature, self.narrow)

    def _updated(self, curvature: Array, narrow: Any) -> PreparedInverse:
        if np.any(self.outside & (curvature > 0)):
            narrow = self._serve(self._completed(narrow, curvature > 0))
        alive = self.idle < _PATIENCE
        n, kept = len(narrow.rows), np.count_nonzero(alive[narrow.rows])
        self.burden += _CARRYING * float(n - kept) ** 3
        near, price = self._nearest(alive, n)
        if near is not None and self.burden > price:
            narrow, self.burden = self._serve(self._completed(near, alive)), 0.0
        elif self.burden > (n - kept) * kept * n:
            narrow = self._serve(narrow.restricted(np.flatnonzero(alive[narrow.rows])))
            self.burden = 0.0
            if self.shelf is not None:
                self.shelf[:] = [narrow, *self.shelf[: _SHELF - 1]]
        return narrow

    def _nearest(self, alive: Array, n: int) -> tuple[PreparedInverse | None, float]:
        """Return the shelved inverse that costs least to take and to carry, and that cost."""
        best, least = None, np.inf
        for candidate in self.shelf or []:
            size = len(candidate.rows)
            held = np.count_nonzero(alive[candidate.rows])
            missing = np.count_nonzero(alive & (self.curvature > 0)) - held
            passes = 4.0 * missing + _COPY if missing else 0.0
            price = passes * size**2 + 4 * _CARRYING * float(size - held) ** 3
            if size + missing < n and price < least:
                best, least = candidate, price
        return best, least

    def _completed(self, narrow: PreparedInverse, wanted: Array) -> PreparedInverse:
        """Return the inverse with the wanted rows that it lacks."""
        missing = wanted & (self.curvature > 0)
        missing[narrow.rows] = False
        rows = np.flatnonzero(missing)
        if len(rows) == 0:
            return narrow
        return narrow.extended(self.K, rows, np.sqrt(self.curvature[rows]).astype(self.K.dtype))

    def _serve(self, narrow: PreparedInverse) -> PreparedInverse:
        self.narrow = narrow
        self.outside = self.curvature > 0
        self.outside[narrow.rows] = False
        return narrow

    def twin(self) -> AdaptiveInverse:
        """Return a copy with a memory of its own, but for a shelf."""
        return AdaptiveInverse(self.K, self.curvature, self.whole, self.shelf)

    def astype(self, K: Array) -> AdaptiveInverse:
        """Return the same in the precision of K."""
        whole = None if self.whole is None else self.whole.astype(K.dtype)
        return AdaptiveInverse(K, self.curvature, whole)

    def subset(self, K: Array, rows: Array) -> AdaptiveInverse:
        """Return the inverse for some rows (sorted), by a Schur complement, with a shelf."""
        whole = self.whole
        if whole is not None:
            whole = whole.restricted(np.flatnonzero(np.isin(whole.rows, rows)))
            whole = PreparedInverse(np.searchsorted(rows, whole.rows), whole.root, whole.inverse)
        return AdaptiveInverse(K, self.curvature[rows], whole, shelf=[])
