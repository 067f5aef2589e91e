"""What a worker keeps, repeats and restores; a cluster is not needed for that."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from bagwise import Bags, io
from bagwise.assumptions import ExactlyOne
from bagwise.assumptions.rules import KEEP, Choose
from bagwise.designs import Dense, dask_worker as worker, swept
from bagwise.designs.swept import Labels
from bagwise.designs.tree import add_up


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.setattr(swept, "_FEWEST_ROWS", 4)
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 9, 30))])
    X = rng.normal(size=(offsets[-1], 3))
    io.write(tmp_path / "rows.bags", Bags(X, offsets), np.arange(30) % 2)
    labels = Labels(offsets, np.arange(30) % 2 == 1, np.full(30, 0.5), 0.5, True)
    rows = io.read(tmp_path / "rows.bags")[0].to("dask").X
    cuts = swept.shard_cuts(offsets, 3)
    (tmp_path / worker.JOB).write_bytes(pickle.dumps((rows, None, labels, cuts)))
    yield str(tmp_path), Dense(X).label(labels), len(cuts) - 1
    worker._JOBS.clear()


def answers(order):
    (nodes,) = worker._read_once([order])
    return nodes


def test_operations_are_those_of_swept_rows(job):
    folder, local, n_shards = job
    rng, w = np.random.default_rng(1), np.ones(3)
    p = rng.random(len(local.assignment))
    p.tofile(f"{folder}/p")
    rule = Choose(ExactlyOne(), enters=True)
    operations = [worker.Assign(f"{folder}/p"), worker.Sweep(w, 0.1, rule), worker.Change("revert")]
    operations += [worker.Change("sharpen"), worker.Change("refine"), worker.Sweep(-w, 0.0, KEEP)]
    local.assignment = p
    local.sweep(w, 0.1, rule)
    local.revert()
    local.sharpen()
    local.refine()
    sums = local.sweep(-w, 0.0)
    shards = list(range(n_shards))
    nodes = answers(worker.Order(folder, shards, 0, operations, False, True))
    found = worker.in_order(nodes)
    np.testing.assert_array_equal(add_up(found).hessian, sums.hessian)
    parts = answers(worker.Order(folder, shards, 0, operations, False, False))
    np.testing.assert_array_equal(np.concatenate([p for _, p in parts]), local.assignment)


def test_orders_may_be_repeated_and_shards_lost(job, tmp_path):
    folder, local, n_shards = job
    points = np.random.default_rng(2).normal(size=(6, 3))
    expected = [local.sweep(w, 0.0, Choose(ExactlyOne())).hessian for w in points]
    passes = [worker.Sweep(w, 0.0, Choose(ExactlyOne())) for w in points]
    shards = list(range(n_shards))
    order = worker.Order(folder, shards, 0, [], False, True)
    for k in range(3):
        order = replace(order, operations=passes[: k + 1], checkpoint=k == 2)
        np.testing.assert_array_equal(add_up(answers(order)).hessian, expected[k])
    np.testing.assert_array_equal(add_up(answers(order)).hessian, expected[2])  # once more
    assert len(list(tmp_path.glob("*-3.checkpoint"))) == n_shards
    worker._JOBS.clear()  # a new worker
    order = replace(order, base=3, operations=passes[3:5], checkpoint=False)
    np.testing.assert_array_equal(add_up(answers(order)).hessian, expected[4])
    worker._JOBS[folder].shards.pop(1)
    order = replace(order, operations=passes[3:], checkpoint=True)
    np.testing.assert_array_equal(add_up(answers(order)).hessian, expected[5])
    order = replace(order, base=6, operations=passes[:1])
    answers(order)
    assert not list(tmp_path.glob("*-3.checkpoint"))


def test_jobs_go_through_the_rows_side_by_side(job, tmp_path, monkeypatch):
    folder, local, n_shards = job
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / worker.JOB).write_bytes((tmp_path / worker.JOB).read_bytes())
    expected = local.sweep(np.ones(3), 0.0).hessian
    visited, visit = [], swept.Shard._visit

    def seen(self, bags, *args):
        visited.append(self.rows.X.rows.start)
        return visit(self, bags, *args)

    monkeypatch.setattr(swept.Shard, "_visit", seen)
    pass_, shards = worker.Sweep(np.ones(3), 0.0, KEEP), list(range(n_shards))
    folders = folder, str(tmp_path / "other")
    found = worker._read_once(
        [worker.Order(each, shards, 0, [pass_], False, True) for each in folders]
    )
    assert visited == sorted(visited)
    assert len(visited) == 2 * n_shards
    for nodes in found:
        np.testing.assert_array_equal(add_up(nodes).hessian, expected)
