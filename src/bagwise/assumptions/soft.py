"""Assumptions at a temperature: the assignment that minimizes expected cost minus T x entropy.

For the labels of a bag (Gehler & Chapelle 2007, Eqs. 4-8, 12-13), cost_j = C (l(f_j) - l(-f_j)),

    min_p  sum_j p_j cost_j + C2 (sum_j p_j - m p*)^2 - T S(p),    sum_j p_j >= 1,

has p = sigma((mu - cost) / T) with one multiplier mu per bag. The printed rule for an active
constraint, sigma / sum sigma, is not the minimizer; the root of sum_j p_j = 1 is. With
``variance=True`` the penalty is the exact expectation of (sum_j y_j - m p*)^2, which Eq. 13 prints
without its variance sum_j p_j (1 - p_j). That term is concave and replaced by its tangent at the
last p. For witnesses (Eqs. 9-11), with cost_j = C l(f_j), p is a distribution over the bag (for
``n_witnesses`` of them: sum_j p_j = n_witnesses, p_j <= 1).

Bag weights play no role: they multiply a bag's cost, penalty and entropy alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from bagwise._typing import Array
from bagwise.bags.segments import expand, segment_max, segment_sum


class Softened(NamedTuple):
    """A soft assignment, and per bag its entropy and its divergence from the last one."""

    p: Array
    entropy: Array
    divergence: Array


class Softening(Protocol):
    """An assumption that can be cooled."""

    rest_is_negative: ClassVar[bool]

    def start(self, offsets: Array) -> Array:
        """Return the assignment of highest entropy."""

    def step(
        self, gain: Array, loss: Array, offsets: Array, temperature: float, previous: Array
    ) -> Softened:
        """Return the best assignment; an instance costs C l(-f) = ``gain`` as a negative."""

    def penalty(self, p: Array, offsets: Array) -> Array:
        """Return the assumption's own term in the objective, one value per bag."""


def _outputs(offsets: Array) -> tuple[Array, Array, Array]:
    return np.empty(offsets[-1]), np.empty(len(offsets) - 1), np.empty(len(offsets) - 1)


@dataclass(frozen=True)
class SoftLabels:
    """Independent labels, at least one expected positive, and a penalized proportion."""

    C_proportion: float = 0.0  # C2, weight of the penalty; 0 for AL-SVM
    positive_fraction: Any = 0.5  # p*, the expected fraction of positives, possibly one per bag
    variance: bool = True  # whether the penalty includes the variance of the number of positives
    rest_is_negative: ClassVar[bool] = True

    def start(self, offsets: Array) -> Array:
        """Return 1/2 for every instance, 1 in bags of one instance."""
        sizes = np.diff(offsets)
        return expand(np.maximum(0.5, 1 / sizes), offsets)

    def _targets(self, offsets: Array) -> Array:
        return np.asarray(np.diff(offsets) * self.positive_fraction, dtype=np.float64)

    def step(
        self, gain: Array, loss: Array, offsets: Array, temperature: float, previous: Array
    ) -> Softened:
        """Solve for one multiplier per bag."""
        from bagwise.assumptions._soft import label_step

        cost = loss - gain
        if self.C_proportion > 0 and self.variance:
            cost = cost + self.C_proportion * (1 - 2 * previous)
        out = _outputs(offsets)
        weights = float(temperature), float(self.C_proportion)
        label_step(cost, offsets, *weights, self._targets(offsets), previous, *out)
        return Softened(*out)

    def penalty(self, p: Array, offsets: Array) -> Array:
        """Return C2 E(sum y - m p*)^2, or C2 (sum p - m p*)^2 without the variance."""
        if self.C_proportion == 0:
            return np.zeros(len(offsets) - 1)
        squares = (segment_sum(p, offsets) - self._targets(offsets)) ** 2  # Eq. 13
        if self.variance:
            squares = squares + segment_sum(p * (1 - p), offsets)
        return self.C_proportion * squares


@dataclass(frozen=True)
class SoftWitness:
    """A distribution over the witnesses of a bag; the other instances are ignored."""

    n_witnesses: int = 1
    rest_is_negative: ClassVar[bool] = False

    def start(self, offsets: Array) -> Array:
        """Return n_witnesses / m for every instance."""
        return expand(np.minimum(1.0, self.n_witnesses / np.diff(offsets)), offsets)

    def step(
        self, gain: Array, loss: Array, offsets: Array, temperature: float, previous: Array
    ) -> Softened:
        """Return the softmax of -C l(f) / T (Eq. 11), capped at 1 for several witnesses."""
        from bagwise.assumptions._soft import witness_step

        out = _outputs(offsets)
        witness_step(loss, offsets, float(temperature), self.n_witnesses, previous, *out)
        return Softened(*out)

    def penalty(self, p: Array, offsets: Array) -> Array:
        """Return 0."""
        return np.zeros(len(offsets) - 1)

    def witnesses(self, p: Array, offsets: Array, least: float) -> Array:
        """Return 1 for instances with weight above ``least`` and the heaviest one (line 11)."""
        top = expand(segment_max(p, offsets), offsets)
        return 1.0 * ((p > least) | (p == top))
