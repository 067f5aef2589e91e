"""Fits side by side: one reading per round, results in order, errors that reach the caller."""

import pytest

from bagwise.rows import run, run_all, together


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
    from bagwise.rows import steps

    monkeypatch.setattr(steps, "available_memory", lambda: 4.0 * 8 * steps._MATRICES)
    rows = Echo()
    assert run_all(rows, [count(str(k), 1) for k in range(5)]) == [[f"{k}0"] for k in range(5)]
    assert [len(looks) for looks in rows.asked] == [2, 2, 1]


def test_errors_reach_the_caller():
    def fail():
        yield ["a"]
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(Echo(), together([fail(), count("b", 5)]))
