"""The risk of several Markov networks of one bag's labels, tied by potentials on pairs of labels.

A bag has a set S of labels. One network per label l scores whether l is in it, F_l(0) and F_l(1),
and a weight v_lk is added for any two labels of the set:

    T(S) = sum_l F_l(1[l in S]) + sum_{l < k in S} v_lk,

    R(w, v) = sum_n weight_n [ max_S (|S xor S_n| + T(S)) - T(S_n) ],

maximized over all 2^L sets. With v = 0 the maximum falls apart, and R is the sum over labels of the
hinges max(0, 1 - Y_l D_l): one network against the rest per label. As in `bagwise.oracles.markov`,
both terms are convex.
"""

from __future__ import annotations

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import BestLabelings, CountInference
from bagwise.oracles.markov import InstanceOperator, MarkovRisk, MarkovScores


class LabelSetRisk(MarkovRisk):
    """The joint risk. The l-th row of w ends its potential's weights with the v_lk, k > l.

    Parameters
    ----------
    instances, inference, bag_features, weight : object
        As in `MarkovRisk`.
    labels : ndarray of int of shape (n_bags, n_labels)
        1 where a bag has a label.
    """

    def __init__(
        self,
        instances: InstanceOperator,
        inference: CountInference,
        bag_features: Array,
        labels: Array,
        weight: Array,
    ) -> None:
        n_labels = labels.shape[1]
        codes = labels @ (1 << np.arange(n_labels))
        super().__init__(instances, inference, bag_features, codes, 2**n_labels, weight)
        self.n_models = n_labels
        n_coef, n_weights, n_bag_features = self.widths
        self.widths = (n_coef, n_weights + n_labels, n_bag_features)
        self.n_coef = n_labels * sum(self.widths)
        self.sets = label_sets(n_labels)
        self.pairs = pairs_of(self.sets)
        self._loss = self.sets.sum(axis=1)[:, None] + labels.sum(axis=1) - 2 * self.sets @ labels.T

    def _totals(self, value: Array, part: MarkovScores) -> Array:
        negative, positive = value[:, 0], value[:, 1] + part.bags
        tied = np.tensordot(self.pairs, part.potential[:, -self.n_models :], axes=2)
        return self.sets @ (positive - negative) + negative.sum(axis=0) + tied[:, None]

    def _with_loss(self, total: Array) -> Array:
        return total + self._loss

    def _amounts(self, label: Array) -> Array:
        """Return the derivative of sum_n weight_n T(S_n) in F and, behind it, in the pairs."""
        chosen = self.sets[label]  # (n_bags, n_labels)
        parts = [1 - chosen.T[:, None], chosen.T[:, None], self.pairs[label].transpose(1, 2, 0)]
        return np.concatenate(parts, axis=1) * self.weight

    def _pull(self, z: Array, best: BestLabelings, amount: Array) -> Array:
        counts = np.ascontiguousarray(amount[:, :2])
        instances = self.inference.positives(self.parts(z).instances, best, counts)
        pairs = amount[:, 2:].sum(axis=2)
        potential = np.hstack([self.inference.bin_sums(best, counts), pairs])
        return self.instances.join(instances, potential, counts[:, 1])


def label_sets(n_labels: int) -> Array:
    """Return all sets as rows of zeros and ones; bit l of a row's number is its label l."""
    return ((np.arange(2**n_labels)[:, None] >> np.arange(n_labels)) & 1).astype(float)


def pairs_of(sets: Array) -> Array:
    """Return which pairs l < k the sets have, (n_sets, n_labels, n_labels)."""
    return np.triu(sets[:, :, None] * sets[:, None, :], 1)
