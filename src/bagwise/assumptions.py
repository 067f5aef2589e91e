"""What makes a bag positive, as a rule on the number of positive instances in it.

An assumption turns instance scores into instance weights (`map`: the hard assignment that costs
least) and into a bag score (`bag_score`). ``rest_is_negative`` says whether the instances of a
positive bag that are not positive count as negatives (mi-SVM) or drop out (MI-SVM).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from bagwise.segments import expand, segment_argmax, segment_max, segment_rank

__all__ = ["Assumption", "AtLeastOne", "AtLeastRatio", "ExactlyOne"]

Array = NDArray[Any]


class Assumption(Protocol):
    """A rule on the number of positives in a bag."""

    rest_is_negative: ClassVar[bool]

    def map(self, scores: Array, offsets: Array) -> Array:
        """Return weight 1 for the instances that count as positive, 0 for the others."""

    def bag_score(self, scores: Array, offsets: Array) -> Array:
        """Return the score of every bag: positive exactly when the rule holds at sign(scores)."""


def _witnesses(scores: Array, offsets: Array) -> Array:
    weights = np.zeros(len(scores))
    weights[offsets[:-1] + segment_argmax(scores, offsets)] = 1
    return weights


@dataclass(frozen=True)
class ExactlyOne:
    """One witness speaks for the bag; the other instances drop out."""

    rest_is_negative: ClassVar[bool] = False

    def map(self, scores: Array, offsets: Array) -> Array:
        """Choose the highest score of every bag."""
        return _witnesses(scores, offsets)

    def bag_score(self, scores: Array, offsets: Array) -> Array:
        """Return the highest score of every bag."""
        return segment_max(scores, offsets)


@dataclass(frozen=True)
class AtLeastOne:
    """Every instance has a label of its own; at least one is positive."""

    rest_is_negative: ClassVar[bool] = True

    def map(self, scores: Array, offsets: Array) -> Array:
        """Take the sign of the score, and the highest one where no score is positive."""
        return np.maximum(1.0 * (scores > 0), _witnesses(scores, offsets))

    def bag_score(self, scores: Array, offsets: Array) -> Array:
        """Return the highest score of every bag."""
        return segment_max(scores, offsets)


@dataclass(frozen=True)
class AtLeastRatio:
    """At least the fraction ``rho`` of the instances is positive, and at least one."""

    rho: float = 0.5
    rest_is_negative: ClassVar[bool] = True

    def least(self, offsets: Array) -> Array:
        """Return how many positives each bag needs: max(1, ceil(rho m))."""
        return np.maximum(1, np.ceil(self.rho * np.diff(offsets) - 1e-9)).astype(np.int64)

    def map(self, scores: Array, offsets: Array) -> Array:
        """Take the sign of the score, and the highest ones up to the required number."""
        needed = expand(self.least(offsets), offsets)
        return 1.0 * ((scores > 0) | (segment_rank(scores, offsets) < needed))

    def bag_score(self, scores: Array, offsets: Array) -> Array:
        """Return the score of the last instance needed, counted from the top."""
        if scores.ndim == 2:
            columns = [self.bag_score(column, offsets) for column in scores.T]
            return np.stack(columns, axis=1)
        last = segment_rank(scores, offsets) == expand(self.least(offsets) - 1, offsets)
        return scores[last]
