"""Fits side by side: one reading of the rows per round, for all of them.

A fit is a generator: it yields a list of looks and is sent their sums. `together` makes one fit of
several, and `run` drives a fit to its end.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.designs.ridge import solve_primal
from bagwise.rows.host import Rows
from bagwise.rowstores.blocks import available_memory

_MATRICES = 6  # of the size of H that a fit holds: two views, their sums, a factor

Fit = Generator[list[Any], Any, Any]  # yields looks, is sent their sums


def together(fits: Iterable[Fit]) -> Fit:
    """Advance fits in step; return their results, in order."""
    fits = list(fits)
    results: list[Any] = [None] * len(fits)
    waiting = dict[int, list[Any]]()

    def advance(i: int, sums: list[Any] | None) -> None:
        try:
            waiting[i] = fits[i].send(sums)
        except StopIteration as end:
            results[i] = end.value
            waiting.pop(i, None)

    for i in range(len(fits)):
        advance(i, None)
    while waiting:
        asked = list(waiting.items())
        sums = yield [look for _, looks in asked for look in looks]
        for i, looks in asked:
            advance(i, sums[: len(looks)])
            sums = sums[len(looks) :]
    return results


def run(rows: Rows, fit: Fit) -> Any:
    """Drive a fit to its end; return its result."""
    sums: list[Any] | None = None
    while True:
        try:
            looks = fit.send(sums)
        except StopIteration as end:
            return end.value
        sums = rows.run_pass(looks)


def run_all(rows: Rows, fits: Iterable[Fit]) -> list[Any]:
    """Drive fits to their ends, as many side by side as memory has room for."""
    fits, one = list(fits), _MATRICES * 8 * rows.n_coef**2
    room = max(1, int(available_memory() / 2 // max(1, one)))
    groups = (fits[i : i + room] for i in range(0, len(fits), room))
    return [result for group in groups for result in run(rows, together(group))]


def solve_step(
    matrix: Any, metric: Any, mean: Array, mass: float, residual: Array, shift: float
) -> tuple[Array, float]:
    """Return the Newton step in w and b, solved where the matrix is."""
    if isinstance(matrix, np.ndarray):
        return solve_primal(matrix, metric, mean, mass, residual, shift)
    from bagwise.rows.device import solve_on_device

    return solve_on_device(matrix, metric, mean, mass, residual, shift)
