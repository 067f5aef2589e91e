"""How the benchmarks measure time: CPU time on one thread, the best of several runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from threadpoolctl import threadpool_limits

__all__ = ["cpu_seconds", "one_thread"]

one_thread = partial(threadpool_limits, 1)


def cpu_seconds(work: Callable[..., object], *args: object, repeats: int = 5) -> float:
    """Return the smallest CPU time of several runs of ``work(*args)``."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        work(*args)
        times.append(time.process_time() - began)
    return min(times)
