"""What a pass over the rows does to the assignment, as small objects that travel to the rows.

A rule sees the instances of some whole positive bags: their scores, their bags' offsets and the
assignment so far. It returns the next assignment with the sums that a procedure stops by, so that
no vector of the rows' length needs to leave the place where the rows are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.hard import Assumption
from bagwise.assumptions.soft import Softening
from bagwise.bags.segments import expand
from bagwise.losses import Loss

UNCHANGED = 1e-4  # change of a probability: too small to decide a label


@dataclass
class Tally:
    """Sums over positive bags, weighted by the bags, and maxima over their instances."""

    divergence: float = 0.0  # from the last assignment
    entropy: float = 0.0
    penalty: float = 0.0  # the assumption's own term
    positives: float = 0.0  # sum of the assignment
    changed: int = 0  # instances whose assignment changed
    moved: float = 0.0  # largest change since a rule was entered
    undecided: float = 0.0  # largest change at the coldest temperature; inf if much has moved

    def add(self, other: Tally) -> None:
        """Add the tally of other bags."""
        for each in fields(self):
            mine, its = getattr(self, each.name), getattr(other, each.name)
            larger = each.name in ("moved", "undecided")
            setattr(self, each.name, max(mine, its) if larger else mine + its)


@dataclass(frozen=True)
class Rule:
    """How a pass changes the assignment of positive bags."""

    # Whether the present assignment is kept, to measure ``moved`` from and to revert to.
    enters: bool = field(default=False, kw_only=True)

    def part(self, bags: slice) -> Rule:
        """Return the rule for some of the positive bags."""
        return self

    def step(
        self, z: Array, offsets: Array, p: Array, entered: Array, weight: Array
    ) -> tuple[Array, Tally]:
        """Return the next assignment, here as it is, and its tally; ``weight`` is per bag.

        ``entered`` is the assignment of the last rule that entered.
        """
        return p, Tally()


@dataclass(frozen=True)
class Keep(Rule):
    """The assignment stays."""


KEEP = Keep()


@dataclass(frozen=True)
class Choose(Rule):
    """The hard assignment of least cost."""

    assumption: Assumption

    def step(
        self, z: Array, offsets: Array, p: Array, entered: Array, weight: Array
    ) -> tuple[Array, Tally]:
        """Count the instances whose assignment changes."""
        new = self.assumption.map(z, offsets)
        return new, Tally(changed=int(np.count_nonzero(new != p)))


@dataclass(frozen=True)
class Soften(Rule):
    """The soft assignment at a temperature."""

    softening: Softening
    loss: Loss
    C: float
    temperature: float
    coldest: float

    def part(self, bags: slice) -> Rule:
        """Return the rule for some of the positive bags: their expected fractions go with them."""
        fraction = getattr(self.softening, "positive_fraction", None)
        if not isinstance(fraction, np.ndarray):
            return self
        softening: Any = replace(self.softening, positive_fraction=fraction[bags])  # type: ignore[type-var]
        return replace(self, softening=softening)

    def step(
        self, z: Array, offsets: Array, p: Array, entered: Array, weight: Array
    ) -> tuple[Array, Tally]:
        """Return the next soft assignment, and how far it is from the one before and from rest."""
        costs = self.C * self.loss.value(-z), self.C * self.loss.value(z)
        new = self.softening.step(*costs, offsets, self.temperature, p)
        tally = Tally(
            divergence=float(weight @ new.divergence),
            entropy=float(weight @ new.entropy),
            penalty=float(weight @ self.softening.penalty(new.p, offsets)),
            positives=float(expand(weight, offsets) @ new.p),
            moved=float(np.max(np.abs(new.p - entered), initial=0.0)),
            undecided=np.inf,
        )
        if tally.moved <= UNCHANGED:  # otherwise nobody asks
            cold = self.softening.step(*costs, offsets, self.coldest, new.p)
            tally.undecided = float(np.max(np.abs(new.p - cold.p), initial=0.0))
        return new.p, tally
