"""Tolerances and limits that several modules share, what precision allows, and threads.

The number of threads must not change a bit of the answer: BLAS splits long sums by the number of
its threads, and rounding follows the split. Its threads also wait for each other: on two busy
cores, two of them took 30 times as long as one for products with vectors, at any size of the blocks
of a fit (docs/results/threads.md). Parallel work in the project runs over classes, folds, searches
and blocks instead (``n_jobs``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from joblib import Parallel, delayed

TIE = 1e-12  # relative: objectives of different problems, shares of weight, this close are equal
PROVEN = 1e-9  # relative gap that counts as converged: no more digits of a gap survive rounding
SINGLE = 1e-7  # relative: what entries in float32 can resolve, and more digits are not worth
DECIDED = 1e-6  # distance from 0 or 1 at which a probability counts as decided
COARSE = 1e-4  # relative gap of a problem that only starts another one, and the largest "converged"
NOTHING = 1e-3  # of a whole: smaller gaps may be rounding, smaller weights and spreads say nothing

INNER = 0.1  # of a tolerance: an inner problem may miss as much; of a gap: a fall by less is none
SMALL_GAIN = 1e-2  # of an objective or gap: what gains less is not worth its cost, not yet at least
SUFFICIENT = 1e-4  # of the promised decrease: Armijo's usual constant
MEMORY = 3  # recent objectives whose maximum bounds a step: linear tiger takes 8 steps, 11 with 1
PATIENCE = 30  # iterations or halvings until what they led to is judged: usual problems take ten
MAX_STEPS = 1000  # Newton steps, or passes as in LinearSVC: usual problems take dozens

UNEVEN = 1e3  # ratio of sizes beyond which one unit for both would leave one too few digits
LARGEST_DENSE = 1000  # unknowns or rows: dense algebra takes under a second, and no compiled loops
THINNING = 5  # a factor of a fifth of the rows costs 1/125
LARGEST_EXACT = 2**53  # the integers up to here are all float64 numbers

TINY = float(np.finfo(np.float64).tiny)  # in place of a divisor 0


def rounding_of(dtype: Any) -> float:
    """Return the relative change of a sum that is below rounding in this precision."""
    return 50 * float(np.finfo(dtype).eps)


ROUNDING = rounding_of(np.float64)  # relative: a smaller change of a sum is rounding


def provable_gap(rounding: float) -> float:
    """Return the relative gap that rows with this relative rounding can prove."""
    return min(max(1e3 * rounding, PROVEN), COARSE)


_lock = threading.Lock()
_users: list[Any] = []  # the first one holds the limit for all


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _disown() -> None:
    """Let any thread set the number: since 3.8 threadpoolctl listens only to the one that did."""
    from threadpoolctl import OpenBLASController

    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last user, in whichever thread, has left."""
    with _lock:
        _users.append(None if _users else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _users.pop()
            if not _users:
                _disown()
                limit.restore_original_limits()
                _disown()


def in_threads(function: Callable[..., Any], items: Iterable[Any], n_jobs: int | None) -> list[Any]:
    """Return what a function makes of items, in their order; no bit depends on ``n_jobs``."""
    return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(function)(item) for item in items)
