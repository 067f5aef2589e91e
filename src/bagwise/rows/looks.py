"""What a pass is asked, and what it answers.

A pass maps blocks of whole bags and some looks to sums of size O(d^2), and keeps nothing. The
assignment of positive bags is never stored: an `Assignment` is a rule, a temperature and the
*anchor* at whose scores the rule decides. Whoever needs it computes those scores in the same
reading.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.rules import NO_FACTS, Facts, Rule
from bagwise.bags.segments import Segments

if TYPE_CHECKING:
    from bagwise.rows.device import DeviceBlock
    from bagwise.rows.host import HostBlock

    # Some rows of whole bags, and the products that depend on where they are.
    Block: TypeAlias = HostBlock | DeviceBlock

Steps = Generator[list[Any], Any, Any]  # yields looks, is sent their sums


@dataclass(frozen=True, eq=False)
class Place:
    """A point at which to look."""

    coef: Array
    intercept: float = 0.0


@dataclass(frozen=True, eq=False)
class Assignment:
    """Weights of the instances of positive bags, as a function of the scores at an anchor."""

    rule: Rule
    anchor: Place | None = None  # for rules that do not look at scores
    temperature: float = 0.0  # in units of C


@dataclass(frozen=True, eq=False)
class Labels:
    """One class against the rest, and what else is known of bags and instances."""

    positive: Array  # which bags are
    weight: Array  # C times that of the bag; 0 leaves it out (folds)
    C: float = 1.0
    fraction: Array | None = None  # expected fraction of positives, one per bag
    given: Array | None = None  # first assignment, one value per instance
    known: Array | None = None  # labels of instances: 1, -1, or 0 where unknown

    def part(self, bags: slice, rows: slice) -> Labels:
        """Return the labels of some bags, whose rows are given too."""
        fraction = None if self.fraction is None else self.fraction[bags]
        given, known = (
            None if values is None else values[rows] for values in (self.given, self.known)
        )
        return Labels(self.positive[bags], self.weight[bags], self.C, fraction, given, known)

    def know(self, xp: Any, sizes: Array, up: Any) -> Any:
        """Return what a block with these labels knows; ``up`` brings arrays to its rows."""
        inside = self.positive & (self.weight > 0)
        rows, weight = np.flatnonzero(np.repeat(inside, sizes)), np.repeat(self.weight, sizes)
        fraction = None if self.fraction is None else up(self.fraction[inside])
        given, known = (
            None if values is None else up(values[rows]) for values in (self.given, self.known)
        )
        return Known(
            weight=up(weight),
            inside=up(rows),
            bags=Segments(xp, up(sizes[inside])),
            within=up(weight[rows]),
            shares=up(self.weight[inside] / self.C),
            facts=Facts(fraction, given, known),
        )


@dataclass(frozen=True)
class Known:
    """What a block knows of its bags under some labels, where its rows are."""

    weight: Any  # of all rows
    inside: Any  # which rows belong to positive bags
    bags: Segments  # the positive bags
    within: Any  # weights of their rows
    shares: Any  # weights of the bags, without C
    facts: Facts = NO_FACTS

    def merge(self, others: Any, join: Any) -> Known:
        """Return what is known if every positive bag is one row, before the ``others``."""
        n_bags, xp = len(self.bags.sizes), self.bags.xp
        within = self.within[self.bags.starts]
        single = Segments(xp, xp.ones_like(self.bags.sizes))
        weight = join([within, self.weight[others]])
        return Known(weight, self.inside[:n_bags] * 0 + single.bag, single, within, self.shares)


class Memo:
    """What was computed of a block, as long as the block and the place or assignment live."""

    def __init__(self) -> None:
        self.scores: WeakKeyDictionary[Place, Any] = WeakKeyDictionary()
        self.assigned: WeakKeyDictionary[Assignment, tuple[Known, Any]] = WeakKeyDictionary()


class Look(ABC):
    """What one fit wants to know of all rows."""

    labels: Labels

    @abstractmethod
    def begin(self, blocks: Any) -> Any:
        """Return the sums of no rows, where those of ``blocks`` are."""

    @abstractmethod
    def add(self, block: Block, known: Any, total: Any) -> None:
        """Add the sums of a block."""

    def part(self, bags: slice, rows: slice) -> Look:
        """Return the look at some of the bags."""
        raise NotImplementedError


@dataclass
class Sums:
    """Numbers, vectors and a matrix that are added up over rows."""

    numbers: Array  # totals
    maxima: Array
    vectors: Array  # (k, d)
    matrix: Any  # (d, d); stays on the device of the rows
    answers: list[Array] = field(default_factory=list)  # one value per row, where asked for

    def add(self, other: Sums) -> None:
        """Add the sums of the rows that follow."""
        self.numbers = self.numbers + other.numbers
        self.maxima = np.maximum(self.maxima, other.maxima)
        self.vectors = self.vectors + other.vectors
        self.matrix = self.matrix + other.matrix
        self.answers += other.answers

    def bring(self) -> Sums:
        """Return the sums with the matrix in this process."""
        matrix = self.matrix if isinstance(self.matrix, np.ndarray) else self.matrix.cpu().numpy()
        return replace(self, matrix=matrix)
