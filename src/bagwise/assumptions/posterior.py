"""Exact posteriors under a count potential: sums over all 2^m labelings of a bag by their counts.

With scores s and the potential C_w, a bag as a negative (side 0) or positive one (side 1) has

    Z_side = sum_y exp(sum_i y_i s_i + C_w(sum_i y_i, side)) = sum_k e_k(exp s) exp C_w(k, side),

e_k the elementary symmetric polynomials. A tree of products of polynomials gives the likely ones of
them, O(sqrt n) in a node of n instances, and its reverse pass every P(y_i = 1 | side) =
d log Z / d s_i (`bagwise.assumptions._posterior`). That costs O(m log m), and up to O(m^2) where
the potential prefers counts that the scores make unlikely by hundreds of logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.count import FreePotential, as_potential
from bagwise.assumptions.inference import flat_tables
from bagwise.bags.segments import expand


@dataclass(frozen=True)
class Posteriors:
    """Sums over the labelings of every bag as a negative bag (side 0) and as a positive one (1)."""

    log_sum: Array  # log Z, (n_models, 2, n_bags)
    marginals: Array  # P(y_i = 1 | side), (n_models, 2, n_instances)


class CountPosterior:
    """The sums over labelings of one set of bags under one potential.

    Parameters
    ----------
    potential : CountPotential, or object with a method ``table(size)``
        The potential.
    offsets : ndarray of int of shape (n_bags + 1,)
        Where each bag starts.

    Examples
    --------
    A bag of two instances with score 0: as a positive bag it has three possible labelings.

    >>> import numpy as np
    >>> from bagwise.assumptions import AtLeastPotential, CountPosterior
    >>> posterior = CountPosterior(AtLeastPotential(), np.array([0, 2]))
    >>> found = posterior.of(np.zeros((1, 2)), np.zeros((1, 2)))
    >>> np.exp(found.log_sum[0, :, 0]).round(6).tolist()
    [1.0, 3.0]
    >>> found.marginals[0, 1].round(4).tolist()
    [0.6667, 0.6667]
    """

    def __init__(self, potential: Any, offsets: Array) -> None:
        self.potential = as_potential(potential)
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        flat = flat_tables(self.potential, np.diff(self.offsets))
        self.start, self.table, self.bins = flat

    @classmethod
    def of_known_counts(cls, counts: Array, offsets: Array) -> CountPosterior:
        """Return sums in which side 1 is a bag with a known count, and side 0 any labeling.

        The difference of the two sums is the log of P(count), labels being independent.
        """
        self = cls(FreePotential(), offsets)
        sizes = np.diff(self.offsets)
        self.start = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]])
        self.table = np.zeros((2, int((sizes + 1).sum())))
        self.table[1] = -np.inf
        self.table[1, self.start + counts] = 0.0
        self.bins = np.full(self.table.shape, -1)
        return self

    def of(self, scores: Array, weights: Array, *, marginals: bool = True) -> Posteriors:
        """Return the sums over labelings, and unless told otherwise the posteriors.

        Parameters
        ----------
        scores : ndarray of float64 of shape (n_models, n_instances)
            What an instance adds if it is positive.
        weights : ndarray of shape (n_models, n_weights)
            The learned weights of the potential.
        marginals : bool, default=True
            Without them only ``log_sum`` is computed, and ``marginals`` is empty.
        """
        from bagwise.assumptions._posterior import sum_labelings

        n_models = len(scores)
        learned = np.hstack([weights, np.zeros((n_models, 1))])  # bin -1: no weight
        potential = self.table + learned[:, self.bins]  # (n_models, 2, entries)
        found = Posteriors(
            np.empty((n_models, 2, len(self.start))),
            np.empty((n_models, 2, scores.shape[1] if marginals else 0)),
        )
        filled = found.log_sum, found.marginals
        sum_labelings(np.ascontiguousarray(scores), self.offsets, self.start, potential, *filled)
        return found

    def instance_slopes(self, found: Posteriors, amount: Array) -> Array:
        """Return the derivative of sum(amount * log_sum) in the scores.

        ``amount`` has shape (n_models, 2, n_bags), the result that of the scores. With bag
        probabilities as amounts, these are the instances' posteriors.
        """
        of_rows = [expand(amount[:, side].T, self.offsets).T for side in range(2)]
        return found.marginals[:, 0] * of_rows[0] + found.marginals[:, 1] * of_rows[1]
