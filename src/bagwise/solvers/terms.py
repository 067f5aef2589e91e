"""Terms of an objective over bags, as the cutting plane method sees them.

With f the scores of all rows, top_i = max of f over bag i and fixed_i = f at the witness u_i of
bag i (chosen by CCCP), a term is convex in f. It returns its value and the plane

    R(f) >= height + rows.f + witnesses.fixed        (cuts (4) and (5) of Zhang et al. 2011)

in which ``witnesses`` is the part that depends on u. A plane remains valid for any other witnesses,
so the cuts of one CCCP step can start the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bagwise._typing import Array
from bagwise.bags.segments import segment_argmax


@dataclass(frozen=True)
class BagScores:
    """Scores of rows and of bags."""

    rows: Array  # f, (n_rows,)
    top: Array  # the highest score of each bag, (n_bags,)
    top_rows: Array  # the row that has it, (n_bags,)
    fixed: Array  # the score of each bag's witness, (n_bags,)

    @classmethod
    def of(cls, rows: Array, offsets: Array, witnesses: Array | None = None) -> BagScores:
        """Score the bags; the tops are the witnesses if none are given."""
        top_rows = offsets[:-1] + segment_argmax(rows, offsets)
        top = rows[top_rows]
        return cls(rows, top, top_rows, top if witnesses is None else rows[witnesses])


@dataclass(frozen=True)
class Plane:
    """A term's value and its cut."""

    value: float
    height: float
    rows: Array  # (n_rows,)
    witnesses: Array  # (n_bags,)

    def on_rows(self, witnesses: Array) -> Array:
        """Return all weights on rows, with the bags' witnesses at these rows."""
        weights = self.rows.copy()
        weights[witnesses] += self.witnesses  # one witness per bag: no row occurs twice
        return weights


class Term(Protocol):
    """A convex function of the scores, given the witnesses."""

    @property
    def name(self) -> str:
        """Its name in the history."""

    @property
    def weight(self) -> float:
        """Its factor in the objective."""

    @property
    def eps(self) -> float:
        """The tolerance of its cuts."""

    def evaluate(self, scores: BagScores) -> Plane:
        """Return the value and the plane at these scores."""

    def value(self, scores: BagScores) -> float:
        """Return the value alone."""
