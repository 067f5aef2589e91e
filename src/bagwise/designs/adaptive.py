"""Choose the rows of a prepared inverse along a path of ridge problems."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.designs.inverse import PreparedInverse

_PATIENCE = 4  # problems without curvature until a row is idle: rows that flicker stay
_CARRYING = 2.0  # cost of correcting an idle row, relative to dropping it (benchmarks/annealing.py)
_FEW_ROWS = 3000  # up to here all rows are inverted at once; musk2 (6598) gains from waiting
_SHELF = 4  # narrowed inverses kept for twins: each takes the memory of a kernel matrix
_COPY = 20.0  # operations per entry that a pass over a matrix costs: memory is slower than BLAS
_LOOK_FIRST = 3  # problems over many rows before the rows that had curvature are inverted


class AdaptiveInverse:
    """A prepared inverse that drops idle rows and adds them again when they get curvature.

    Idle rows make every correction larger. They are dropped by a Schur complement once keeping them
    has cost as much as dropping them would. A row that returns is added by bordering. Twins of a
    subset (the runs of a search over one fold) share a shelf of narrowed inverses, because each run
    needs nearly the same rows as the previous one. Nothing else is shared, so no run depends on
    earlier ones. If there are many rows, only those with curvature in the first problems are
    inverted at all.
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
        """Return an inverse that has every row with curvature, or None if there is none yet."""
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
        """Return the shelved inverse that is cheapest to extend and to use, and its cost."""
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
        """Return the inverse with the wanted rows that it lacks added."""
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
        """Return a copy that shares only the shelf."""
        return AdaptiveInverse(self.K, self.curvature, self.whole, self.shelf)

    def astype(self, K: Array) -> AdaptiveInverse:
        """Return the same inverse in the precision of K."""
        whole = None if self.whole is None else self.whole.astype(K.dtype)
        return AdaptiveInverse(K, self.curvature, whole)

    def subset(self, K: Array, rows: Array) -> AdaptiveInverse:
        """Return the inverse for some rows (sorted), by a Schur complement, with a new shelf."""
        whole = self.whole
        if whole is not None:
            whole = whole.restricted(np.flatnonzero(np.isin(whole.rows, rows)))
            whole = PreparedInverse(np.searchsorted(rows, whole.rows), whole.root, whole.inverse)
        return AdaptiveInverse(K, self.curvature[rows], whole, shelf=[])
