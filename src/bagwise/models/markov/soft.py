"""The risk of a two-class Markov network, softened so that Newton's method applies.

A bag of label Y has the risk max(0, 1 + F(other) - F(Y)), and F(side) is the maximum over ranges of
counts (`Ranges`) of a weight plus the best sum of scores with a count in the range. Both maxima are
linear programs, over mixtures q of the ranges and over labels p in [0, 1] with lo <= sum p <= hi.
A quadratic term in p (of some ``width``, in units of scores) and in q (of some ``margin``, around
``centers``) makes them smooth: p = clip((z - nu) / width + 1/2), and q the projection of
centers + u / margin onto the simplex, u the margins by which ranges violate. Where the last q
become the next centers, q converges at a constant margin, as in a method of multipliers.

Any such p and q prove a bound. With F(Y) replaced by the scores of its own mixture of labelings
(nowhere above F(Y)) the risk has a convex majorizer, and p and q a plane below that.

Values per instance are where the instances are (NumPy, or tensors), values per bag on the host.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import CountInference
from bagwise.models.markov.ranges import RaggedRows, Ranges, between, limit_sums, on_simplex
from bagwise.solvers.soft_newton import Softness

if TYPE_CHECKING:
    from bagwise.models.markov.looks import NetworkLabels, NetworkLook

_NEVER = -1 / np.finfo(float).eps  # what a range scores that a bag is too small for


@dataclass
class BagRows:
    """For every bag a weighted sum of its rows and its own part, and the factor of its square."""

    weights: Any  # of the rows
    own: Array  # (n_bags, n_own)
    factor: Array
    concave: bool = False


@dataclass
class Softened:
    """What bags contribute at a point; per-row parts are for sums over the rows."""

    risk: float  # of the network itself
    judged: float  # softened as ``judge`` says
    value: float  # as ``then`` says, like all below
    touching: float  # of the convex majorizer
    slack: float  # of the bound in q; the rest is that in p
    constant: float  # of the plane below the majorizer
    centers: Array  # those of the q above
    pull: Any  # derivative in the scores
    own_pull: Array  # in potential and bag weights
    bend: Any  # curvature of the convex part
    sag: Any  # of the concave part, as a positive number
    squares: list[BagRows] = field(default_factory=list)


class SoftBags:
    """Some bags of a network."""

    def __init__(
        self, rows: RaggedRows, ranges: Ranges, inference: CountInference, labels: NetworkLabels
    ) -> None:
        self.rows, self.ranges, self.inference, self.labels = rows, ranges, inference, labels
        self.truth = labels.positive.astype(int)
        self.n_weights = labels.potential.n_weights

    def soften(self, z: Any, look: NetworkLook, centers: Array, z_frozen: Any = None) -> Softened:
        """Return what these bags contribute, z their instances' scores.

        ``z_frozen`` are those at the point where labelings are frozen, if there is one.
        """
        value, count = self.inference.best_counts(z, look.potential)
        of_bags = self.labels.columns @ look.bag
        score = value + np.stack([0 * of_bags, of_bags])
        bags = np.arange(len(self.truth))
        worst = score[1 - self.truth, bags]  # of the other side
        risk = np.maximum(0, 1 + worst - score[self.truth, bags])
        scene = _Scene(self, z, look, of_bags)
        if look.frozen is None:
            scene.follow(count[self.truth, bags])
        elif z_frozen is None:
            scene.freeze_whole()
        else:
            _, count = self.inference.best_counts(z_frozen, look.frozen.potential)
            scene.follow(count[self.truth, bags])
            scene.freeze(z_frozen, look.frozen.width)
        seen = judged = scene.see(look.judge, centers)
        centers = judged.q if look.renew else centers
        if look.then != look.judge or look.renew:
            seen = scene.see(look.then, centers)
        weight = self.labels.weight
        touching = np.maximum(0, 1 + worst - seen.own_line)
        lines = seen.lines
        slack = np.maximum(0, lines.max(axis=0)) - (seen.q[1:] * lines).sum(axis=0)
        found = Softened(
            float(weight @ risk),
            float(weight @ judged.value),
            float(weight @ seen.value),
            float(weight @ touching),
            float(weight @ slack),
            float(weight @ seen.constant),
            centers,
            *seen.derivatives(weight),
        )
        found.squares = list(seen.squares(weight))
        return found


class _Scene:
    """One point: scores, ranges of the other side, and the range of the bags' own side."""

    own: Ranges
    share: Any = None  # the labeling of the own side where it is frozen
    blur: Any = 0.0  # by how much softness lifts it

    def __init__(self, bags: SoftBags, z: Any, look: NetworkLook, of_bags: Array) -> None:
        self.bags, self.z, self.look, self.of_bags = bags, z, look, of_bags
        other = 1 - bags.truth
        self.others = [
            bags.ranges.choose(other, np.full(len(other), k))
            for k in range(bags.ranges.lo.shape[1])
        ]

    def follow(self, count: Array) -> None:
        """Choose the ranges that some counts are in."""
        lo, hi = self._of_truth()
        inside = (lo <= count[:, None]) & (count[:, None] <= hi)
        self.own = self.bags.ranges.choose(self.bags.truth, inside.argmax(axis=1))

    def freeze(self, z: Any, width: float) -> None:
        """Freeze the labels at some scores."""
        base = (z / width + 0.5).clip(0, 1)
        self.share = p = limit_sums(self.bags.rows, z, base, self.own, width)[0]
        self.blur = width / 2 * self.bags.rows.sum(p * (1 - p))

    def freeze_whole(self) -> None:
        """Freeze all or none of the instances, as far as the side's ranges allow it."""
        truth, (lo, hi) = self.bags.truth, self._of_truth()
        first, last = np.where(lo <= hi, lo, len(lo[0]) + hi.max()), np.where(lo <= hi, hi, -1)
        chosen = np.where(truth == 1, last.argmax(axis=1), first.argmin(axis=1))
        self.own = self.bags.ranges.choose(truth, chosen)
        count = np.where(truth == 1, self.own.hi, self.own.lo)
        self.share = self.bags.rows.spread(count / self.bags.rows.sizes)

    def _of_truth(self) -> tuple[Array, Array]:
        which = self.bags.truth, slice(None), np.arange(len(self.bags.truth))
        return self.bags.ranges.lo[which], self.bags.ranges.hi[which]

    def height(self, range_: Ranges, side: Array) -> Array:
        """Return what a range scores beside its instances."""
        learned = np.append(self.look.potential, 0.0)[range_.weight]
        height = learned + range_.fixed + np.where(side == 1, self.of_bags, 0.0)
        return np.where(range_.lo <= range_.hi, height, _NEVER)

    def tag(self, range_: Ranges, side: Array) -> Array:
        """Return the derivative of that in the potential's and the bag features' weights."""
        n = self.bags.n_weights
        learned = np.zeros((len(side), n + 1))
        learned[np.arange(len(side)), range_.weight] = 1.0  # -1 is the last column: no weight
        return np.hstack([learned[:, :n], (side == 1)[:, None] * self.bags.labels.columns])

    def see(self, soft: Softness, centers: Array) -> _Seen:
        return _Seen(self, soft, centers)


class _Seen:
    """The point under one softness."""

    def __init__(self, scene: _Scene, soft: Softness, centers: Array) -> None:
        self.scene, self.soft = scene, soft
        rows, z, truth = scene.bags.rows, scene.z, scene.bags.truth
        base = (z / soft.width + 0.5).clip(0, 1)
        # 1) The bag's own side: its best range, unless it is frozen.
        self.range, self.own, self.own_off = scene.own, scene.share, None
        if scene.share is None:
            self.own, self.own_off = limit_sums(rows, z, base, self.range, soft.width)
            own_line, own_value = self._values(self.own)
        else:
            own_line = rows.sum(self.own * z)
            own_value = own_line + scene.blur
        own_height = scene.height(self.range, truth)
        self.own_line = own_line + own_height
        # 2) All ranges of the other side.
        self.ps, self.offs, lines, values = [], [], [], []
        for range_ in scene.others:
            p, off = limit_sums(rows, z, base, range_, soft.width)
            line, value = self._values(p)
            height = 1 + scene.height(range_, 1 - truth)
            lines.append(height + line - self.own_line)
            values.append(height + value - own_value - own_height)
            self.ps.append(p)
            self.offs.append(off)
        self.lines, u = np.stack(lines), np.stack(values)
        # 3) Their mixture.
        self.q = on_simplex(centers + np.vstack([0 * u[:1], u]) / soft.margin)
        square = ((self.q - centers) ** 2).sum(axis=0)
        self.value = (self.q[1:] * u).sum(axis=0) - soft.margin / 2 * square

    def _values(self, p: Any) -> tuple[Array, Array]:
        rows, z = self.scene.bags.rows, self.scene.z
        line = rows.sum(p * z)
        return line, line + self.soft.width / 2 * rows.sum(p * (1 - p))

    @cached_property
    def violated(self) -> Array:
        """The sum of q over all ranges."""
        return self.q[1:].sum(axis=0)

    @property
    def constant(self) -> Array:
        fixed = np.stack([range_.fixed for range_ in self.scene.others])
        return (self.q[1:] * (1 + fixed - self.range.fixed)).sum(axis=0)

    def derivatives(self, weight: Array) -> tuple[Any, Array, Any, Any]:
        """Return pull, own pull, bend and sag."""
        scene, spread = self.scene, self.scene.bags.rows.spread
        truth = scene.bags.truth
        amount = weight * self.violated
        pull, bend = -spread(amount) * self.own, 0.0 * self.own
        own = -(amount @ scene.tag(self.range, truth))
        for p, q, range_ in zip(self.ps, self.q[1:], scene.others, strict=True):
            share = spread(weight * q)
            pull = pull + share * p
            bend = bend + share / self.soft.width * between(p)
            own = own + (weight * q) @ scene.tag(range_, 1 - truth)
        sag = 0.0 * bend
        if self.own_off is not None:
            sag = spread(amount) / self.soft.width * between(self.own)
        return pull, own, bend, sag

    def squares(self, weight: Array) -> Any:
        """Yield the squares of sums of rows that are in the Hessian beside squares of rows."""
        scene, truth = self.scene, self.scene.bags.truth
        active = self.q > 0
        count = active.sum(axis=0)
        mixed, own = count > 1, scene.tag(self.range, truth)
        factor = weight / self.soft.margin * mixed
        single = len(self.ps) == 1  # then the two squares are one
        total: Any = 0.0
        total_own = np.zeros(own.shape)
        for p, range_, on in zip(self.ps, scene.others, active[1:], strict=True):
            difference = p - self.own
            tag = scene.tag(range_, 1 - truth) - own
            yield BagRows(difference, tag, factor * on / (2 if single else 1))
            if not single:
                total = total + scene.bags.rows.spread(1.0 * on) * difference
                total_own += on[:, None] * tag
        if not single:
            yield BagRows(total, total_own, -factor / count)
        # Counts at an end of their range: labels change but their sum does not.
        amounts = [weight * q for q in self.q[1:]]
        for p, off, amount in zip(self.ps, self.offs, amounts, strict=True):
            yield self._fixed_sum(p, off, amount, concave=False)
        if self.own_off is not None:
            yield self._fixed_sum(self.own, self.own_off, weight * self.violated, concave=True)

    def _fixed_sum(self, p: Any, off: Array, amount: Array, *, concave: bool) -> BagRows:
        rows = self.scene.bags.rows
        band = rows.segments.indicate(between(p))
        number = np.maximum(rows.sum(band), 1)
        n_own = self.scene.tag(self.range, self.scene.bags.truth).shape[1]
        factor = -amount * off / (self.soft.width * number)
        return BagRows(band, np.zeros((len(off), n_own)), factor, concave)
