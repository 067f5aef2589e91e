"""One BLAS thread while a model works: the number of threads must not change a bit of the answer.

BLAS splits long sums by the number of its threads, and rounding follows the split. Its threads also
wait for each other: on two busy cores, two of them took 30 times as long as one for products with
vectors, at any size of the blocks of a fit (docs/results/threads.md). Parallel work in the project
runs over classes, folds, searches and blocks instead (``n_jobs``).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_users = 0
_limit: Any = None


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
    global _users, _limit
    with _lock:
        _users += 1
        if _users == 1:
            _limit = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _disown()
                _limit.restore_original_limits()
                _disown()
