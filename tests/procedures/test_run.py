"""The lowest of several runs."""

from types import SimpleNamespace

from bagwise.procedures import Run
from bagwise.procedures.run import keep_lowest


def run(objective, name):
    return Run(SimpleNamespace(objective=objective, gap=0.0), name, [{}], True)


def test_the_lowest_is_kept_and_all_are_recorded():
    kept = keep_lowest(iter([run(3.0, "a"), run(1.0, "b"), run(1.0, "equal"), run(2.0, "c")]))
    assert (kept.solution.objective, kept.assignment) == (1.0, "b")
    assert [record["objective"] for record in kept.starts] == [3.0, 1.0, 1.0, 2.0]
