"""Rules: what turns the scores of positive bags into weights of their instances.

A rule is a function of the scores, of a temperature where it is soft, and of `Facts` that belong to
the bags. It is written once, on arrays of NumPy or PyTorch, and runs wherever rows are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from bagwise.assumptions.segments import Segments


class Facts(NamedTuple):
    """What is known of positive bags beside their scores."""

    fraction: Any = None  # the expected fraction of positives, one per bag
    given: Any = None  # a first assignment, one value per instance


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
    """Every instance has the label of its bag."""

    def assign(self, bags: Segments, z: Any, temperature: float, facts: Facts) -> Any:
        """Return ones."""
        return bags.xp.ones_like(z)


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
