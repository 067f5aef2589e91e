"""Ranges of counts with one weight, and labels in [0, 1] whose sum is in a range.

Values per instance are where the instances are (NumPy, or tensors), values per bag on the host.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import AtLeastPotential, CountPotential
from bagwise.assumptions.inference import flat_tables
from bagwise.bags.segments import Segments

_MOST_RANGES = 8  # of counts, per side: every one is a labeling of all instances
EXACT = 1e-10  # relative error of a count, or of an objective, below which rounding decides


@dataclass(frozen=True)
class Ranges:
    """Ranges of counts with one weight: (2, K, n_bags); where lo > hi there is none."""

    lo: Array
    hi: Array
    fixed: Array
    weight: Array  # index of the learned weight, or -1

    @classmethod
    def of(
        cls, potential: CountPotential, offsets: Array, least: int = 1, kinds: Array | None = None
    ) -> Ranges | None:
        """Return the ranges of every bag, ``least`` at least; None if a potential has too many.

        ``kinds`` (n_bags, 3) are those of bags without their known instances.
        """
        sizes = np.diff(offsets) if kinds is None else kinds
        if isinstance(potential, AtLeastPotential) and kinds is None:
            needed = potential.least(offsets)
            lo, hi = np.stack([0 * needed, needed]), np.stack([needed - 1, sizes])
            weight = np.repeat([[0], [1]], len(sizes), axis=1)
            return cls(*(part[:, None] for part in (lo, hi, 0.0 * lo, weight)))
        distinct, which = np.unique(sizes, axis=None if kinds is None else 0, return_inverse=True)
        found = [_runs(potential, size) for size in distinct]
        n = max([least, *(len(side) for runs in found for side in runs)])
        if n > _MOST_RANGES:
            return None
        table = np.zeros((4, 2, n, len(distinct)))
        table[0], table[1], table[3] = 1, 0, -1  # no range
        for k, runs in enumerate(found):
            for side in range(2):
                table[:, side, : len(runs[side]), k] = np.array(runs[side]).T
        lo, hi, fixed, weight = table[..., which.ravel()]
        return cls(lo.astype(int), hi.astype(int), fixed, weight.astype(int))

    def choose(self, side: Array, k: Any) -> Ranges:
        """Return one range per bag, arrays of length n_bags."""
        bags = np.arange(len(side))
        return Ranges(*(part[side, k, bags] for part in vars(self).values()))


def _runs(potential: CountPotential, size: Array) -> list[list[tuple[float, ...]]]:
    """Return (first count, last count, fixed number, weight) of every run of equal entries."""
    _, table, bins = flat_tables(potential, np.array([size]))
    found = []
    for side in range(2):
        entries = np.stack([table[side], bins[side]])
        cuts = np.flatnonzero(np.any(entries[:, 1:] != entries[:, :-1], axis=0)) + 1
        firsts, ends = np.append(0, cuts), np.append(cuts, entries.shape[1])
        runs = zip(firsts, ends - 1, *entries[:, firsts], strict=True)
        found.append([run for run in runs if np.isfinite(run[2])])
    return found


class RaggedRows:
    """Bags of rows that are anywhere (``up`` brings arrays there), with values per bag here."""

    def __init__(self, xp: Any, sizes: Array, up: Any) -> None:
        self.sizes, self.up, self.segments = sizes, up, Segments(xp, up(sizes))

    def sum(self, values: Any) -> Array:
        """Return the sum of every bag."""
        return self._down(self.segments.sum(values))

    def max(self, values: Any) -> Array:
        """Return the largest value of every bag."""
        return self._down(self.segments.max(values))

    def _down(self, bags: Any) -> Array:
        return bags if self.segments.xp is np else bags.cpu().numpy()

    def spread(self, bags: Array) -> Any:
        """Return the value of its bag for every row."""
        return self.segments.expand(self.up(bags))

    def of(self, bags: Array) -> tuple[RaggedRows, Any]:
        """Return the rows of some bags (a mask), and their mask."""
        return RaggedRows(self.segments.xp, self.sizes[bags], self.up), self.spread(bags)


def between(p: Any) -> Any:
    """Return which labels are undecided."""
    return (p > 0) & (p < 1)


def limit_sums(
    rows: RaggedRows, z: Any, base: Any, range_: Ranges, width: float
) -> tuple[Any, Array]:
    """Return labels with a sum within the range, and the bags in which that moved them."""
    total = rows.sum(base)
    target = np.minimum(np.maximum(total, range_.lo), range_.hi)
    fixed = (target <= 0) | (target >= rows.sizes)  # none or all
    off = (total != target) & ~fixed & (range_.lo <= range_.hi)
    p = base
    if np.any(fixed):
        inside = rows.spread(1.0 * ~fixed)
        p = p * inside + rows.spread(1.0 * (fixed & (target > 0)))
    if np.any(off):
        part, mask = rows.of(off)
        p = p + 0.0  # a copy
        p[mask] = solve_sum(part, z[mask], target[off], width)
    return p, off


def solve_sum(rows: RaggedRows, z: Any, target: Array, width: float) -> Any:
    """Return clip((z - nu) / width + 1/2) with the given sum in every bag, by guarded Newton."""
    low, high = -rows.max(-z) - width / 2, rows.max(z) + width / 2
    nu = np.clip(np.zeros(len(low)), low, high)
    moved, every = high - low, (rows, z)
    left = np.arange(len(nu))  # bags that are searched on
    while True:
        p = ((z - rows.spread(nu[left])) / width + 0.5).clip(0, 1)
        excess = rows.sum(p) - target[left]
        band = rows.sum(rows.segments.indicate(between(p)))
        wrong = np.abs(excess) > EXACT * np.maximum(1, target[left])
        if not np.any(wrong):
            break
        if 2 * np.sum(wrong) < len(left):
            (rows, mask), left = rows.of(wrong), left[wrong]
            z, excess, band, wrong = z[mask], excess[wrong], band[wrong], wrong[wrong]
        at = nu[left]
        low[left], high[left] = (
            np.where(excess > 0, at, low[left]),
            np.where(excess > 0, high[left], at),
        )
        newton = at + excess * width / np.maximum(band, 1)
        short = np.abs(newton - at) < 0.5 * moved[left]
        inside = (band > 0) & (newton > low[left]) & (newton < high[left]) & short
        then = np.where(inside, newton, 0.5 * (low[left] + high[left]))
        moved[left], nu[left] = np.abs(then - at), np.where(wrong, then, at)
        if np.array_equal(nu[left], at):  # no number lies between
            break
    rows, z = every
    return ((z - rows.spread(nu)) / width + 0.5).clip(0, 1)


def on_simplex(points: Array) -> Array:
    """Project columns onto the simplex."""
    falling = -np.sort(-points, axis=0)
    ranks = np.arange(1, len(points) + 1)[:, None]
    excess = (np.cumsum(falling, axis=0) - 1) / ranks
    last = (falling > excess).sum(axis=0) - 1
    return np.maximum(points - excess[last, np.arange(points.shape[1])], 0.0)
