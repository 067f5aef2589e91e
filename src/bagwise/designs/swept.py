"""Labeled rows in shards: one pass over the rows yields all that a Newton step needs.

`Swept.sweep` reads every row once. A block of whole bags gives scores, the scores a new assignment
(`bagwise.assumptions.rules`), and assignment and scores the sums

    H = sum_k s_k x_k x_k',  sum_k s_k x_k,  sum_k s_k,  sum_k beta+_k x_k,  sum_k beta-_k x_k,

with s_k the curvature of row k and beta its duals, for the squared hinge l(t) = max(0, 1 - t)^2:

    s_k = 2 (a_k [z_k < 1] + c_k [z_k > -1]),  beta+_k = 2 a_k max(0, 1 - z_k).

The duals make every pass a certificate (`Sums.dual_objective`). H is kept from pass to pass, and a
row enters it anew only when its curvature has changed by more than a tenth: H is then a little off,
which the next Newton step makes up for, because the gradient is exact. Products are in the
precision of the rows, sums over blocks in float64.

What belongs to a row (its assignment, its curvature in H) stays with its shard: 16 bytes. The
shards are the same wherever they are swept, and their sums are added in the same order.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.rules import KEEP, Keep, Rule, Tally
from bagwise.designs.dense import Dense
from bagwise.designs.linear import DIGITS_KEPT
from bagwise.designs.ridge import solve_primal
from bagwise.designs.tree import Node, add_up, grow
from bagwise.rowstores import blocks
from bagwise.rowstores.blocks import MOST_SHARDS
from bagwise.rowstores.passes import Visits, run_alone, run_pass, shift_visits
from bagwise.tolerances import INNER, PATIENCE, rounding_of

_FEWEST_ROWS = 64  # rows per feature in a shard: its H is then small beside its rows


@dataclass(frozen=True)
class Labels:
    """What a pass knows of the bags: one class against the rest.

    ``weight`` is C times the weight of the bag. With ``rest_is_negative`` an instance of a positive
    bag is negative with weight 1 - p, without it drops out.
    """

    offsets: Array
    positive: Array
    weight: Array
    C: float
    rest_is_negative: bool

    def positive_parts(self, cuts: list[int]) -> list[slice]:
        """Return which of the positive bags are in each shard."""
        before = np.concatenate([[0], np.cumsum(self.positive)])
        return [slice(int(before[a]), int(before[b])) for a, b in pairwise(cuts)]

    def part(self, bags: slice) -> Labels:
        """Return the labels of a range of bags."""
        offsets = self.offsets[bags.start : bags.stop + 1]
        shares = self.positive[bags], self.weight[bags]
        return Labels(offsets - offsets[0], *shares, self.C, self.rest_is_negative)

    def shard(self, rows: Dense) -> Shard:
        """Return rows with these labels."""
        return Shard(rows, self)

    def on_device(self, rows: Any) -> Any:
        """Return rows on a device with these labels."""
        from bagwise.designs.torch_swept import TorchSwept

        return TorchSwept(rows, self)


@dataclass
class Sums:
    """What a pass adds up, at one point and one assignment."""

    hessian: Array  # sum s x x'
    mean_sum: Array  # sum s x
    mass: float  # sum s
    rise: Array  # sum beta+ x
    fall: Array  # sum beta- x
    rises: float  # sum beta+
    falls: float  # sum beta-
    risk_up: float  # sum a l(z)
    risk_down: float  # sum c l(-z)
    tally: Tally

    @classmethod
    def zero(cls, n_coef: int) -> Sums:
        """Return the sums of no rows."""
        vectors = (np.zeros(n_coef) for _ in range(3))
        h, up, down = vectors
        return cls(np.zeros((n_coef, n_coef)), h, 0.0, up, down, 0.0, 0.0, 0.0, 0.0, Tally())

    def add(self, other: Sums) -> None:
        """Add the sums of other rows."""
        for name, value in vars(other).items():
            if name != "tally":
                setattr(self, name, getattr(self, name) + value)
        self.tally.add(other.tally)

    @property
    def risk(self) -> float:
        """The weighted sum of losses."""
        return self.risk_up + self.risk_down

    def step(self, coef: Array, metric: Any) -> tuple[Array, float, float]:
        """Return the Newton step in w and b, and the decrease that its quadratic promises."""
        residual = self.rise - self.fall - metric * coef
        shift = self.rises - self.falls
        if self.mass == 0:
            return -coef, 0.0, 0.5 * float(metric * coef @ coef)
        mean = self.mean_sum / self.mass
        step, rise = solve_primal(self.hessian, metric, mean, self.mass, residual, shift)
        return step, rise, 0.5 * float(step @ residual + rise * shift)

    def dual_objective(self, metric: Any) -> float:
        """Return D at the duals of this point, shrunk until they balance (`bagwise.problems`).

        With shares u of beta+ and v of beta-: -1/2|u rise - v fall|^2 + u sum beta+ - u^2 risk+
        + v sum beta- - v^2 risk-, because beta^2 / 4a = a l for the squared hinge.
        """
        least = min(self.rises, self.falls)
        u, v = (least / side if side > 0 else 1.0 for side in (self.rises, self.falls))
        dual = u * self.rise - v * self.fall
        norm = float(dual @ (dual / metric))
        up, down = u * self.rises - u * u * self.risk_up, v * self.falls - v * v * self.risk_down
        return up + down - 0.5 * norm


class Shard:
    """Some whole bags: their rows, labels, assignment, and the curvatures within H."""

    def __init__(self, rows: Dense, labels: Labels) -> None:
        self.rows, self.labels, self.lazy = rows, labels, INNER
        self.precision: Any = rows.precision
        self.gram_precision: Any = rows.precision
        self.p = np.zeros(int(np.diff(labels.offsets)[labels.positive].sum()))
        self.entered = np.zeros(len(self.p), dtype=np.float32)
        self.blocks = list(self._blocks())
        self.pending = {sign: Pending(sign) for sign in (1, -1)}
        self._forget()

    def _forget(self) -> None:
        d = self.rows.n_coef
        self.last = np.zeros(self.rows.n_rows, dtype=np.float32)
        self.hessian, self.mean_sum, self.mass = np.zeros((d, d)), np.zeros(d), 0.0
        self.peak, self.updates = np.zeros(d), 0

    def sharpen(self) -> None:
        """From now on, keep H exact and in float64."""
        self.lazy, self.gram_precision = 0.0, np.float64
        self._forget()

    def refine(self) -> None:
        """From now on, make all products in float64."""
        self.precision = np.float64
        self.sharpen()

    def revert(self) -> None:
        """Take back the assignment that the last entering rule replaced."""
        self.p[:] = self.entered

    def sweep(self, coef: Array, intercept: float, rule: Rule) -> Sums:
        """Return the sums at a point, under the assignment that the rule makes of it."""
        return run_alone(self.visits(coef, intercept, rule))

    def visits(self, coef: Array, intercept: float, rule: Rule) -> Generator[int, None, Sums]:
        """Sweep block by block: yield the rows that are done, return the sums."""
        worn = np.any(self.hessian.diagonal() < DIGITS_KEPT * self.peak)
        if self.updates >= PATIENCE or worn:
            self._forget()
        total = Sums.zero(self.rows.n_coef)
        if rule.enters:
            self.entered[:] = self.p
        coef, mass = coef.astype(self.precision), self.mass
        for bags, rows, inside in self.blocks:
            self._visit(bags, rows, inside, coef, intercept, rule, total)
            yield rows.stop
        for pending in self.pending.values():
            pending.flush(self)
        self.updates += mass != self.mass
        self.peak = np.maximum(self.peak, self.hessian.diagonal())
        total.hessian += self.hessian
        total.mean_sum += self.mean_sum
        total.mass = self.mass
        return total

    def _rows_at_once(self) -> int:
        width = self.rows.n_coef * np.dtype(self.rows.precision).itemsize
        return blocks.CACHE_BYTES // max(1, width)

    def _blocks(self) -> Iterator[tuple[slice, slice, slice]]:
        """Yield ranges of whole bags, of their rows, and of their rows among the positive ones."""
        offsets, positive = self.labels.offsets, self.labels.positive
        rows = max(1, self._rows_at_once())
        bag, first = 0, 0
        while bag < len(positive):
            end = int(np.searchsorted(offsets, offsets[bag] + rows, side="right")) - 1
            end = min(max(end, bag + 1), len(positive))
            count = int((np.diff(offsets[bag : end + 1]) * positive[bag:end]).sum())
            rows_of = slice(int(offsets[bag]), int(offsets[end]))
            yield slice(bag, end), rows_of, slice(first, first + count)
            bag, first = end, first + count

    def _visit(
        self,
        bags: slice,
        rows: slice,
        inside: slice,
        coef: Array,
        intercept: float,
        rule: Rule,
        total: Sums,
    ) -> None:
        from bagwise.designs._visits import gather_positive, weigh

        # 1) Scores, and the assignment that they make.
        labels = self.labels
        offsets, positive = labels.offsets[bags.start : bags.stop + 1], labels.positive[bags]
        block = self.rows._rows(rows).astype(self.precision, copy=False)
        scores = block @ coef
        if inside.start < inside.stop and not isinstance(rule, Keep):
            z = np.empty(inside.stop - inside.start)
            gather_positive(scores, offsets, positive, intercept, z)
            self._assign(z, bags, inside, rule, total.tally)
        # 2) Duals, risks, and the curvatures that changed.
        beta, change = np.empty((2, len(block)), block.dtype), np.empty(len(block))
        place = offsets, positive, labels.weight[bags], intercept
        state = self.p[inside], labels.rest_is_negative, self.last[rows], self.lazy
        *sums, more, less = weigh(scores, *place, *state, beta, change)
        total.risk_up += sums[0]
        total.risk_down += sums[1]
        total.rises += sums[2]
        total.falls += sums[3]
        if sums[2] > 0:
            total.rise += beta[0] @ block
        if sums[3] > 0:
            total.fall += beta[1] @ block
        # 3) Curvatures that changed enroll anew.
        for sign, count in ((1, more), (-1, less)):
            if count:
                self.pending[sign].add(self, block, np.maximum(sign * change, 0.0), count)

    def _assign(self, z: Array, bags: slice, rows: slice, rule: Rule, tally: Tally) -> None:
        positive, labels = self.labels.positive[bags], self.labels
        before = int(np.count_nonzero(labels.positive[: bags.start]))
        which = slice(before, before + int(np.count_nonzero(positive)))
        sizes = np.diff(labels.offsets[bags.start : bags.stop + 1])[positive]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        weight = labels.weight[bags][positive] / labels.C
        until_now = self.p[rows], self.entered[rows]
        self.p[rows], counted = rule.part(which).step(z, offsets, *until_now, weight)
        tally.add(counted)


class Pending:
    """Rows that are about to enter H or to leave it: few at a time would cost as much as many."""

    def __init__(self, sign: int) -> None:
        self.sign = sign
        self.parts: list[Array] = []
        self.roots: list[Array] = []
        self.n_bytes = 0

    def add(self, shard: Any, block: Array, amount: Array, count: int) -> None:
        """Add the rows of a block whose curvature changed by some amount."""
        if 10 * count <= 9 * len(block):
            used = np.flatnonzero(amount)
            block, amount = block[used], amount[used]
        root = np.sqrt(amount).astype(shard.gram_precision)
        self.parts.append(block.astype(shard.gram_precision, copy=False) * root[:, None])
        self.roots.append(root)
        shard.mass += self.sign * float(amount.sum())
        self.n_bytes += self.parts[-1].nbytes
        if self.n_bytes >= blocks.CACHE_BYTES:
            self.flush(shard)

    def flush(self, shard: Any) -> None:
        """Multiply."""
        if self.parts:
            rows = self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts)
            shard.hessian += self.sign * (rows.T @ rows)
            shard.mean_sum += self.sign * (np.concatenate(self.roots) @ rows)
        self.parts, self.roots, self.n_bytes = [], [], 0


class Summed(Protocol):
    """Rows under one problem that a solver sees the sums of."""

    metric: Any
    rounding: float
    n_coef: int

    def sweep(self, coef: Array, intercept: float, rule: Rule = KEEP) -> Sums:
        """Return the sums of all rows at a point; the rule changes the assignment first."""

    def sharpen(self) -> None:
        """Keep H exact and in float64 from now on."""

    def refine(self) -> bool:
        """Make all products in float64 from now on; return whether that is news."""


class SweptRows(Summed, Protocol):
    """Labeled rows with an assignment, wherever they are."""

    labels: Labels
    coarse: bool  # whether products have fewer digits than the rows
    passes: int  # how often the rows were read
    assignment: Array  # of the instances of positive bags

    def revert(self) -> None:
        """Take back the assignment that the last entering rule replaced."""


class Swept:
    """All rows as shards in this process."""

    coarse = False

    def __init__(self, rows: Dense, labels: Labels) -> None:
        self.metric, self.scale, self.rounding = rows.metric, rows.scale, rows.rounding
        self.n_rows, self.n_coef, self.passes = rows.n_rows, rows.n_coef, 0
        self.labels, self.X = labels, rows.X
        self.cuts = shard_cuts(labels.offsets, rows.n_coef)
        self.positives = labels.positive_parts(self.cuts)
        self.shards = [
            labels.part(slice(a, b)).shard(rows.span(*labels.offsets[[a, b]]))
            for a, b in pairwise(self.cuts)
        ]

    def sweep(self, coef: Array, intercept: float, rule: Rule = KEEP) -> Sums:
        """Return the sums of all rows at a point; the rule changes the assignment first."""
        self.passes += 1
        return run_pass(self.X, self._visits(coef, intercept, rule))

    def _visits(self, coef: Array, intercept: float, rule: Rule) -> Visits:
        first, parts = 0, zip(self.shards, self.positives, strict=True)
        nodes: list[Node] = []
        for i, (shard, bags) in enumerate(parts):
            visits = shard.visits(coef, intercept, rule.part(bags))
            sums = yield from shift_visits(first, visits)
            grow(nodes, Node(0, i, sums))
            first += shard.rows.n_rows
        return add_up(nodes)

    def sharpen(self) -> None:
        """Keep H exact and in float64 from now on."""
        for shard in self.shards:
            shard.sharpen()

    def refine(self) -> bool:
        """Make all products in float64 from now on; return whether that is news."""
        news = self.rounding != rounding_of(np.float64)
        self.rounding = rounding_of(np.float64)
        for shard in self.shards:
            shard.refine()
        return news

    def revert(self) -> None:
        """Take back the assignment that the last entering rule replaced."""
        for shard in self.shards:
            shard.revert()

    @property
    def assignment(self) -> Array:
        """The assignment of the instances of positive bags."""
        return np.concatenate([shard.p for shard in self.shards])

    @assignment.setter
    def assignment(self, p: Array) -> None:
        first = 0
        for shard in self.shards:
            shard.p[:] = p[first : first + len(shard.p)]
            first += len(shard.p)


def shard_cuts(offsets: Array, n_coef: int) -> list[int]:
    """Return where shards begin and end, in bags; it depends on nothing but the data's shape."""
    n_rows = int(offsets[-1])
    rows = max(_FEWEST_ROWS * n_coef, -(-n_rows // MOST_SHARDS), 1)
    cuts = [0]
    while cuts[-1] < len(offsets) - 1:
        end = int(np.searchsorted(offsets, offsets[cuts[-1]] + rows, side="left"))
        cuts.append(min(max(end, cuts[-1] + 1), len(offsets) - 1))
    return cuts
