"""Labeled rows on a device: one pass over their blocks yields all that a Newton step needs.

As in `bagwise.designs.swept`, a block of whole bags gives scores, the scores a new assignment, and
both the sums. Blocks that do not stay on the device pass through it once per sweep. Their bounds
do not depend on what stays there, nor does the order of the sums: the bits are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.rules import KEEP, Rule, Tally
from bagwise.designs._torch_rules import Segments, device_step, round_decided
from bagwise.designs.linear import DIGITS_KEPT
from bagwise.designs.swept import Labels, Sums
from bagwise.designs.torch import TorchDense
from bagwise.rowstores.device import import_torch
from bagwise.tolerances import INNER, PATIENCE, rounding_of


class TorchSums(Sums):
    """Sums whose Hessian is a tensor, and stays where it is."""

    def add(self, other: Sums) -> None:
        """Add the sums of other rows, from the host or the device."""
        mine: Any = self.hessian
        total = mine + import_torch().as_tensor(other.hessian).to(mine.device)
        self.hessian = np.zeros((0, 0))
        super().add(replace(other, hessian=self.hessian))
        self.hessian = total

    def here(self) -> Sums:
        """Return the sums on the host."""
        hessian: Any = self.hessian
        return Sums(**{**vars(self), "hessian": hessian.cpu().numpy()})

    def step(self, coef: Array, metric: Any) -> tuple[Array, float, float]:
        """Return the Newton step, solved on the device."""
        hessian: Any = self.hessian
        torch = import_torch()
        if self.mass > 0:
            mean = self.mean_sum / self.mass
            residual = self.rise - self.fall - metric * coef
            shift = self.rises - self.falls
            at, right = (hessian.new_tensor(v) for v in (mean, residual - shift * mean))
            system = hessian - torch.outer(self.mass * at, at)
            system.diagonal().add_(hessian.new_tensor(np.broadcast_to(metric, mean.shape)))
            factor, failed = torch.linalg.cholesky_ex(system)
            if not int(failed):
                step = torch.cholesky_solve(right[:, None], factor)[:, 0].cpu().numpy()
                rise = float(shift / self.mass - mean @ step)
                return step, rise, 0.5 * float(step @ residual + rise * shift)
        return self.here().step(coef, metric)


@dataclass(frozen=True)
class _Part:
    """What a block knows of its bags: ``bags`` and ``within`` number positive bags and rows."""

    bags: slice
    within: slice  # their rows, among those of all positive bags
    inside: Any  # their rows, in the block
    segments: Segments
    bag_weight: Any
    weight: Any  # of all rows of the block

    @classmethod
    def of(cls, up: Any, labels: Labels, bags: slice, bag: int, row: int) -> _Part:
        """Return the part of some bags, before which there are positive bags and rows."""
        torch, part = import_torch(), labels.part(bags)
        sizes, positive = up(np.diff(part.offsets)), up(part.positive)
        inside = torch.nonzero(torch.repeat_interleave(positive, sizes))[:, 0]
        segments = Segments(torch, sizes[positive])
        weight = torch.repeat_interleave(up(part.weight), sizes)
        bag_weight = up(part.weight[part.positive] / labels.C)
        within = slice(row, row + len(inside))
        number = slice(bag, bag + len(bag_weight))
        return cls(number, within, inside, segments, bag_weight, weight)


class TorchSwept:
    """Labeled rows on a device, with their assignment and curvatures there."""

    coarse = True

    def __init__(self, rows: TorchDense, labels: Labels) -> None:
        self.rows, self.labels, self.passes = rows, labels, 0
        self.metric, self.rounding, self.n_coef = rows.metric, rows.rounding, rows.n_coef
        self.torch = torch = rows.torch
        of_rows: Any = rows.X
        bags = of_rows.cuts(labels.offsets)
        self.cuts, self.parts = labels.offsets[bags], list[_Part]()
        n_bags = n_inside = 0
        for a, b in pairwise(bags):
            self.parts.append(_Part.of(rows.up, labels, slice(a, b), n_bags, n_inside))
            n_bags, n_inside = self.parts[-1].bags.stop, self.parts[-1].within.stop
        self.p = torch.zeros(n_inside, dtype=torch.float64, device=rows.tensor.device)
        self.entered, self.lazy, self.exact = self.p.clone(), INNER, False
        self._forget()

    def _forget(self) -> None:
        torch, d, device = self.torch, self.n_coef, self.p.device
        self.last = torch.zeros(self.rows.n_rows, dtype=torch.float32, device=device)
        self.hessian = torch.zeros((d, d), dtype=torch.float64, device=device)
        self.mean_sum = torch.zeros(d, dtype=torch.float64, device=device)
        self.mass, self.age, self.peak = 0.0, 0, self.mean_sum.clone()

    def sharpen(self) -> None:
        """Keep H exact and in float64 from now on."""
        self.lazy = 0.0
        self._forget()

    def refine(self) -> bool:
        """Multiply in float64 from now on; return whether that is news."""
        news = self.rows.tensor.dtype != self.torch.float64 and not self.exact
        self.exact, self.rounding = True, rounding_of(np.float64)
        return news

    def revert(self) -> None:
        """Take back the assignment that the last entering rule replaced."""
        self.p = self.entered.clone()

    @property
    def assignment(self) -> Array:
        """The assignment of the instances of positive bags, on the host."""
        return self.p.cpu().numpy()

    @assignment.setter
    def assignment(self, p: Array) -> None:
        self.p = self.rows.up(np.asarray(p, dtype=np.float64))

    def sweep(self, coef: Array, intercept: float, rule: Rule = KEEP) -> TorchSums:
        """Return the sums of all rows at a point; the rule changes the assignment first."""
        self.passes += 1
        worn = bool((self.hessian.diagonal() < DIGITS_KEPT * self.peak).any())
        if self.age >= PATIENCE or worn:
            self._forget()
        self.age += 1
        if rule.enters:
            self.entered = self.p.clone()
        w, tally, parts = self.rows.up(coef), Tally(), iter(self.parts)

        def visit(rows: slice, block: Any) -> tuple[Any, Any]:
            part = next(parts)
            z = self.rows.scores_of(block, w, exact=self.exact) + intercept
            self._assign(part, z, rule, tally)
            return self._visit(part, rows, block, z)

        visited = self.rows.each(visit, self.cuts)
        sums, totals = (sum(of_blocks) for of_blocks in zip(*visited, strict=True))
        self.mean_sum += sums[2]
        rises, falls, up, down, mass = totals.tolist()
        self.mass += mass
        self.peak = self.torch.maximum(self.peak, self.hessian.diagonal())
        gradients = sums[:2].cpu().numpy()
        return TorchSums(
            self.hessian.clone(),  # whoever adds sums changes them
            self.mean_sum.clone().cpu().numpy(),
            self.mass,
            gradients[0],
            gradients[1],
            rises,
            falls,
            up,
            down,
            tally,
        )

    def _assign(self, part: _Part, z: Any, rule: Rule, tally: Tally) -> None:
        inside, state = z[part.inside], (self.p[part.within], self.entered[part.within])
        of_part = rule.part(part.bags)
        new, counted = device_step(of_part, inside, part.segments, *state, part.bag_weight)
        self.p[part.within] = new
        tally.add(counted)

    def _visit(self, part: _Part, rows: slice, block: Any, z: Any) -> tuple[Any, Any]:
        """Return the three sums of rows of a block, and its sums of numbers."""
        torch = self.torch
        # 1) Weights of the two labels, duals, risks.
        p, weight = round_decided(torch, self.p[part.within]), part.weight[part.inside]
        up, down = torch.zeros_like(z), part.weight.clone()
        up[part.inside] = weight * p
        down[part.inside] = weight * (1 - p) if self.labels.rest_is_negative else 0.0
        above, below = (1 - z).clamp(min=0), (1 + z).clamp(min=0)
        pull, push = 2 * up * above, 2 * down * below
        # 2) Curvatures that changed enroll anew.
        change = self._find_changes(rows, (2 * (up * (above > 0) + down * (below > 0))).float())
        for sign in (1, -1):
            some = (sign * change).clamp(min=0)
            self.hessian += sign * self.rows.gram_of(block, some, exact=self.lazy == 0)
        many = torch.stack([pull, push, change])
        numbers = torch.stack(
            [pull.sum(), push.sum(), up @ above**2, down @ below**2, change.sum()]
        )
        return self.rows.sums_of(block, many, exact=self.exact), numbers

    def _find_changes(self, rows: slice, curvature: Any) -> Any:
        """Return the changes of curvature that are large enough to count, and count them."""
        last = self.last[rows]
        change = curvature - last
        moved = change.abs() > self.lazy * self.torch.maximum(curvature, last)
        self.last[rows] = self.torch.where(moved, curvature, last)
        return self.torch.where(moved, change, 0.0).double()
