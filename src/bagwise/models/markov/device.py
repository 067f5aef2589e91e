"""Passes over the rows of a Markov network that are on a device of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import CountInference, CountPotential
from bagwise.bags.segments import Segments
from bagwise.rowstores.device import import_torch, send_to


class DeviceInference(CountInference):
    """The best counts of bags by segmented sums and sorts; one model."""

    def __init__(
        self,
        potential: CountPotential,
        offsets: Array,
        segments: Segments,
        kinds: Array | None = None,
    ) -> None:
        super().__init__(potential, offsets, kinds)
        self.torch, self.segments, self.device = segments.xp, segments, segments.sizes.device
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
        entry = self._up(self.start)[0][self.counts.bag] + self.count
        self.layout = self._up(self.table)[:, entry], self._up(self.bins)[:, entry]

    def best_counts(self, scores: Any, weights: Array) -> tuple[Array, Array]:
        """Return value and count of the best labelings of every bag, on the host."""
        find = self._at_least_one if self.at_least_one else self._by_table
        value, count = (self.torch.stack(part) for part in find(scores, weights))
        return value.cpu().numpy(), count.cpu().numpy()

    def _at_least_one(self, scores: Any, weights: Array) -> tuple[list[Any], list[Any]]:
        torch, segments = self.torch, self.segments
        total, top = segments.sum(scores.clamp(min=0)), segments.max(scores)
        positives = segments.sum((scores > 0).double()).long()
        none = positives == 0
        value = [torch.full_like(total, weights[0]), weights[1] + torch.where(none, top, total)]
        return value, [torch.zeros_like(positives), torch.where(none, 1, positives)]

    def _by_table(self, scores: Any, weights: Array) -> tuple[list[Any], list[Any]]:
        bag, (table, bins), running = self.counts.bag, self.layout, self._sum_tops(scores)
        start = self.segments.starts[bag]
        learned = self._up(np.append(weights, 0.0))  # bin -1 is no bin
        totals = running[start + self.count] - running[start] + table + learned[bins]
        chosen = [self.torch.nonzero(self.counts.first_max(side))[:, 0] for side in totals]
        values = [side[first] for side, first in zip(totals, chosen, strict=True)]
        return values, [first - self.first for first in chosen]

    def _sum_tops(self, scores: Any) -> Any:
        """Return the running sums, from 0, of the scores that fall within every bag."""
        torch = self.torch
        falling, order = torch.sort(scores, descending=True, stable=True)
        falling = falling[torch.argsort(self.segments.bag[order], stable=True)]
        running = torch.zeros(len(falling) + 1, dtype=falling.dtype, device=self.device)
        torch.cumsum(falling, 0, out=running[1:])
        return running


def solve_there(system: Any, ridge: float, right: Array) -> Array | None:
    """Solve (system + ridge I) x = right on a device, if that is positive definite."""
    torch = import_torch()
    system.diagonal().add_(ridge)
    factor, failed = torch.linalg.cholesky_ex(system)
    if int(failed):
        return None
    return torch.cholesky_solve(system.new_tensor(right)[:, None], factor)[:, 0].cpu().numpy()
