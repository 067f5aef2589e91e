"""Rules on the number of positive instances in a bag: from scores to weights, and to a bag's score.

An assumption turns instance scores into instance weights (`map`: the hard assignment of least cost)
and into a bag score (`bag_score`). ``rest_is_negative`` says whether the other instances of a
positive bag count as negatives (mi-SVM) or are ignored (MI-SVM).

A `Rule` is what passes over rows need: a function of the scores, of a temperature where it is soft,
and of `Facts` that belong to the bags. It is written once, on arrays of NumPy or PyTorch. Known
labels enter every rule in one way: a known instance has a score of plus or minus infinity
(`Facts.fix`), and a known negative counts as one even if the rule ignores the rest (`Facts.rest`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from bagwise._typing import Array
from bagwise.bags.segments import Segments, expand, segment_max, segment_rank


class Facts(NamedTuple):
    """What is known of positive bags beside their scores."""

    fraction: Any = None  # the expected fraction of positives, one per bag
    given: Any = None  # a first assignment, one value per instance
    known: Any = None  # of instances: 1 for known positives, -1 for known negatives, 0 for others

    def fix(self, xp: Any, z: Any) -> Any:
        """Return scores that leave no doubt about known instances."""
        if self.known is None:
            return z
        return xp.where(self.known > 0, np.inf, xp.where(self.known < 0, -np.inf, z))

    def overrule(self, xp: Any, p: Any) -> Any:
        """Return weights in which known positives have 1 and known negatives 0."""
        if self.known is None:
            return p
        return xp.where(self.known == 0, p, 1.0 * (self.known > 0))

    def rest(self, is_negative: bool) -> Any:
        """Return how much the rest of a weight counts as negative: as given, 1 where known."""
        if self.known is None:
            return is_negative
        return 1.0 * ((self.known < 0) | is_negative)


NO_FACTS = Facts()


@dataclass(frozen=True)
class Rule:
    """What makes an instance of a positive bag a positive, by weight."""

    rest_is_negative: ClassVar[bool] = False  # whether the others are negatives, or ignored
    is_soft: ClassVar[bool] = False  # whether weights move with a temperature
    is_label: ClassVar[bool] = False  # whether weights are probabilities of labels
    merges: ClassVar[bool] = False  # whether the mean of a positive bag stands for it

    def assign(self, bags: Segments, z: Any, temperature: float, facts: Facts) -> Any:
        """Return one weight per instance of positive bags."""
        raise NotImplementedError


@dataclass(frozen=True)
class Everything(Rule):
    """Every instance has the label of its bag, unless its own is known."""

    def assign(self, bags: Segments, z: Any, temperature: float, facts: Facts) -> Any:
        """Return ones."""
        return facts.overrule(bags.xp, bags.xp.ones_like(z))


@dataclass(frozen=True)
class Means(Everything):
    """The mean of a bag stands for it."""

    merges: ClassVar[bool] = True


@dataclass(frozen=True)
class Instead(Rule):
    """What stands for another rule, under which the rest counts as it does there."""

    of: Any

    @property
    def rest_is_negative(self) -> bool:  # type: ignore[override]
        """Whether the other instances count as negatives."""
        return self.of.rest_is_negative


@dataclass(frozen=True)
class Given(Instead):
    """The first assignment that was given with the labels."""

    def assign(self, bags: Segments, z: Any, temperature: float, facts: Facts) -> Any:
        """Return the given weights."""
        return facts.given


class Assumption(Protocol):
    """A rule on the number of positives in a bag."""

    rest_is_negative: ClassVar[bool]

    def map(self, scores: Array, offsets: Array, facts: Facts = NO_FACTS) -> Array:
        """Return weight 1 for the instances that count as positive, 0 for the others."""

    def bag_score(self, scores: Array, offsets: Array) -> Array:
        """Return the score of every bag: positive exactly if the rule holds at sign(scores)."""


@dataclass(frozen=True)
class HighestScore(Rule):
    """A rule by which a bag is as positive as its most positive instance."""

    def map(self, scores: Array, offsets: Array, facts: Facts = NO_FACTS) -> Array:
        """Return weight 1 for the instances that count as positive, 0 for the others."""
        return self.assign(Segments.of_offsets(offsets), scores, facts=facts)

    def assign(
        self, bags: Segments, z: Any, temperature: float = 0.0, facts: Facts = NO_FACTS
    ) -> Any:
        """Return one weight per instance."""
        raise NotImplementedError

    def bag_score(self, scores: Array, offsets: Array) -> Array:
        """Return the highest score of every bag."""
        return segment_max(scores, offsets)


@dataclass(frozen=True)
class ExactlyOne(HighestScore):
    """One witness represents the bag, or all known positives do; the others are ignored."""

    def assign(
        self, bags: Segments, z: Any, temperature: float = 0.0, facts: Facts = NO_FACTS
    ) -> Any:
        """Choose the instance with the highest score of every bag."""
        z = facts.fix(bags.xp, z)
        return bags.indicate(bags.first_max(z) | (z == np.inf))


@dataclass(frozen=True)
class AtLeastOne(HighestScore):
    """Every instance has its own label; at least one is positive."""

    rest_is_negative: ClassVar[bool] = True

    def assign(
        self, bags: Segments, z: Any, temperature: float = 0.0, facts: Facts = NO_FACTS
    ) -> Any:
        """Choose the positive scores, or the highest one if none is positive."""
        z = facts.fix(bags.xp, z)
        return bags.indicate((z > 0) | bags.first_max(z))


@dataclass(frozen=True)
class AtLeastFraction:
    """At least a fraction of the instances is positive, and at least one."""

    positive_fraction: float = 0.5
    rest_is_negative: ClassVar[bool] = True

    def least(self, offsets: Array) -> Array:
        """Return how many positives each bag needs: max(1, ceil(positive_fraction m))."""
        needed = np.ceil(self.positive_fraction * np.diff(offsets) - 1e-9)
        return np.maximum(1, needed).astype(np.int64)

    def map(self, scores: Array, offsets: Array, facts: Facts = NO_FACTS) -> Array:
        """Choose the positive scores, and the highest ones up to the required number."""
        needed, scores = expand(self.least(offsets), offsets), facts.fix(np, scores)
        return 1.0 * ((scores > 0) | (segment_rank(scores, offsets) < needed))

    def bag_score(self, scores: Array, offsets: Array) -> Array:
        """Return the lowest of the required number of highest scores."""
        if scores.ndim == 2:
            columns = [self.bag_score(column, offsets) for column in scores.T]
            return np.stack(columns, axis=1)
        last = segment_rank(scores, offsets) == expand(self.least(offsets) - 1, offsets)
        return scores[last]


@dataclass(frozen=True)
class ExactCounts:
    """Every bag has a known number of positives."""

    counts: Array  # (n_bags,)
    rest_is_negative: ClassVar[bool] = True

    def map(self, scores: Array, offsets: Array, facts: Facts = NO_FACTS) -> Array:
        """Choose as many of the highest scores of every bag."""
        ranks = segment_rank(facts.fix(np, scores), offsets)
        return 1.0 * (ranks < expand(self.counts, offsets))

    def bag_score(self, scores: Array, offsets: Array) -> Array:
        """Return how far the scores are from another count: the nearer side of the cut."""
        inside = self.map(scores, offsets) > 0
        lowest_inside = -segment_max(np.where(inside, -scores, -np.inf), offsets)
        highest_outside = segment_max(np.where(inside, -np.inf, scores), offsets)
        return np.minimum(lowest_inside, -highest_outside)


@dataclass(frozen=True)
class TopMean:
    """A bag's score is the mean of its ``n_witnesses`` highest instance scores."""

    n_witnesses: int

    def bag_score(self, scores: Array, offsets: Array) -> Array:
        """Return the score of every bag."""
        counts = np.minimum(self.n_witnesses, np.diff(offsets))
        counts = counts.reshape((-1,) + (1,) * (scores.ndim - 1))
        top = segment_rank(scores, offsets) < expand(counts, offsets)
        return np.add.reduceat(np.where(top, scores, 0.0), offsets[:-1], axis=0) / counts
