"""`Restarts`: estimators that start several times and keep the lowest objective."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.estimators.params import Parameters, integer, param
from bagwise.procedures import Run
from bagwise.procedures.restart import lowest


class Restarts(Parameters):
    """A number of starts.

    Attributes
    ----------
    starts_ : list of dict
        With ``n_init`` > 1: objective, gap and iterations of every start (one such list per class
        for three classes or more). Starts that end far apart say that the minimum is one of many.
    stability_ : ndarray of shape (n_bags,) or (n_classes, n_bags)
        With ``n_init`` > 1: how well the other starts agree with the one that is kept about the
        positive instances of each positive bag: the mean Jaccard index, 1 where all find the same
        ones. NaN for bags that are not positive.
    """

    n_init: int = param(
        1,
        integer(),
        "Number of starts, of which the lowest objective is kept: first the usual one, then random "
        "ones. More than one adds ``starts_`` and ``stability_``.",
    )

    def _lowest(
        self,
        fit_from: Callable[[np.random.RandomState | None], Run],
        offsets: Array,
        positive: Array,
    ) -> Run:
        """Run the usual start (None) and ``n_init`` - 1 random ones; keep the lowest."""
        if self.n_init == 1:
            return fit_from(None)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        rng = np.random.RandomState(seed)  # not the stream of init="random"
        runs = (fit_from(rng if number else None) for number in range(self.n_init))
        return lowest(runs, offsets, positive)
