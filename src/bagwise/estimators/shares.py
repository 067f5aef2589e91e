"""`ShareRegressor`: estimators that learn from the share of positive instances in each bag."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.ids import name_of
from bagwise.bags.segments import segment_argmax
from bagwise.estimators.input import BagInput, check_weight


class ShareRegressor(RegressorMixin, BagInput):
    """Base of estimators whose targets are shares; a subclass adds ``_learn`` and its scores."""

    def _learn(self, bags: Bags, counts: Array, weight: Array) -> None:
        raise NotImplementedError

    def fit(self, bags: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from shares.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The training bags.
        y : array-like of shape (n_bags,), default=None
            The share of positives in each bag, in [0, 1]; ``bags.priors`` when None.
        sample_weight : array-like of shape (n_bags,), default=None
            One weight per bag.

        Returns
        -------
        self
            The fitted estimator.
        """
        fresh = self._make_fresh()
        fresh._validate_params()
        bags = fresh._validate_bags(bags, reset=True)
        fresh._learn(bags, fresh._counts(bags, y), check_weight(bags, sample_weight))
        return self._become(fresh)

    def _counts(self, bags: Bags, shares: Any) -> Array:
        """Return the number of positives in each bag."""
        shares = bags.priors if shares is None else shares
        if shares is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None, and "
                "the bags have no priors: give the share of positives in each bag."
            )
        shares = column_or_1d(shares, dtype=np.float64)
        if len(shares) != len(bags):
            raise ValueError(f"y has {len(shares)} shares, there are {len(bags)} bags.")
        bad = np.flatnonzero(~((shares >= 0) & (shares <= 1)))
        if len(bad):
            raise ValueError(
                f"{name_of(bags.ids, int(bad[0]))} has the share {shares[bad[0]]}, which is not in "
                "[0, 1]: give the fraction of its instances that are positive."
            )
        return np.rint(shares * bags.sizes).astype(np.int64)

    @answers("ndarray of shape (n_instances,)", "Positive scores for positive instances.")
    def instance_decision_function(self, bags: Any) -> Array:
        """Score instances."""
        raise NotImplementedError

    @answers(
        "ndarray of int of shape (n_instances,)", "1 for positive instances, 0 for negative ones."
    )
    def predict_instances(self, bags: Any) -> Array:
        """Label instances."""
        return (self.instance_decision_function(bags) > 0).astype(int)

    @answers("ndarray of int of shape (n_bags,)", "Position within the bag.")
    def key_instances(self, bags: Any) -> Array:
        """Point at the instance of each bag that is most likely positive."""
        bags = self._check_bags(bags)
        return segment_argmax(self.instance_decision_function(bags), bags.offsets)
