"""Exact inference where the instances of a bag are a chain: runs of positives instead of a set.

The instances of a bag have an order (segments of a recording, frames, passages), and a labeling
pays ``cost`` for every change of label from one instance to the next, besides its count potential:

    sum_i y_i s_i - cost sum_i 1[y_i != y_{i + 1}] + C_w(sum_i y_i, side).

Dynamic programming over (position, label, count) finds the maximum and the sum over all 2^m
labelings in O(m K), for a potential that is constant from count K on: O(m) for "at least one",
O(m^2) for fractions and bins. Maxima then take 2 m^2 bytes per bag, sums O(m^1.5). At cost 0 the
classes of unordered bags answer, which sort instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.inference import BestLabelings, CountInference, flat_tables
from bagwise.assumptions.posterior import CountPosterior, Posteriors


@dataclass(frozen=True)
class BestChains(BestLabelings):
    """The best labelings of chains and trees, which are not determined by a cut."""

    labels: Array  # 1 for positives, (n_models, 2, n_instances)


class ChainInference(CountInference):
    """The inference problems of bags whose instances are chains.

    Parameters
    ----------
    potential, offsets : object
        As in `CountInference`.
    cost : float
        What a change of label costs.

    Examples
    --------
    A run of three, in which the second instance alone would be negative:

    >>> import numpy as np
    >>> from bagwise.assumptions import AtLeastPotential, ChainInference
    >>> scores = np.array([[-2.0, 1.0, -0.5, 1.0, -2.0]])
    >>> inference = ChainInference(AtLeastPotential(), np.array([0, 5]), cost=0.4)
    >>> best = inference.best(scores, np.zeros((1, 2)))
    >>> best.labels[0, 1].tolist(), round(float(best.value[0, 1, 0]), 6)
    ([0, 1, 1, 1, 0], 0.7)
    """

    def __init__(self, potential: Any, offsets: Array, cost: float) -> None:
        super().__init__(potential, offsets)
        self.cost, self.closed_form = cost, False
        self.start, self.table, self.bins = flat_tables(self.potential, np.diff(self.offsets))
        self.caps = CountPosterior(self.potential, self.offsets).caps

    def best(
        self, scores: Array, weights: Array, out: BestLabelings | None = None
    ) -> BestLabelings:
        """Return the best labelings of all bags (``out`` is not used)."""
        return self._best(scores, weights, scores.shape[1])

    def values(self, scores: Array, weights: Array) -> Array:
        """Return the values of the best labelings alone."""
        return self._best(scores, weights, 0).value

    def _best(self, scores: Array, weights: Array, n_labels: int) -> BestChains:
        n_models = len(scores)
        found = self._empty(n_models)
        labels = np.zeros((n_models, 2, n_labels), dtype=np.uint8)
        potential = self.table + np.hstack([weights, np.zeros((n_models, 1))])[:, self.bins]
        layout = (self.offsets, float(self.cost), self.caps, self.start, potential)
        filled = (found.value, found.count, labels)
        self._fill(np.ascontiguousarray(scores), layout, filled)
        return BestChains(found.value, found.count, found.cut, found.quota, labels)

    def _fill(self, scores: Array, layout: tuple[Any, ...], filled: tuple[Array, ...]) -> None:
        from bagwise.assumptions import _chain

        _chain.best_chains(scores, *layout, *filled)

    def positives(self, scores: Array, best: BestLabelings, amount: Array) -> Array:
        """Return the derivative of sum(amount * best.value) in the scores of ``best``."""
        from bagwise.assumptions import _chain

        assert isinstance(best, BestChains)
        out = np.zeros(scores.shape)
        _chain.add_labels(best.labels, self.offsets, amount, out)
        return out


class ChainPosterior(CountPosterior):
    """The sums over labelings of bags whose instances are chains; parameters as `ChainInference`.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.assumptions import AtLeastPotential, ChainPosterior
    >>> posterior = ChainPosterior(AtLeastPotential(), np.array([0, 3]), cost=1.0)
    >>> found = posterior.of(np.zeros((1, 3)), np.zeros((1, 2)))
    >>> found.marginals[0, 1].round(3).tolist()  # in an unordered bag 4 / 7
    [0.682, 0.682, 0.682]
    """

    def __init__(self, potential: Any, offsets: Array, cost: float) -> None:
        super().__init__(potential, offsets)
        self.cost = cost

    def _fill(self, scores: Array, potential: Array, found: Posteriors) -> None:
        layout = (self.offsets, float(self.cost), self.caps, self.start, self.states, potential)
        self._sum(scores, layout, (found.log_sum, found.marginals, found.counts))

    def _sum(self, scores: Array, layout: tuple[Any, ...], filled: tuple[Array, ...]) -> None:
        from bagwise.assumptions import _chain

        _chain.sum_chains(scores, *layout, *filled)
