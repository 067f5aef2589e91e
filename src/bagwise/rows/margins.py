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
from typing import Any

from bagwise._typing import Array
from bagwise.assumptions.segments import positive_part
from bagwise.assumptions.soft import UNCHANGED, Softening
from bagwise.rows.looks import Assignment, Block, Known, Labels, Look, Place
from bagwise.tolerances import DECIDED, TINY

_TOTALS = (
    *("rises", "falls", "up", "down", "mass", "turned", "blur", "weight"),
    *("divergence", "entropy", "penalty", "positives", "changed"),
)
_COMPARED = _TOTALS.index("divergence")  # where the numbers that compare assignments begin
_MAXIMA = ("moved", "undecided")
HALVINGS = 10  # of a step whose risks one look finds out: 2^-10 is as short as steps need to be
_GRID = 16  # steps per power of two of soft curvatures within H


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
    base: Place | None = None  # the risks half, a quarter, ... of the way from here are wanted, too

    def part(self, bags: slice, rows: slice) -> Margins:
        """Return the look at some of the bags."""
        return replace(self, labels=self.labels.part(bags, rows))

    def begin(self, blocks: Any) -> Any:
        """Return the sums of no rows."""
        return blocks.begin(len(_TOTALS) + HALVINGS * (self.base is not None), len(_MAXIMA), 3)

    def add(self, block: Block, known: Known, total: Any) -> None:
        """Add the sums of a block."""
        block = block.exact() if self.exact else block
        if self.p.rule.merges:
            block, known = block.merge(known)
        seen = _Seen(block, known, self)
        # 1) Risks and duals: with them, every pass is a certificate.
        (a, c), z = seen.weights(self.p), seen.scores(self.at)
        above, below = positive_part(1 - z), positive_part(1 + z)
        rise, fall = 2 * a * above, 2 * c * below
        # 2) H, or how it changed.
        curvature = change = seen.curvature(self.at, self.p)
        if self.since is not None:
            change = curvature - seen.curvature(*self.since)
        block.squares(change, total)
        total.vectors += block.sums([rise, fall, change])
        numbers = [rise.sum(), fall.sum(), _risk(a, above), _risk(c, below), change.sum()]
        numbers.append(abs(change).sum())
        if self.since is None:  # whoever bounds the rounding of H has made it anew
            numbers += [_risk(curvature, 1 + abs(z)), a.sum() + c.sum()]
        # 3) What procedures stop by.
        if self.before is not None and len(known.inside):
            more, maxima = self._compare(seen, seen.assign(self.p), seen.assign(self.before))
            numbers += [0 * numbers[0]] * (_COMPARED - len(numbers)) + more
            total.raise_maxima(maxima)
        if self.base is not None:
            numbers += [0 * numbers[0]] * (len(_TOTALS) - len(numbers))
            numbers += _risks_between(a, c, seen.scores(self.base), z)
        total.count(numbers)
        if self.answers:
            p = block.xp.zeros_like(z)
            p[known.inside] = seen.assign(self.p)
            total.answer(p)

    def _compare(self, seen: _Seen, p: Any, q: Any) -> tuple[list[Any], list[Any]]:
        bags, rule, known = seen.known.bags, self.p.rule, seen.known
        moved = abs(p - q).max()
        if not isinstance(rule, Softening):
            return [0 * moved] * 4 + [(p != q).sum() + 0 * moved], [moved, 0 * moved]
        numbers = [
            known.shares @ rule.diverge(bags, p, q),
            known.shares @ rule.entropy(bags, p),
            known.shares @ rule.penalize(bags, p, known.facts.fraction),
            known.shares @ bags.sum(p),
            0 * moved,
        ]
        undecided = 0 * moved
        if float(moved) <= UNCHANGED:  # otherwise nobody asks
            cold = seen.assign(replace(self.p, temperature=self.coldest))
            undecided = abs(p - cold).max()
        return numbers, [moved, undecided]


def _risk(weights: Any, loss: Any) -> Any:
    return weights @ loss**2


def _risks_between(a: Any, c: Any, start: Any, end: Any) -> list[Any]:
    """Return the risks half, a quarter, ... of the way between two vectors of scores."""
    found, step = [], end - start
    for _ in range(HALVINGS):
        step = 0.5 * step
        z = start + step
        found.append(_risk(a, positive_part(1 - z)) + _risk(c, positive_part(1 + z)))
    return found


class _Seen:
    """A block under a look: scores, assignments and curvatures, each computed once."""

    def __init__(self, block: Block, known: Known, look: Margins) -> None:
        self.block, self.known, self.look = block, known, look
        self._scores: dict[Place, Any] = {}
        self._assigned: dict[Assignment, Any] = {}
        self._weights: dict[Assignment, tuple[Any, Any]] = {}

    def scores(self, place: Place) -> Any:
        if place not in self._scores:  # one by one: the bits do not depend on the others
            self._scores[place] = self.block.scores(place)
        return self._scores[place]

    def assign(self, p: Assignment) -> Any:
        if p not in self._assigned:
            z = self.scores(p.anchor or self.look.at)[self.known.inside]
            known = self.known
            self._assigned[p] = p.rule.assign(known.bags, z, p.temperature, known.facts)
        return self._assigned[p]

    def weights(self, given: Assignment) -> tuple[Any, Any]:
        """Return the weights of all rows as positives and as negatives."""
        if given not in self._weights:
            self._weights[given] = self._weigh(given)
        return self._weights[given]

    def _weigh(self, given: Assignment) -> tuple[Any, Any]:
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
        (a, c), z, xp = self.weights(given), self.scores(place), self.block.xp
        found = 2 * (a * (z < 1) + c * (z > -1))
        if given.rule.is_soft and not self.look.exact and len(self.known.inside):
            exact, unit = found[self.known.inside], 2 * self.known.within
            level = xp.round(_GRID * xp.log2(exact / unit + TINY)) / _GRID
            found[self.known.inside] = (exact > 0) * unit * xp.exp2(level)
        return found


def named(numbers: Array, maxima: Array) -> dict[str, float]:
    """Return totals and maxima by name."""
    totals = numbers[: len(_TOTALS)].tolist()
    return dict(zip((*_TOTALS, *_MAXIMA), (*totals, *maxima.tolist()), strict=True))


def risks_between(numbers: Array) -> list[float]:
    """Return the risks half, a quarter, ... of the way from a look's base."""
    return numbers[len(_TOTALS) :].tolist()
