"""Exact posteriors under a count potential: sums over all 2^m labelings of a bag by their counts.

With scores s and the potential C_w, a bag as a negative (side 0) or positive one (side 1) has

    Z_side = sum_y exp(sum_i y_i s_i + C_w(sum_i y_i, side)) = sum_k e_k(exp s) exp C_w(k, side),

e_k the elementary symmetric polynomials. A tree of products of polynomials gives all of them, and
its reverse pass every P(y_i = 1 | side) = d log Z / d s_i. The cost is

- O(m K) for a potential that is constant from count K on: O(m) for "at least one";
- O(m (K + log m)) for one that is constant on K ranges of counts, such as a fraction or the bins of
  GMIMN: every range is tilted to its likely counts, O(sqrt n) in a node of n instances
  (`bagwise.assumptions._tilted`). Ranges that hold no mass of their own cost O(m) only;
- O(m^2) for a table without such ranges, every count having a number of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.count import FreePotential, as_potential
from bagwise.assumptions.inference import flat_tables
from bagwise.bags.segments import expand

_COUNTS_PER_PIECE = 15  # up to here the tree of all counts is cheaper (docs/results/posteriors.md)


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
        sizes = np.diff(self.offsets)
        self.start, self.table, self.bins = flat_tables(self.potential, sizes)
        self._settle_states(sizes, np.unique(sizes, return_index=True)[1])

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
        self._settle_states(sizes, np.arange(len(sizes)))
        return self

    def _settle_states(self, sizes: Array, distinct: Array) -> None:
        """Find where each bag's potential changes, and which bags are summed by its pieces."""
        caps, pieces = {}, {}
        for bag in distinct.tolist():  # one bag of every table
            begin = self.start[bag]
            part = slice(begin, begin + sizes[bag] + 1)
            table, bins = self.table[:, part], self.bins[:, part]
            changes = (table[:, 1:] != table[:, :-1]) | (bins[:, 1:] != bins[:, :-1])
            caps[begin] = max(1, 1 + np.flatnonzero(changes.any(axis=0)).max(initial=-1))
            found = _pieces(table, changes)
            if caps[begin] > _COUNTS_PER_PIECE * len(found):
                pieces[begin] = found
        starts = self.start.tolist()
        self.caps = np.array([caps[start] for start in starts], dtype=np.int64)
        chosen = np.array([start in pieces for start in starts])
        self.tilted, self.others = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        own = [pieces[start] for start in self.start[self.tilted].tolist()]
        at = np.cumsum([0, *(len(part) for part in own)])
        self.pieces = (at, *np.vstack([*own, np.empty((0, 3), dtype=np.int64)]).T.copy())

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
        from bagwise.assumptions import _posterior, _tilted

        n_models = len(scores)
        learned = np.hstack([weights, np.zeros((n_models, 1))])  # bin -1: no weight
        potential = self.table + learned[:, self.bins]  # (n_models, 2, entries)
        found = Posteriors(
            np.empty((n_models, 2, len(self.caps))),
            np.empty((n_models, 2, scores.shape[1] if marginals else 0)),
        )
        scores, tables = np.ascontiguousarray(scores), (self.start, potential)
        filled = (found.log_sum, found.marginals)
        _posterior.sum_product(scores, self.offsets, self.others, self.caps, *tables, *filled)
        if len(self.tilted):
            _tilted.sum_pieces(scores, self.offsets, self.tilted, *self.pieces, *tables, *filled)
        return found

    def instance_slopes(self, found: Posteriors, amount: Array) -> Array:
        """Return the derivative of sum(amount * log_sum) in the scores.

        ``amount`` has shape (n_models, 2, n_bags), the result that of the scores. With bag
        probabilities as amounts, these are the instances' posteriors.
        """
        of_rows = [expand(amount[:, side].T, self.offsets).T for side in range(2)]
        return found.marginals[:, 0] * of_rows[0] + found.marginals[:, 1] * of_rows[1]


def _pieces(table: Array, changes: Array) -> Array:
    """Return side, first and last count of the ranges on which the potential is constant."""
    found = []
    for side in range(2):
        begin = np.append(0, 1 + np.flatnonzero(changes[side]))
        end = np.append(begin[1:] - 1, table.shape[1] - 1)
        found.append(np.stack([np.full(len(begin), side), begin, end], axis=1))
    both = np.vstack(found)
    return both[np.isfinite(table[both[:, 0], both[:, 1]])]
