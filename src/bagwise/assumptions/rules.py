"""Rules: what turns the scores of positive bags into weights of their instances.

A rule is a function of the scores, of a temperature where it is soft, and of `Facts` that belong to
the bags. It is written once, on arrays of NumPy or PyTorch, and runs wherever rows are.

Known labels enter every rule in one way: a known instance has a score of plus or minus infinity
(`Facts.fix`), and a known negative counts as one even if the rule ignores the rest (`Facts.rest`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bagwise.assumptions.segments import Segments


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
class Given(Rule):
    """The first assignment that was given with the labels."""

    of: Rule  # whose assignment it could be

    @property
    def rest_is_negative(self) -> bool:  # type: ignore[override]
        """Whether the other instances count as negatives."""
        return self.of.rest_is_negative

    def assign(self, bags: Segments, z: Any, temperature: float, facts: Facts) -> Any:
        """Return the given weights."""
        return facts.given
