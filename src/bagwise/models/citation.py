"""Citation kNN (Wang & Zucker 2000), with regions of interest (CkNN-ROI, Zhou, Xue & Jiang 2005).

The neighbors of a bag are its references, the R training bags nearest to it, and its citers, the
training bags that would count it among their own C nearest. References and citers vote; a bag is
positive when the positive votes outnumber the negative ones, so a tie is negative.

An instance is judged as the bag that holds nothing else (CkNN-ROI); the one with the most positive
votes is the key instance.

The score of a class is (v - u - 1/2 + t/2) / (v + u), with v votes for it, u against it, and
t in (-1, 1) how much nearer the nearest bag of the class is than the nearest other one: it ranks
bags with equal votes and never outvotes. For three classes or more it is the share v / (v + u) of
the votes, plus the same small term.

Departures: votes carry the bags' weights, so references are the nearest bags up to total weight R;
bags of equal distance share what is left.

References: J. Wang, J.-D. Zucker, "Solving the multiple-instance problem: a lazy learning
approach", ICML 2000. Z.-H. Zhou, X.-B. Xue, Y. Jiang, "Locating regions of interest in CBIR with
multi-instance learning techniques", AI 2005.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.params import Words, integer, param, shared
from bagwise.estimators.tags import OPAQUE, BagTags
from bagwise.estimators.task import BLOCK_VALUES
from bagwise.kernels.bag import hausdorff
from bagwise.tolerances import PROVEN


class CitationKNN(BagClassifier):
    """Nearest bags vote, and so do the bags that have this one among their nearest.

    Attributes
    ----------
    bags_X_, bags_offsets_ : ndarray
        The training instances, and where each bag starts.
    bags_codes_, bags_weight_ : ndarray of shape (n_bags,)
        The training bags' class numbers and weights.
    reach_ : ndarray of shape (n_bags,)
        Distance up to which each training bag cites.
    resolution_ : float
        Distances that differ by less than this are equal.

    See Also
    --------
    BagKernelSVC : An SVM over kernels between bags.

    Examples
    --------
    >>> model = CitationKNN(n_references=1, n_citers=1, metric="maximal").fit(bags, [1, 0, 1, 0])
    >>> model.predict([[[0.1], [3.1]], [[0.1], [0.4]]])
    array([1, 0])
    """

    n_references: int = param(2, integer(), "How many of the nearest training bags vote.")
    n_citers: int = param(
        4,
        integer(0),
        "A training bag votes too when fewer than this many training bags are nearer to it.",
    )
    metric: str = param(
        "minimal",
        Words("minimal", "average", "maximal"),
        "Kind of Hausdorff distance between bags.",
    )
    class_weight: Any = shared("class_weight")

    def __bag_tags__(self) -> BagTags:
        """Nothing is minimized."""
        return replace(OPAQUE, whole_bag="other")

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        used = np.flatnonzero(weight)
        train = bags[used]
        self.bags_X_, self.bags_offsets_ = train.X.copy(), train.offsets
        self.bags_codes_, self.bags_weight_ = codes[used], weight[used]
        farthest, reach = 0.0, np.empty(len(train))
        for block in self._blocks(train):
            part = train if len(train) == len(block) else train[block]
            distances = hausdorff(part, train, self.metric)
            farthest = max(farthest, float(distances.max()))
            reach[block] = self._reach(distances, block)
        self.resolution_ = PROVEN * (farthest or 1.0)
        self.reach_ = np.where(reach > 0, self._merge_near(reach), reach)

    def _blocks(self, bags: Bags) -> Iterator[Array]:
        """Yield the numbers of bags whose distances to all training bags are held at a time."""
        n_train = max(1, len(self.bags_codes_))
        size = max(1, BLOCK_VALUES // n_train)
        return (np.arange(i, min(i + size, len(bags))) for i in range(0, len(bags), size))

    def _reach(self, distances: Array, block: Array) -> Array:
        """Return how near a bag must be to be among the ``n_citers`` nearest of a training bag.

        A training bag does not count itself, but a second copy of it counts.
        """
        weight = self.bags_weight_
        copies = np.maximum(weight - 1, 0)
        reach = np.full(len(block), -1.0)
        for k, (i, row) in enumerate(zip(block, distances, strict=True)):
            nearer = np.where(np.arange(len(weight)) == i, copies, weight)
            order = np.argsort(row, kind="stable")
            enough = np.cumsum(nearer[order]) >= self.n_citers - 1e-9
            if self.n_citers:
                reach[k] = row[order][enough.argmax()] if enough.any() else np.inf
        return reach

    def _bag_scores(self, bags: Bags) -> Array:
        parts = [self._block_scores(bags[block]) for block in self._blocks(bags)]
        return np.concatenate(parts)

    def _block_scores(self, bags: Bags) -> Array:
        train = Bags(self.bags_X_, self.bags_offsets_)
        distances = self._merge_near(hausdorff(bags, train, self.metric))
        citers = self.bags_weight_ * (distances <= self.reach_)
        voices = self._reference_weights(distances) + citers
        votes = voices @ np.eye(len(self.classes_))[self.bags_codes_]  # (n_bags, n_classes)
        nearness = self._nearness(distances)
        total = votes.sum(axis=1, keepdims=True)
        if len(self.classes_) > 2:
            return (votes + nearness / 4) / total
        k = self._positive_code()
        lead = 2 * votes[:, [k]] - total
        return (lead - 0.5 + nearness[:, [k]] / 2) / total

    def _instance_scores(self, bags: Bags) -> Array:
        return self._bag_scores(Bags(bags.X, np.arange(bags.n_instances + 1)))

    def _reference_weights(self, distances: Array) -> Array:
        """Return the weight with which each training bag is a reference, summing to R."""
        order = np.argsort(distances, axis=1, kind="stable")
        ranked = np.take_along_axis(distances, order, axis=1)
        taken = np.cumsum(self.bags_weight_[order], axis=1)
        # Bags of equal distance share: all of them get the same fraction of their weight.
        shares = np.empty_like(distances)
        for i, row in enumerate(ranked):
            first = np.searchsorted(row, row, side="left")
            last = np.searchsorted(row, row, side="right") - 1
            before = np.where(first > 0, taken[i, first - 1], 0.0)
            left = (self.n_references - before) / (taken[i, last] - before)
            shares[i, order[i]] = np.clip(left, 0.0, 1.0)
        return shares * self.bags_weight_

    def _nearness(self, distances: Array) -> Array:
        """Return (d_other - d_own) / (d_other + d_own) of the nearest bags per class."""
        own = [distances[:, self.bags_codes_ == k].min(axis=1) for k in range(len(self.classes_))]
        other = [distances[:, self.bags_codes_ != k].min(axis=1) for k in range(len(self.classes_))]
        near, far = np.stack(own, axis=1), np.stack(other, axis=1)
        total = near + far
        share = np.divide(far - near, total, out=np.zeros_like(total), where=total > 0)
        return share * (1 - 1e-9)

    def _merge_near(self, distances: Array) -> Array:
        """Make distances equal that differ by rounding only."""
        return np.round(distances / self.resolution_) * self.resolution_
