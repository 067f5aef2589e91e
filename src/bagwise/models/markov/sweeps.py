"""Passes over the rows of a two-class Markov network: one pass is all that a Newton step needs.

`NetworkLabels` are labels whose rows, on the host, on the workers of a cluster or on a device, are
swept by `bagwise.models.markov.soft` instead of by an assignment. A pass keeps nothing per row.
Coordinates are features, the constant feature, the potential's weights, those of bag features.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import CountInference
from bagwise.designs import Dense
from bagwise.designs.ridge import factor_in_place, solve_factored
from bagwise.designs.swept import Labels, Pending, Shard
from bagwise.models.markov.ranges import HostRows, Ranges
from bagwise.models.markov.soft import BagRows, Look, SoftBags, Softened
from bagwise.solvers.soft_newton import Frozen, Softness, View

_CONCAVE = (1.0, 0.95, 0.8, 0.5, 0.0)  # shares of the concave part tried until H is positive
_NEARLY = 0.7  # of the longest step allowed: as long as it needs to be
_LARGER = 8  # times the rows per block of other models: a network does more beside products ...
_MOST_ROWS = 16384  # ... but no more than this, so that vectors of them stay in the cache
_SMALL_BAGS = 32  # rows per bag below which one sum over all bags is faster than one product each
_BATCH = _MOST_ROWS // _SMALL_BAGS  # squares of bags per product: those of one block at most
_SCALARS = ("risk", "judged", "value", "touching", "slack", "constant")  # fields of `Softened`


@dataclass(frozen=True)
class NetworkLabels(Labels):
    """What a pass knows of the bags of a network."""

    potential: Any
    columns: Array  # features of bags

    def positive_parts(self, cuts: list[int]) -> list[slice]:
        """Return the bags of each shard: a network sees them all."""
        return [slice(a, b) for a, b in pairwise(cuts)]

    def part(self, bags: slice) -> NetworkLabels:
        """Return the labels of a range of bags."""
        own = {"potential": self.potential, "columns": self.columns[bags]}
        return NetworkLabels(**vars(super().part(bags)), **own)

    def ranges(self, least: int = 1) -> Ranges:
        """Return the ranges of counts; whoever makes such labels knows that there are few."""
        found = Ranges.of(self.potential, self.offsets, least)
        assert found is not None
        return found

    def shard(self, rows: Dense) -> NetworkShard:
        """Return rows with these labels."""
        return NetworkShard(rows, self)

    def on_device(self, rows: Any) -> Any:
        """Return rows on a device with these labels."""
        from bagwise.models.markov.device import DeviceNetwork

        return DeviceNetwork(rows, self)


@dataclass
class NetworkSums:
    """What a pass adds up."""

    hessian: Any  # of the convex part
    concave: Any  # minus that of the concave part
    gradient: Array
    scalars: Array  # those of `_SCALARS`
    centers: Array

    @classmethod
    def zero(cls, size: int, n_ranges: int) -> NetworkSums:
        """Return the sums of no bags."""
        hessian, concave = np.zeros((2, size, size))
        return cls(hessian, concave, *no_numbers(size, n_ranges))

    def add(self, other: NetworkSums) -> None:
        """Add the sums of the bags that follow."""
        self.hessian += other.hessian
        self.concave += other.concave
        self.gradient += other.gradient
        self.scalars += other.scalars
        self.centers = np.concatenate([self.centers, other.centers], axis=1)

    def count(self, found: Softened) -> None:
        """Add the numbers of some bags, and what does not depend on their rows."""
        self.scalars += [getattr(found, name) for name in _SCALARS]
        self.centers = np.concatenate([self.centers, found.centers], axis=1)
        self.gradient[len(self.gradient) - len(found.own_pull) :] += found.own_pull

    def step(self, residual: Array, alpha: float, units: Array, longest: float = np.inf) -> Array:
        """Return the step H^-1 residual with as much of the concave part as leaves H positive.

        Where that is too long, a ridge makes it shorter: it turns to the steepest descent.
        """
        for share in _CONCAVE:
            system = self.system(share, units)
            step = self.solve(system, alpha, residual)
            if step is not None:
                return self._shorten(longest, system, alpha, residual, step)
        mean, damping = float(system.diagonal().mean()), np.finfo(float).eps
        while damping < 1:  # rounding made H indefinite
            damping *= 10
            step = self.solve(system, alpha + damping * mean, residual)
            if step is not None:
                return self._shorten(longest, system, alpha + damping * mean, residual, step)
        length = float(np.linalg.norm(residual)) / alpha
        return residual / alpha * (longest / length if length > longest else 1.0)

    def _shorten(
        self, longest: float, system: Any, ridge: float, residual: Array, step: Array
    ) -> Array:
        """Return a step of at most this length, and of little less, by a larger ridge."""
        length = float(np.linalg.norm(step))
        if length <= longest:
            return step
        low, high = ridge, max(ridge, float(np.linalg.norm(residual)) / longest)
        while True:  # four halvings of the exponents between are usual
            ridge = np.sqrt(low * high)
            found = self.solve(system, ridge, residual)
            step = residual / ridge if found is None else found
            length = float(np.linalg.norm(step))
            if _NEARLY * longest <= length <= longest or not low < ridge < high:
                break
            low, high = (low, ridge) if length <= longest else (ridge, high)
        return step * min(1.0, longest / length)

    def system(self, share: float, units: Array) -> Any:
        """Return the Hessian with a share of its concave part."""
        return (self.hessian - share * self.concave) * units[:, None] * units

    def solve(self, system: Any, ridge: float, right: Array) -> Array | None:
        """Solve (system + ridge I) x = right, if that is positive definite."""
        system = system + 0.0
        system.flat[:: len(right) + 1] += ridge
        try:
            factor = factor_in_place(system.T)
        except np.linalg.LinAlgError:
            return None
        return solve_factored(factor, right.copy())


def no_numbers(size: int, n_ranges: int) -> tuple[Array, Array, Array]:
    """Return gradient, scalars and centers of no bags."""
    return np.zeros(size), np.zeros(len(_SCALARS)), np.empty((n_ranges + 1, 0))


class _Gram:
    """Squares of rows with a constant feature, as `Pending` adds them up."""

    def __init__(self, rows: Dense) -> None:
        d = rows.n_coef
        self.gram_precision = rows.precision
        self.hessian, self.mean_sum, self.mass = np.zeros((d, d)), np.zeros(d), 0.0
        self.pending = Pending(1)

    def add(self, block: Array, amount: Array) -> None:
        """Add the rows of a block that have an amount."""
        count = int(np.count_nonzero(amount))
        if count:
            self.pending.add(self, block, amount, count)

    def into(self, total: Array) -> None:
        """Add what was collected to a matrix."""
        self.pending.flush(self)
        d = len(self.hessian)
        total[:d, :d] += self.hessian
        total[:d, d] += self.mean_sum
        total[d, :d] += self.mean_sum
        total[d, d] += self.mass


class NetworkShard(Shard):
    """Some whole bags of a network. Nothing but its rows and labels is kept."""

    labels: NetworkLabels

    def __init__(self, rows: Dense, labels: NetworkLabels) -> None:
        self.rows, self.labels = rows, labels
        self.blocks = list(self._blocks())

    def _rows_at_once(self) -> int:
        few = super()._rows_at_once()
        return max(few, min(_LARGER * few, _MOST_ROWS))

    def visits(self, coef: Array, intercept: float, rule: Any) -> Generator[int, None, Any]:
        """Sweep block by block: yield the rows that are done, return the sums."""
        labels, look = self.labels, rule
        n_own = labels.potential.n_weights + labels.columns.shape[1]
        d = self.rows.n_coef
        total = NetworkSums.zero(d + 1 + n_own, len(look.centers) - 1)
        grams = _Gram(self.rows), _Gram(self.rows)
        squares = _Squares(total)
        coef = coef.astype(self.rows.precision)
        for bags, rows, _ in self.blocks:
            block = self.rows._rows(rows)
            z = (block @ coef).astype(np.float64) + intercept
            at_frozen = _frozen_scores(block, look.frozen)
            part = labels.part(bags)
            ranges, sizes = part.ranges(len(look.centers) - 1), HostRows(np.diff(part.offsets))
            inference = CountInference(part.potential, part.offsets)
            found = SoftBags(sizes, ranges, inference, part).soften(z, look.part(bags), at_frozen)
            total.count(found)
            total.gradient[:d] += found.pull.astype(block.dtype) @ block
            total.gradient[d] += found.pull.sum()
            grams[0].add(block, found.bend)
            grams[1].add(block, found.sag)
            for each in found.squares:
                squares.add(each, block, sizes)
            yield rows.stop
        squares.flush()
        grams[0].into(total.hessian)
        grams[1].into(total.concave)
        return total


def _frozen_scores(block: Array, frozen: Frozen | None) -> Array | None:
    if frozen is None or frozen.features is None:
        return None
    return (block @ frozen.features.astype(block.dtype)).astype(np.float64) + frozen.constant


class _Squares:
    """Squares of weighted sums of bags."""

    def __init__(self, total: NetworkSums) -> None:
        self.total = total
        self.parts: dict[bool, list[tuple[Array, Array]]] = {False: [], True: []}

    def add(self, each: BagRows, block: Array, rows: HostRows) -> None:
        """Add the bags of a block."""
        used = each.factor != 0
        if not np.any(used):
            return
        sums = np.hstack(
            [
                _bag_sums(each.weights, block, rows, used),
                rows.sum(each.weights)[used, None],
                each.own[used],
            ]
        )
        parts = self.parts[each.concave]
        parts.append((sums, each.factor[used]))
        if sum(len(factor) for _, factor in parts) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Multiply."""
        for concave, parts in self.parts.items():
            if parts:
                sums = np.concatenate([part[0] for part in parts])
                factor = np.concatenate([part[1] for part in parts])
                total = self.total.concave if concave else self.total.hessian
                total += (sums * factor[:, None]).T @ sums
        self.parts = {False: [], True: []}


def _bag_sums(weights: Array, block: Array, rows: HostRows, used: Array) -> Array:
    """Return the weighted sums of the rows of some bags."""
    weights = weights.astype(block.dtype)
    if len(block) < _SMALL_BAGS * len(used):
        return np.add.reduceat(weights[:, None] * block, rows.starts, axis=0)[used]
    spans = zip(rows.starts[used], (rows.starts + rows.sizes)[used], strict=True)
    return np.stack([weights[a:b] @ block[a:b] for a, b in spans]).astype(np.float64)


class SweptNetwork:
    """A network's rows, times ``scale``, under one problem with ``alpha`` as regularizer."""

    def __init__(
        self, design: Any, labels: NetworkLabels, scale: float, fit_intercept: bool, alpha: float
    ) -> None:
        self.rows, self.alpha = design.label(labels), alpha
        self.rounding, d = design.rounding, design.n_coef
        self.risk_of_zero = float(labels.weight.sum())
        self.mean_size = float(np.mean(np.diff(labels.offsets)))
        n_own = labels.potential.n_weights + labels.columns.shape[1]
        self.ends = np.cumsum([d, 1, labels.potential.n_weights])
        self.units = np.concatenate([np.full(d, scale), [float(fit_intercept)], np.ones(n_own)])
        n_ranges = labels.ranges().lo.shape[1]
        self.centers = np.full((n_ranges + 1, len(labels.weight)), 0.5 / n_ranges)
        self.centers[0] = 0.5

    def freeze(self, w: Array, width: float) -> Frozen:
        """Return what freezes the bags' own sides at w."""
        feature, constant, potential, _ = np.split(self.units * w, self.ends)
        return Frozen(width, feature, float(constant[0]), potential)

    def look(
        self,
        w: Array,
        judge: Softness,
        then: Softness,
        centers: Array,
        *,
        renew: bool = False,
        frozen: Frozen | None = None,
    ) -> View:
        """Return what is at w: one pass over the rows."""
        feature, constant, potential, bag = np.split(self.units * w, self.ends)
        look = Look(potential, bag, judge, then, centers, renew, frozen)
        sums = self.rows.sweep(feature, float(constant[0]), look)
        risk, judged, value, touching, slack, constant_part = sums.scalars.tolist()
        norm = self.alpha / 2 * float(w @ w)
        slope = self.units * sums.gradient
        residual = -self.alpha * w - slope
        gap = norm + touching - constant_part + float(slope @ slope) / (2 * self.alpha)
        blur = gap - slack - float(residual @ residual) / (2 * self.alpha)
        values = norm + risk, norm + judged, norm + value, norm + touching, gap, slack, blur
        return View(w, *values, residual, sums.centers, then, sums)

    def step(self, view: View, longest: float = np.inf) -> Array:
        """Return the Newton step of the softened objective, or a shorter one."""
        return view.sums.step(view.residual, self.alpha, self.units, longest)
