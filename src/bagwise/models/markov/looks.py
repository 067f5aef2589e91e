"""Looks at the rows of a two-class Markov network: one pass is all that a Newton step needs.

`NetworkLook` asks rows, wherever they are, what `bagwise.models.markov.soft` makes of them.
Coordinates are features, the constant feature, the potential's weights, those of bag features.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import CountInference
from bagwise.designs.base import factor_in_place, solve_factored
from bagwise.models.markov.ranges import RaggedRows, Ranges
from bagwise.models.markov.soft import BagRows, SoftBags, Softened
from bagwise.rows.looks import Labels, Look, Place
from bagwise.solvers.soft_newton import Frozen, Passes, Softness, View

if TYPE_CHECKING:
    from bagwise.rows.looks import Block

_CONCAVE = (1.0, 0.95, 0.8, 0.5, 0.0)  # shares of the concave part tried until H is positive
_NEARLY = 0.7  # of the longest step allowed: as long as it needs to be
_SCALARS = ("risk", "judged", "value", "touching", "slack", "constant")  # fields of `Softened`


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkLabels(Labels):
    """What a pass knows of the bags of a network."""

    potential: Any
    columns: Array  # features of bags
    n_ranges: int  # of counts, per side: the most that a bag has
    kinds: Array | None = None  # (n_bags, 3), of bags without their known instances
    first: int = 0  # which of all bags is the first

    @classmethod
    def of(
        cls,
        potential: Any,
        offsets: Array,
        positive: Array,
        weight: Array,
        columns: Array,
        kinds: Array | None = None,
    ) -> NetworkLabels:
        """Return the labels of all bags; whoever makes them knows that there are few ranges."""
        found = Ranges.of(potential, offsets, kinds=kinds)
        assert found is not None
        given = {"potential": potential, "columns": columns, "kinds": kinds}
        return cls(positive, weight, n_ranges=found.lo.shape[1], **given)

    def part(self, bags: slice, rows: slice) -> NetworkLabels:
        """Return the labels of a range of bags."""
        own = {name: getattr(self, name)[bags] for name in ("positive", "weight", "columns")}
        kinds = None if self.kinds is None else self.kinds[bags]
        return replace(self, **own, kinds=kinds, first=bags.start)

    def know(self, xp: Any, sizes: Array, up: Any) -> SoftBags:
        """Return the bags of a block."""
        offsets, rows = np.append(0, np.cumsum(sizes)), RaggedRows(xp, sizes, up)
        ranges = Ranges.of(self.potential, offsets, self.n_ranges, self.kinds)
        assert ranges is not None
        kinds = None if self.kinds is None else self.kinds[None]
        if xp is np:
            return SoftBags(rows, ranges, CountInference(self.potential, offsets, kinds), self)
        from bagwise.models.markov.device import DeviceInference

        inference = DeviceInference(self.potential, offsets, rows.segments, kinds)
        return SoftBags(rows, ranges, inference, self)


@dataclass(frozen=True, eq=False)
class NetworkLook(Look):
    """What a pass is to see at a point."""

    labels: NetworkLabels
    at: Place
    potential: Array  # learned weights
    bag: Array  # weights of bag features
    judge: Softness  # of the value that decides about the step to this point
    then: Softness  # of everything else
    centers: Array  # (1 + K, n_bags)
    renew: bool = False  # whether q of ``judge`` become the centers of ``then``
    frozen: Frozen | None = None

    def part(self, bags: slice, rows: slice) -> NetworkLook:
        """Return the look at some of the bags."""
        return replace(self, labels=self.labels.part(bags, rows), centers=self.centers[:, bags])

    def begin(self, blocks: Any) -> NetworkTotal:
        """Return the sums of no bags."""
        return NetworkTotal(blocks, len(self.potential) + len(self.bag), len(self.centers))

    def add(self, block: Block, known: SoftBags, total: NetworkTotal) -> None:
        """Add the sums of a block."""
        first, frozen = known.labels.first, self.frozen
        centers = self.centers[:, first : first + len(block.sizes)]
        at_frozen = None if frozen is None or frozen.at is None else block.scores(frozen.at)
        found = known.soften(block.scores(self.at), self, centers, at_frozen)
        total.count(found, block.sums([found.pull, found.bend, found.sag]))
        block.squares(found.bend, total.rows[0])
        block.squares(found.sag, total.rows[1])
        for each in found.squares:
            for sign in (1, -1):
                used = sign * each.factor > 0
                if np.any(used):
                    sums = _bag_sums(block, known.rows, each, used)
                    root = known.rows.up(np.sqrt(sign * each.factor[used]))
                    total.bags[each.concave].square(sign, sums * root[:, None])


def _bag_sums(block: Block, rows: RaggedRows, each: BagRows, used: Array) -> Any:
    """Return the sums of some bags, in all coordinates."""
    beside = np.hstack([rows.sum(each.weights)[used, None], each.own[used]])
    sums = block.bag_sums(each.weights, rows.segments, rows.up(used))
    return block.xp.hstack([sums, rows.up(beside)])


class NetworkTotal:
    """What a pass adds up: squares of rows, and those of sums of bags, which have all coordinates.

    There are two of either: of the convex part, and minus that of the concave part.
    """

    def __init__(self, blocks: Any, n_own: int, n_centers: int) -> None:
        size = blocks.n_coef + 1 + n_own
        self.rows = [blocks.begin(0, 0, count) for count in (2, 1)]
        self.bags = [blocks.begin(0, 0, 0, size) for _ in range(2)]
        self.masses, self.scalars = np.zeros(3), np.zeros(len(_SCALARS))
        self.own_pull, self.centers = np.zeros(n_own), [np.empty((n_centers, 0))]

    def count(self, found: Softened, sums: Any) -> None:
        """Add the numbers of some bags, and the sums of their rows: pull, bend, sag."""
        self.rows[0].vectors += sums[:2]
        self.rows[1].vectors += sums[2:]
        self.masses += [float(each.sum()) for each in (found.pull, found.bend, found.sag)]
        self.scalars += [getattr(found, name) for name in _SCALARS]
        self.own_pull += found.own_pull
        self.centers.append(found.centers)

    def finish(self) -> NetworkSums:
        """Return the sums; matrices stay where they are."""
        convex, concave = (bags.finish().matrix for bags in self.bags)
        parts = zip((convex, concave), self.rows, self.masses[1:], strict=True)
        for matrix, rows, mass in parts:
            d, mean = rows.vectors.shape[1], rows.vectors[-1]
            matrix[:d, :d] += rows.finish().matrix
            matrix[:d, d] += mean
            matrix[d, :d] += mean
            matrix[d, d] += float(mass)
        pull = self.rows[0].finish().vectors[0]
        gradient = np.concatenate([pull, self.masses[:1], self.own_pull])
        return NetworkSums(convex, concave, gradient, self.scalars, np.hstack(self.centers))


@dataclass
class NetworkSums:
    """What a pass found."""

    hessian: Any  # of the convex part
    concave: Any  # minus that of the concave part
    gradient: Array
    scalars: Array  # those of `_SCALARS`
    centers: Array

    def add(self, other: NetworkSums) -> None:
        """Add the sums of the bags that follow."""
        self.hessian = self.hessian + other.hessian
        self.concave = self.concave + other.concave
        self.gradient = self.gradient + other.gradient
        self.scalars = self.scalars + other.scalars
        self.centers = np.concatenate([self.centers, other.centers], axis=1)

    def bring(self) -> NetworkSums:
        """Return the sums on the host."""
        if isinstance(self.hessian, np.ndarray):
            return self
        both = {name: getattr(self, name).cpu().numpy() for name in ("hessian", "concave")}
        return replace(self, **both)

    def step(self, residual: Array, alpha: float, units: Array, longest: float = np.inf) -> Array:
        """Return the step H^-1 residual with as much of the concave part as leaves H positive.

        Where that is too long, a ridge makes it shorter: it turns to the steepest descent.
        """
        for share in _CONCAVE:
            system = self.system(share, units)
            step = _solve(system, alpha, residual)
            if step is not None:
                return _shorten(longest, system, alpha, residual, step)
        mean, damping = float(system.diagonal().mean()), np.finfo(float).eps
        while damping < 1:  # rounding made H indefinite
            damping *= 10
            step = _solve(system, alpha + damping * mean, residual)
            if step is not None:
                return _shorten(longest, system, alpha + damping * mean, residual, step)
        length = float(np.linalg.norm(residual)) / alpha
        return residual / alpha * (longest / length if length > longest else 1.0)

    def system(self, share: float, units: Array) -> Any:
        """Return the Hessian with a share of its concave part."""
        is_here = isinstance(self.hessian, np.ndarray)
        scale: Any = units if is_here else self.hessian.new_tensor(units)
        return (self.hessian - share * self.concave) * scale[:, None] * scale


def _shorten(longest: float, system: Any, ridge: float, residual: Array, step: Array) -> Array:
    """Return a step of at most this length, and of little less, by a larger ridge."""
    length = float(np.linalg.norm(step))
    if length <= longest:
        return step
    low, high = ridge, max(ridge, float(np.linalg.norm(residual)) / longest)
    while True:  # four halvings of the exponents between are usual
        ridge = np.sqrt(low * high)
        found = _solve(system, ridge, residual)
        step = residual / ridge if found is None else found
        length = float(np.linalg.norm(step))
        if _NEARLY * longest <= length <= longest or not low < ridge < high:
            break
        low, high = (low, ridge) if length <= longest else (ridge, high)
    return step * min(1.0, longest / length)


def _solve(system: Any, ridge: float, right: Array) -> Array | None:
    """Solve (system + ridge I) x = right where the system is, if that is positive definite."""
    system = system + 0.0  # a copy
    if not isinstance(system, np.ndarray):
        from bagwise.models.markov.device import solve_there

        return solve_there(system, ridge, right)
    system.flat[:: len(right) + 1] += ridge
    try:
        factor = factor_in_place(system.T)
    except np.linalg.LinAlgError:
        return None
    return solve_factored(factor, right.copy())


class NetworkProblem:
    """A network on rows, times ``scale``, with ``alpha`` as regularizer."""

    def __init__(
        self, rows: Any, labels: NetworkLabels, scale: float, fit_intercept: bool, alpha: float
    ) -> None:
        self.labels, self.alpha, self.rounding, d = labels, alpha, rows.rounding, rows.n_coef
        self.risk_of_zero = float(labels.weight.sum())
        self.mean_size = rows.n_rows / len(labels.weight)
        n_own = labels.potential.n_weights + labels.columns.shape[1]
        self.ends = np.cumsum([d, 1, labels.potential.n_weights])
        self.units = np.concatenate([np.full(d, scale), [float(fit_intercept)], np.ones(n_own)])
        self.centers = np.full((labels.n_ranges + 1, len(labels.weight)), 0.5 / labels.n_ranges)
        self.centers[0] = 0.5

    def _split(self, w: Array) -> tuple[Place, Array, Array]:
        feature, constant, potential, bag = np.split(self.units * w, self.ends)
        return Place(feature, float(constant[0])), potential, bag

    def freeze(self, w: Array, width: float) -> Frozen:
        """Return what freezes the bags' own sides at w."""
        at, potential, _ = self._split(w)
        return Frozen(width, at, potential)

    def look(
        self,
        w: Array,
        judge: Softness,
        then: Softness,
        centers: Array,
        *,
        renew: bool = False,
        frozen: Frozen | None = None,
    ) -> Passes[View]:
        """Return what is at w: one pass over the rows."""
        look = NetworkLook(self.labels, *self._split(w), judge, then, centers, renew, frozen)
        sums = (yield [look])[0]
        risk, judged, value, touching, slack, constant = sums.scalars.tolist()
        norm = self.alpha / 2 * float(w @ w)
        slope = self.units * sums.gradient
        residual = -self.alpha * w - slope
        gap = norm + touching - constant + float(slope @ slope) / (2 * self.alpha)
        blur = gap - slack - float(residual @ residual) / (2 * self.alpha)
        values = norm + risk, norm + judged, norm + value, norm + touching, gap, slack, blur
        return View(w, *values, residual, sums.centers, then, sums)

    def step(self, view: View, longest: float = np.inf) -> Array:
        """Return the Newton step of the softened objective, or a shorter one."""
        return view.sums.step(view.residual, self.alpha, self.units, longest)
