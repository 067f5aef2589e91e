"""The lowest of several runs; fits side by side: one reading per round, errors come through."""

from types import SimpleNamespace

import pytest

from bagwise.procedures import Run
from bagwise.procedures.run import keep_lowest, run, run_all, together


def make_run(objective, name):
    return Run(SimpleNamespace(objective=objective, gap=0.0), name, [{}], True)


def test_the_lowest_is_kept_and_all_are_recorded():
    kept = keep_lowest(
        iter([make_run(3.0, "a"), make_run(1.0, "b"), make_run(1.0, "equal"), make_run(2.0, "c")])
    )
    assert (kept.solution.objective, kept.assignment) == (1.0, "b")
    assert [record["objective"] for record in kept.starts] == [3.0, 1.0, 1.0, 2.0]


class Echo:
    """Rows that answer every look with itself."""

    n_coef = 1

    def __init__(self):
        self.asked = []

    def run_pass(self, looks):
        self.asked.append(list(looks))
        return looks


def count(name, n):
    seen = []
    for k in range(n):
        seen += yield [f"{name}{k}"]
    return seen


def test_fits_of_different_lengths_share_rounds():
    rows = Echo()
    found = run(rows, together([count("a", 3), count("b", 1), count("c", 0)]))
    assert found == [["a0", "a1", "a2"], ["b0"], []]
    assert rows.asked == [["a0", "b0"], ["a1"], ["a2"]]


def test_fits_within_fits():
    rows = Echo()
    inner = together([count("x", 2), count("y", 1)])
    assert run(rows, together([inner, count("z", 2)])) == [[["x0", "x1"], ["y0"]], ["z0", "z1"]]
    assert rows.asked == [["x0", "y0", "z0"], ["x1", "z1"]]


def test_memory_bounds_how_many_go_side_by_side(monkeypatch):
    from bagwise.procedures import run as module

    monkeypatch.setattr(module, "available_memory", lambda: 4.0 * 8 * module._MATRICES)
    rows = Echo()
    assert run_all(rows, [count(str(k), 1) for k in range(5)]) == [[f"{k}0"] for k in range(5)]
    assert [len(looks) for looks in rows.asked] == [2, 2, 1]


def test_errors_reach_the_caller():
    def fail():
        yield ["a"]
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(Echo(), together([fail(), count("b", 5)]))
