"""Looks at the squared hinge: one pass yields all that a Newton step and its certificate need.

    min_{w,b} 1/2|w|^2 + sum_k [a_k l(z_k) + c_k l(-z_k)],  z_k = w.x_k + b,  l(t) = max(0, 1 - t)^2

At a place and an assignment, which gives the weights a and c, the sums over rows are

    H = sum_k s_k x_k x_k',  sum_k s_k x_k,  sum_k s_k,  sum_k beta+_k x_k,  sum_k beta-_k x_k,
    s_k = 2 (a_k [z_k < 1] + c_k [z_k > -1]),  beta+_k = 2 a_k max(0, 1 - z_k).

The duals beta make every pass a certificate. H is asked for as the change since another place and
assignment: a pure sum over the rows whose curvature differs between the two. So that few rows do,
soft curvatures enter H on a grid of ratios 2^(1/4). H is then a little off, which the next Newton
step makes up for, because gradients and gaps are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.soft import UNCHANGED, Softening
from bagwise.bags.segments import positive_part
from bagwise.rows.looks import Assignment, Known, Labels, Look, Place
from bagwise.tolerances import DECIDED, TINY

if TYPE_CHECKING:
    from bagwise.rows.looks import Block

_TOTALS = (
    *("rises", "falls", "up", "down", "mass", "turned", "blur", "weight"),
    *("divergence", "entropy", "penalty", "positives", "changed"),
)
_COMPARED = _TOTALS.index("divergence")  # where the numbers that compare assignments begin
_MAXIMA = ("moved", "undecided")
HALVINGS = 10  # of a step: 2^-10 is as short as steps need to be
GRID = 16  # steps per power of two of soft curvatures within H


@dataclass(frozen=True, eq=False)
class Margins(Look):
    """The sums at a place under an assignment."""

    at: Place
    p: Assignment
    labels: Labels
    since: tuple[Place, Assignment] | None = None  # H is returned as the change from there
    before: Assignment | None = None  # with which p is compared
    coldest: float = 0.0  # temperature at which p is looked at, too, where it has not moved
    exact: bool = False  # products in float64, curvatures as they are
    answers: bool = False  # return p, one value per row

    def part(self, bags: slice, rows: slice) -> Margins:
        """Return the look at some of the bags."""
        return replace(self, labels=self.labels.part(bags, rows))

    def begin(self, blocks: Any) -> Any:
        """Return the sums of no rows."""
        return blocks.begin(len(_TOTALS), len(_MAXIMA), 3)

    def add(self, block: Block, known: Known, total: Any) -> None:
        """Add the sums of a block."""
        seen = Seen(block, known, self)
        block, known = seen.block, seen.known
        weigh, _ = _choose_loops(block.xp)
        vectors, numbers = weigh(seen, self)
        block.squares(vectors[2], total)
        total.vectors += block.sums(vectors)
        if self.before is not None and len(known.inside):
            more, maxima = self._compare(seen, seen.assign(self.p), seen.assign(self.before))
            numbers += [0 * numbers[0]] * (_COMPARED - len(numbers)) + more
            total.raise_maxima(maxima)
        total.count(numbers)
        if self.answers:
            p = block.xp.zeros_like(known.weight)
            p[known.inside] = seen.assign(self.p)
            total.answer(p)

    def _compare(self, seen: Seen, p: Any, q: Any) -> tuple[list[Any], list[Any]]:
        bags, rule, known = seen.known.bags, self.p.rule, seen.known
        moved = abs(p - q).max()
        if not isinstance(rule, Softening):
            return [0 * moved] * 4 + [(p != q).sum() + 0 * moved], [moved, 0 * moved]
        entropy, divergence = rule.compare(bags, p, q)
        numbers = [
            known.shares @ divergence,
            known.shares @ entropy,
            known.shares @ rule.penalize(bags, p, known.facts.fraction),
            known.shares @ bags.sum(p),
            0 * moved,
        ]
        undecided = 0 * moved
        if float(moved) <= UNCHANGED:  # otherwise nobody asks
            cold = seen.assign(replace(self.p, temperature=self.coldest))
            undecided = abs(p - cold).max()
        return numbers, [moved, undecided]


@dataclass(frozen=True, eq=False)
class Scout(Look):
    """The risks all, half, a quarter, ... of the way to a place: no product but two scores."""

    start: Place
    at: Place
    p: Assignment
    labels: Labels
    exact: bool = False

    def part(self, bags: slice, rows: slice) -> Scout:
        """Return the look at some of the bags."""
        return replace(self, labels=self.labels.part(bags, rows))

    def begin(self, blocks: Any) -> Any:
        """Return the sums of no rows."""
        return blocks.begin(HALVINGS + 1, 0, 0)

    def add(self, block: Block, known: Known, total: Any) -> None:
        """Add the risks of a block."""
        seen = Seen(block, known, self)
        _, scout = _choose_loops(seen.block.xp)
        total.count(scout(seen, self))


@cache
def _choose_loops(xp: Any) -> tuple[Any, Any]:
    """Return how rows are weighed and scouted: by compiled loops where they are NumPy's."""
    if xp is np:
        from bagwise.rows import _fused

        return _fused.weigh, _fused.scout
    return weigh_rows, scout_rows


def weigh_rows(seen: Seen, look: Margins) -> tuple[list[Any], list[Any]]:
    """Return duals and curvatures (or their change) of all rows, and the first of the totals."""
    # 1) Risks and duals: with them, every pass is a certificate.
    (a, c), z = seen.weights(look.p), seen.scores(look.at)
    above, below = positive_part(1 - z), positive_part(1 + z)
    rise, fall = 2 * a * above, 2 * c * below
    # 2) Curvatures, or how they changed.
    curvature = change = seen.curvature(look.at, look.p)
    if look.since is not None:
        change = curvature - seen.curvature(*look.since)
    numbers = [rise.sum(), fall.sum(), _risk(a, above), _risk(c, below), change.sum()]
    numbers.append(abs(change).sum())
    if look.since is None:  # whoever bounds the rounding of H has made it anew
        numbers += [_risk(curvature, 1 + abs(z)), a.sum() + c.sum()]
    return [rise, fall, change], numbers


def scout_rows(seen: Seen, look: Scout) -> list[Any]:
    """Return the risks all, half, a quarter, ... of the way."""
    (a, c), start = seen.weights(look.p), seen.scores(look.start)
    step, found = seen.scores(look.at) - start, []
    for _ in range(HALVINGS + 1):
        z = start + step
        found.append(_risk(a, positive_part(1 - z)) + _risk(c, positive_part(1 + z)))
        step = 0.5 * step
    return found


def _risk(weights: Any, loss: Any) -> Any:
    return weights @ loss**2


class Seen:
    """A block under a look: scores and assignments, each computed once."""

    def __init__(self, block: Block, known: Known, look: Margins | Scout) -> None:
        block = block.exact() if look.exact else block
        merged = look.p.rule.merges
        self.block, self.known = block.merge(known) if merged else (block, known)
        self.look, self.memo = look, self.block.memo

    def scores(self, place: Place) -> Any:
        """Return the scores of all rows at a place."""
        if place not in self.memo.scores:  # one by one: the bits do not depend on the others
            self.memo.scores[place] = self.block.scores(place)
        return self.memo.scores[place]

    def assign(self, p: Assignment) -> Any:
        """Return the assignment of the instances of positive bags."""
        owner, known = self.memo.assigned.get(p), self.known
        if owner is None or owner[0] is not known:
            z = self.scores(p.anchor or self.look.at)[known.inside]
            found = p.rule.assign(known.bags, z, p.temperature, known.facts)
            self.memo.assigned[p] = owner = known, found
        return owner[1]

    def weights(self, given: Assignment) -> tuple[Any, Any]:
        """Return the weights of all rows as positives and as negatives."""
        known, xp = self.known, self.block.xp
        a, c = xp.zeros_like(known.weight), known.weight + 0.0
        if len(known.inside):
            # Probabilities near 0 or 1 are rounded, so that their rows leave the linear algebra.
            p = self.assign(given)
            p = xp.where(p < DECIDED, 0.0, xp.where(p > 1 - DECIDED, 1.0, p))
            a[known.inside] = known.within * p
            c[known.inside] = known.within * (1 - p) * known.facts.rest(given.rule.rest_is_negative)
        return a, c

    def curvature(self, place: Place, given: Assignment) -> Any:
        """Return the curvature of all rows, on the grid where it is soft."""
        (a, c), z, xp = self.weights(given), self.scores(place), self.block.xp
        found = 2 * (a * (z < 1) + c * (z > -1))
        if given.rule.is_soft and not self.look.exact and len(self.known.inside):
            exact, unit = found[self.known.inside], 2 * self.known.within
            level = xp.round(GRID * xp.log2(exact / unit + TINY)) / GRID
            found[self.known.inside] = (exact > 0) * unit * xp.exp2(level)
        return found


def named(numbers: Array, maxima: Array) -> dict[str, float]:
    """Return totals and maxima by name."""
    totals = numbers[: len(_TOTALS)].tolist()
    return dict(zip((*_TOTALS, *_MAXIMA), (*totals, *maxima.tolist()), strict=True))
