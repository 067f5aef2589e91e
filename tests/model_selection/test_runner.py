"""The runner of cells: the clock, the store, what is left out, and failures."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pytest

from bagwise.io._records import ResultsError
from bagwise.model_selection.clock import Cost, Deadline, Probe
from bagwise.model_selection.runner import Runner, Store

PAST = Deadline(-np.inf)


@dataclass(frozen=True)
class Square:
    """A cell: the square of a number, after some seconds."""

    name: str
    number: int
    seconds: float = 0.0

    @property
    def id(self):
        return f"{self.name}{self.number}"

    @property
    def head(self):
        return {"cell": self.id}


def work(data, cell, until):
    """Square a number, looking at the clock as an estimator does."""
    if cell.number < 0:
        raise ZeroDivisionError("oops")
    end = time.monotonic() + cell.seconds
    while time.monotonic() < end:
        time.sleep(0.01)
        until.check()
    return {"square": data + cell.number**2}


def make_runner(**options):
    return Runner(work, lambda _: 10, **options)


def squares(runner, cells):
    return {cell.id: record["square"] for cell, record in runner.run(cells)}


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_cells_in_and_records_out(n_jobs):
    cells = [Square(name, number) for name in "ab" for number in range(3)]
    runner = make_runner(n_jobs=n_jobs)
    assert squares(runner, cells) == {c.id: 10 + c.number**2 for c in cells}
    assert (runner.left_out, runner.in_time) == ({}, True)


def test_without_a_limit_a_cell_looks_at_no_others(monkeypatch):
    """The time of ten thousand cells of as many names once grew with the square of their number."""
    asked = []
    monkeypatch.setattr(Runner, "_mean_seconds", lambda self, name: asked.append(name) or 0.0)
    assert len(squares(make_runner(), [Square(f"m{i}-", i) for i in range(20)])) == 20
    assert len(asked) <= 20


def test_a_failure_is_the_result_of_its_model_only():
    runner = make_runner()
    records = {cell.id: r for cell, r in runner.run([Square(*c) for c in _failing()])}
    assert list(records) == ["a1", "b-1", "c1"]  # the second cell of b was not tried
    assert records["b-1"]["failure"].startswith("ZeroDivisionError: oops (in work, line ")


def _failing():
    return [("a", 1), ("b", -1), ("b", 2), ("c", 1)]


# The store ----------------------------------------------------------------------------------------


def test_stored_cells_are_recalled_and_failures_run_again(tmp_path):
    path = tmp_path / "folder" / "cells.jsonl"
    with Store(path, lambda record: record.get("cell", "")) as store:
        store.append({"head": 1})
        list(make_runner(store=store).run([Square(*c) for c in _failing()]))
        with pytest.raises(ResultsError, match="in use"), Store(path, str):
            pass
    with Store(path, lambda record: record.get("cell", "")) as store:
        assert store.heads == [{"head": 1}]
        runner = make_runner(store=store)
        cells = [Square("a", 1), Square("b", -1), Square("d", 2)]
        assert [cell.id for cell, _ in runner.recall(cells)] == ["a1"]
        assert [cell.id for cell, _ in runner.run(cells)] == ["b-1", "d2"]


def test_a_record_is_stored_before_the_next_cell_begins(tmp_path):
    path = tmp_path / "cells.jsonl"
    with Store(path, lambda record: record["cell"]) as store:
        for n_done, _ in enumerate(make_runner(store=store).run([Square("a", i) for i in (1, 2)])):
            assert path.read_bytes().count(b"\n") == n_done + 1


# The clock ----------------------------------------------------------------------------------------


def test_a_model_that_would_be_late_is_stopped_and_the_others_go_on():
    slow = [Square("slow", i, 30.0) for i in range(4)]
    quick = [Square("quick", i, 0.01) for i in range(4)]
    runner, began = make_runner(deadline=Deadline.after(2.0)), time.monotonic()
    assert list(squares(runner, slow + quick)) == ["quick0", "quick1", "quick2", "quick3"]
    assert list(runner.left_out) == ["slow"]
    assert not runner.in_time
    assert time.monotonic() - began < 1.5  # a quarter of the limit for the first of four cells


@pytest.fixture
def wait(monkeypatch):
    """Work that takes the cell's seconds on a clock of its own."""
    clock = [0.0]
    monkeypatch.setattr("bagwise.model_selection.clock.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("bagwise.model_selection.runner.time.perf_counter", lambda: clock[0])

    def work(data, cell, until):
        clock[0] += cell.seconds
        return {"square": 0}

    return work


def test_the_first_cell_tells_what_the_others_take(wait):
    cells = [Square("a", i, 1.0) for i in range(3)] + [Square("b", i, 4.0) for i in range(3)]
    cells += [Square("c", i, 0.5) for i in range(3)]
    runner = Runner(wait, lambda _: None, deadline=Deadline(10.0))
    assert list(squares(runner, cells)) == ["a0", "a1", "a2", "b0", "c0", "c1", "c2"]
    assert runner.left_out == {"b": "a fold took 4.0 s, its other folds would not finish in time"}


def test_time_of_cheaper_models_is_kept_for_them(wait):
    cells = [Square(n, i, s) for i in range(3) for n, s in (("a", 2.0), ("b", 1.5))]
    runner = Runner(wait, lambda _: None, deadline=Deadline(9.0))
    assert list(squares(runner, cells)) == ["a0", "b0", "b1", "b2"]
    assert list(runner.left_out) == ["a"]


def test_past_the_deadline_nothing_begins():
    runner = make_runner(deadline=PAST)
    assert squares(runner, [Square("a", 1)]) == {}
    assert not runner.in_time


class Foreseen(Probe):
    """A probe that knows the cost of a cell."""

    def __init__(self, seconds):
        super().__init__(None, None, None)
        object.__setattr__(self, "seconds", seconds)

    def measure(self, seconds, *, again=False):
        return Cost(self.seconds, 0.0, 1)


def test_a_model_that_takes_more_than_its_part_comes_last():
    """Of 90 seconds each of three models has 30: two cells of 20 are too much until others ran."""
    costs = {"slow": 20.0, "endless": 1000.0, "quick": 1.0}
    probes, told = {name: Foreseen(seconds) for name, seconds in costs.items()}, {}
    cells = [Square(name, number) for name in costs for number in range(2)]
    limited = {"deadline": Deadline.after(90.0), "announce": told.__setitem__}
    runner = make_runner(probes=probes, **limited)
    assert list(squares(runner, cells)) == ["quick0", "quick1", "slow0", "slow1"]
    assert list(runner.left_out) == ["endless"]
    assert told == {"slow": 40.0, "endless": 2000.0, "quick": 2.0}
    free = make_runner(probes=probes)
    assert list(squares(free, cells)) == [cell.id for cell in cells]
