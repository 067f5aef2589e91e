"""The lowest of several runs, and how well the others agree with it."""

from types import SimpleNamespace

import numpy as np

from bagwise.procedures import Run
from bagwise.procedures.run import keep_lowest

OFFSETS = np.array([0, 3, 5, 6])
POSITIVE = np.array([True, True, False])


def run(objective, assignment):
    solution = SimpleNamespace(objective=objective, gap=0.0)
    return Run(solution, np.array(assignment), [{}], True)


def test_the_lowest_is_kept_and_all_are_recorded():
    runs = [
        run(3.0, [1, 0, 0, 1, 0, 0]),
        run(1.0, [0, 1, 0, 1, 0, 0]),
        run(2.0, [0, 1, 1, 1, 1, 0]),
    ]
    kept = keep_lowest(iter(runs), OFFSETS, POSITIVE)
    assert kept.solution.objective == 1.0
    assert [record["objective"] for record in kept.starts] == [3.0, 1.0, 2.0]
    # Bag 0: {1} against {0} and {1, 2}; bag 1: {0} against {0} and {0, 1}.
    np.testing.assert_allclose(kept.stability, [(0 + 1 / 2) / 2, (1 + 1 / 2) / 2, np.nan])


def test_equal_objectives_keep_the_first():
    runs = [run(1.0, [1, 0, 0, 1, 0, 0]), run(1.0, [0, 1, 0, 1, 0, 0])]
    kept = keep_lowest(iter(runs), OFFSETS, POSITIVE)
    assert kept.assignment.tolist() == [1, 0, 0, 1, 0, 0]
    np.testing.assert_allclose(kept.stability, [0.0, 1.0, np.nan])
