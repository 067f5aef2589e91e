"""Rows on the workers of a Dask cluster: passes there, sums here.

A pass is one task per worker, which sweeps the shards that this worker keeps and adds up what it
can of the tree of sums (`bagwise.designs.dask_worker`, `bagwise.designs.tree`). Shards, blocks and
the order of additions are those of `bagwise.designs.swept`, so that a fit has the same bits on any
number of workers and in one process. Every few seconds the workers write checkpoints. What a lost
worker kept is made from them by another one.

Fits of several classes, folds or grid points share their passes (`bagwise.rowstores.together`).
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.assumptions.rules import KEEP, Rule
from bagwise.designs import dask_worker as worker
from bagwise.designs.conditioned import Shift, needs_conditioning
from bagwise.designs.dense import Dense
from bagwise.designs.swept import Labels, Sums, shard_cuts
from bagwise.designs.tree import add_up
from bagwise.rowstores.cluster import (
    ClusterRows,
    current_client,
    each_part,
    live_workers,
    parts_of,
)
from bagwise.rowstores.together import request_pass
from bagwise.tolerances import rounding_of

_SECONDS_BETWEEN_CHECKPOINTS = 5.0  # what a lost worker costs at most; writing takes milliseconds


class ClusterDense(Dense):
    """Products with all rows on the workers; what needs few rows reads them from the file here."""

    elsewhere = True
    X: ClusterRows

    def __matmul__(self, coef: Array) -> Array:
        """Return X w."""
        coef = coef.astype(self.precision)
        blocks = [(block.start, block.stop) for block in self._blocks()]
        parts = each_part(self.X, worker.scores, blocks, self.coordinates, coef)
        return np.concatenate(parts).astype(np.float64)

    def combine(self, weights: Any) -> Array:
        """Return weights @ X; every block returns the combinations that it has a part in."""
        total, columns = np.zeros((weights.shape[0], self.n_coef)), sp.csc_array(weights)
        parts, rows = [], []
        for block in self._blocks():
            part = sp.csr_array(columns[:, block])
            used = np.flatnonzero(np.diff(part.indptr))
            if len(used):
                parts.append((block.start, block.stop, part[used]))
                rows.append(used)
        found = each_part(self.X, worker.combine, parts, self.coordinates)
        for used, values in zip(rows, found, strict=True):
            total[used] += values
        return total

    def weighted_sum(self, weights: Array) -> Array:
        """Return X' weights."""
        return self._add_up((b.start, b.stop, weights[b]) for b in self._blocks())

    def _add_up(self, parts: Iterable[Any]) -> Array:
        found = each_part(self.X, worker.combine, list(parts), self.coordinates)
        return sum(found, start=np.zeros(self.n_coef))

    def mean(self) -> Array:
        """Return the mean of the rows."""
        blocks = [(block.start, block.stop) for block in self._blocks()]
        return sum(each_part(self.X, worker.sum_rows, blocks, self.coordinates)) / self.n_rows

    def label(self, labels: Labels) -> ClusterSwept:
        """Return the rows with labels, to be swept on the workers."""
        return ClusterSwept(self, labels)

    def condition(self) -> ClusterDense:
        """Return the rows centered and scaled where that saves digits."""

        def each(function: Any, *args: Any) -> list[Any]:
            return each_part(self.X, function, parts_of(self.X), *args)

        needed, center, scale = needs_conditioning(self.X, each)
        return ClusterDense(self.X, Shift(center, scale)) if needed else self

    def adjoint(self, dual: Array) -> Array:
        """Return X' r, in the metric of the coefficients."""
        used = (b for b in self._blocks() if np.any(dual[b]))
        total = self._add_up((b.start, b.stop, dual[b].astype(self.precision)) for b in used)
        return self.scale * (self.scale * total)

    def subset(self, rows: Array) -> ClusterDense:
        """Return the design of some rows, in the same coordinates."""
        return ClusterDense(self.X[rows], self.coordinates)


class ClusterSwept:
    """Labeled rows on the workers: shards with their assignment and curvatures."""

    coarse = False

    def __init__(self, design: ClusterDense, labels: Labels) -> None:
        self.metric, self.scale, self.rounding = design.metric, design.scale, design.rounding
        self.n_rows, self.n_coef, self.passes = design.n_rows, design.n_coef, 0
        self.labels, self.cuts = labels, shard_cuts(labels.offsets, design.n_coef)
        self.sizes = np.diff(labels.offsets[self.cuts])
        self.folder = _job_folder(design.X)
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        job = design.X, design.coordinates, labels, self.cuts
        (self.folder / worker.JOB).write_bytes(pickle.dumps(job, protocol=5))
        self.owners: list[str] = []
        self.base, self.operations = 0, list[Any]()
        self.saved = time.monotonic()

    def sweep(self, coef: Array, intercept: float, rule: Rule = KEEP) -> Sums:
        """Return the sums of all rows at a point; the rule changes the assignment first."""
        self.passes += 1
        self.operations.append(worker.Sweep(coef, intercept, rule))
        return add_up(worker.in_order(request_pass(_pass, (self, True))))

    def sharpen(self) -> None:
        """Keep H exact and in float64 from now on."""
        self.operations.append(worker.Change("sharpen"))

    def refine(self) -> bool:
        """Make all products in float64 from now on; return whether that is news."""
        news, self.rounding = self.rounding != rounding_of(np.float64), rounding_of(np.float64)
        self.operations.append(worker.Change("refine"))
        return news

    def revert(self) -> None:
        """Take back the assignment that the last entering rule replaced."""
        self.operations.append(worker.Change("revert"))

    @property
    def assignment(self) -> Array:
        """The assignment of the instances of positive bags."""
        return np.concatenate(
            [p for _, p in sorted(request_pass(_pass, (self, False)), key=_first)]
        )

    @assignment.setter
    def assignment(self, p: Array) -> None:
        file = self.folder / f"assignment-{self.base + len(self.operations)}"
        np.asarray(p, dtype=np.float64).tofile(file)  # no .npy: threads cannot parse its header
        self.operations.append(worker.Assign(str(file)))

    # Who does what -------------------------------------------------------------------------------

    def orders(self, workers: list[str], *, sums: bool) -> dict[str, worker.Order]:
        """Return what each worker is to do next."""
        nothing_to_repeat = len(self.operations) <= 1
        self.owners = plan(self.owners, self.sizes, workers, move=nothing_to_repeat)
        due = time.monotonic() - self.saved > _SECONDS_BETWEEN_CHECKPOINTS
        shards: dict[str, list[int]] = {}
        for i, owner in enumerate(self.owners):
            shards.setdefault(owner, []).append(i)
        task = self.base, list(self.operations), due and sums, sums
        return {who: worker.Order(str(self.folder), mine, *task) for who, mine in shards.items()}

    def note(self, order: worker.Order, who: str) -> None:
        """Note that a worker, not always the one that was asked, has carried out an order."""
        for i in order.shards:
            self.owners[i] = who

    def settle(self, order: worker.Order) -> None:
        """Forget the operations that a checkpoint has made needless."""
        if order.checkpoint:
            self.base, self.operations = order.version, []
            self.saved = time.monotonic()


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _job_folder(rows: ClusterRows) -> Path:
    where = rows.place_for_state()
    try:
        return Path(tempfile.mkdtemp(prefix=".bagwise-", dir=where))
    except OSError as error:
        raise PermissionError(
            f"Cannot write checkpoints in {where} ({error.strerror}): name a folder that this "
            'process and all workers can write to, bags.to("dask", folder="/shared/scratch").'
        ) from error


def plan(owners: list[str], sizes: Array, workers: list[str], *, move: bool) -> list[str]:
    """Return who works on each shard: who has it, if it is there; ``move`` evens out the load."""
    if not owners:
        middle = (np.cumsum(sizes) - sizes / 2) / max(1, sizes.sum())
        return [workers[int(share * len(workers))] for share in middle]
    owners, load = list(owners), dict.fromkeys(workers, 0)
    for owner, size in zip(owners, sizes, strict=True):
        if owner in load:
            load[owner] += int(size)
    for i, owner in enumerate(owners):
        if owner not in load:
            owners[i] = min(workers, key=load.__getitem__)
            load[owners[i]] += int(sizes[i])
    while move:
        most, least = max(workers, key=load.__getitem__), min(workers, key=load.__getitem__)
        theirs = [i for i, owner in enumerate(owners) if owner == most]
        i = min(theirs, key=sizes.__getitem__, default=-1)
        move = i >= 0 and load[least] + sizes[i] < load[most]
        if move:
            owners[i] = least
            load[most], load[least] = load[most] - sizes[i], load[least] + sizes[i]
    return owners


def _pass(requests: list[tuple[ClusterSwept, bool]]) -> list[list[Any]]:
    """Answer several requests with one task per worker."""
    client = current_client()
    threads = live_workers(client)
    orders = [rows.orders(list(threads), sums=sums) for rows, sums in requests]
    asked = sorted({who for each in orders for who in each})
    tasks = [[(k, each[who]) for k, each in enumerate(orders) if who in each] for who in asked]
    calls = [
        client.submit(
            worker.advance,
            [order for _, order in task],
            max(1, threads.get(who, 1)),
            workers=[who],
            allow_other_workers=True,
            pure=False,
        )
        for who, task in zip(asked, tasks, strict=True)
    ]
    answers: list[list[Any]] = [[] for _ in requests]
    for task, (who, found) in zip(tasks, client.gather(calls), strict=True):
        for (k, order), part in zip(task, found, strict=True):
            requests[k][0].note(order, who)
            answers[k] += part
    for (rows, _), each in zip(requests, orders, strict=True):
        rows.settle(next(iter(each.values())))
    return answers
