"""Markov networks on instances that are on a device of PyTorch.

The scores z of a bundle method stay there as one tensor, from products with the rows to sorting
and counting within bags. What crosses to the host has one number per bag and side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import BestLabelings, CountInference, CountPotential
from bagwise.bags.segments import Segments
from bagwise.designs.torch import TorchDense
from bagwise.models.markov.risk import InstanceOperator, MarkovScores
from bagwise.rowstores.device import import_torch, send_to


@dataclass(frozen=True)
class DeviceOperator(InstanceOperator):
    """Instances on a device, whose scores and duals are tensors there."""

    design: TorchDense

    def __matmul__(self, coef: Array) -> Any:
        """Return the scores of all instances."""
        scores = self.design.scores(self.design.up(self.scale * coef[: self.design.n_coef]))
        return scores + float(coef[-1]) if self.fit_intercept else scores

    def adjoint(self, dual: Any) -> Array:
        """Return the transposed product, on the host."""
        found = self.scale * self.design.sums(dual[None])[0].cpu().numpy()
        return np.append(found, float(dual.sum())) if self.fit_intercept else found

    def join(self, instances: Any, potential: Array, bags: Array) -> Any:
        """Return the parts of z as one tensor."""
        rest = self.design.up(np.concatenate([potential.ravel(), bags.ravel()]))
        return self.design.torch.cat([*instances, rest])

    def split(self, z: Any, n_models: int, n_weights: int) -> MarkovScores:
        """Return the parts of z: instances on the device, the small ones on the host."""
        n = n_models * self.n_rows
        rest = z[n:].cpu().numpy()
        potential, bags = np.split(rest, [n_models * n_weights])
        instances = z[:n].reshape(n_models, -1)
        return MarkovScores(instances, potential.reshape(n_models, -1), bags.reshape(n_models, -1))

    def lift(self, scores: Array) -> Any:
        """Return scores of instances as a tensor on the device."""
        return self.design.up(scores)

    def inference(
        self, potential: CountPotential, offsets: Array, kinds: Array | None = None
    ) -> CountInference:
        """Return the inference of bags on the device."""
        sizes = self.design.up(np.diff(offsets))
        return DeviceInference(potential, offsets, Segments(self.design.torch, sizes), kinds)


class DeviceInference(CountInference):
    """Inference over counts by segmented sums and sorts."""

    def __init__(
        self,
        potential: CountPotential,
        offsets: Array,
        segments: Segments,
        kinds: Array | None = None,
    ) -> None:
        super().__init__(potential, offsets, kinds)
        self.torch, self.segments, self.device = segments.xp, segments, segments.sizes.device
        self.layouts: list[Any] = [None]
        if not self.at_least_one:
            self._lay_out_counts()

    def _up(self, values: Array) -> Any:
        return send_to(values, self.device)

    def _lay_out_counts(self) -> None:
        """Number the counts 0..m of all bags one after another, with their table entries."""
        torch = self.torch
        self.counts = Segments(torch, self.segments.sizes + 1)
        self.first = self.counts.starts  # where count 0 of every bag is
        self.count = torch.arange(len(self.counts.bag), device=self.device)
        self.count = self.count - self.first[self.counts.bag]
        entries = [start[self.counts.bag] + self.count for start in self._up(self.start)]
        table, bins = self._up(self.table), self._up(self.bins)
        self.layouts = [(table[:, entry], bins[:, entry]) for entry in entries]

    def best(self, scores: Any, weights: Array, out: BestLabelings | None = None) -> BestLabelings:
        """Return the best labelings of all bags: values and counts on the host."""
        layouts = self.layouts * (len(scores) // len(self.layouts))
        found = [self._best_of(*each) for each in zip(scores, weights, layouts, strict=True)]
        value, count, cut, quota = (self.torch.stack(part) for part in zip(*found, strict=True))
        return BestLabelings(value.cpu().numpy(), count.cpu().numpy(), cut, quota)

    def _best_of(self, scores: Any, weights: Array, layout: Any) -> tuple[Any, Any, Any, Any]:
        """Return value, count, cut and quota of one model, (2, n_bags) each."""
        torch = self.torch
        if self.at_least_one:
            return self._at_least_one(scores, weights)
        falling, running = self._sort(scores)
        value, count = self._by_table(running, weights, *layout)
        edge = falling[(self.segments.starts + count - 1).clamp(min=0)]
        cut = torch.where(count > 0, edge, torch.inf)
        above = torch.stack(
            [self.segments.sum((scores > side[self.segments.bag]).double()) for side in cut]
        )
        return value, count, cut, count - above.long()

    def _at_least_one(self, scores: Any, weights: Array) -> tuple[Any, Any, Any, Any]:
        torch, segments = self.torch, self.segments
        total, top = segments.sum(scores.clamp(min=0)), segments.max(scores)
        positives = segments.sum((scores > 0).double()).long()
        none, nobody = positives == 0, torch.zeros_like(positives)
        value = torch.stack(
            [torch.full_like(total, weights[0]), weights[1] + torch.where(none, top, total)]
        )
        count = torch.stack([nobody, torch.where(none, 1, positives)])
        cut = torch.stack([torch.full_like(total, torch.inf), torch.where(none, top, 0.0)])
        return value, count, cut, torch.stack([nobody, none.long()])

    def _sort(self, scores: Any) -> tuple[Any, Any]:
        """Return the scores, falling within every bag, and their running sums from 0."""
        torch = self.torch
        falling, order = torch.sort(scores, descending=True, stable=True)
        falling = falling[torch.argsort(self.segments.bag[order], stable=True)]
        running = torch.zeros(len(falling) + 1, dtype=falling.dtype, device=self.device)
        torch.cumsum(falling, 0, out=running[1:])
        return falling, running

    def _by_table(self, running: Any, weights: Array, table: Any, bins: Any) -> tuple[Any, Any]:
        torch, bag = self.torch, self.counts.bag
        tops = running[self.segments.starts[bag] + self.count]
        learned = self._up(np.append(weights, 0.0))  # bin -1 is no bin
        totals = tops - running[self.segments.starts[bag]] + table + learned[bins]
        found = []
        for side in totals:
            first = torch.nonzero(self.counts.first_max(side))[:, 0]
            found.append((side[first], first - self.first))
        value, count = (torch.stack(part) for part in zip(*found, strict=True))
        return value, count

    def positives(self, scores: Any, best: BestLabelings, amount: Array) -> Any:
        """Return the derivative of sum(amount * best.value) in the scores, as a tensor."""
        torch, bag, out = self.torch, self.segments.bag, self.torch.zeros_like(scores)
        shares = self._up(amount)
        for model, row in enumerate(scores):
            for side in range(2):
                cut, quota = best.cut[model, side], best.quota[model, side]
                tied = row == cut[bag]
                rank = torch.cumsum(tied, 0)
                rank = rank - (rank - tied.long())[self.segments.starts][bag]
                chosen = (row > cut[bag]) | (tied & (rank <= quota[bag]))
                out[model] += torch.where(chosen, shares[model, side][bag], 0.0)
        return out


def solve_there(system: Any, ridge: float, right: Array) -> Array | None:
    """Solve (system + ridge I) x = right on a device, if that is positive definite."""
    torch = import_torch()
    system.diagonal().add_(ridge)
    factor, failed = torch.linalg.cholesky_ex(system)
    if int(failed):
        return None
    return torch.cholesky_solve(system.new_tensor(right)[:, None], factor)[:, 0].cpu().numpy()
