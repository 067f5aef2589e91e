"""A backend of joblib whose calls share passes: for scikit-learn's searches and cross-validation.

``with joblib.parallel_config(backend="bagwise", n_jobs=9): cross_val_score(model, bags, y, cv=9)``
reads rows that lie in files once for nine fits. Calls are collected, and carried out together when
the first of their results is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from joblib import effective_n_jobs, parallel_config, register_parallel_backend
from joblib.parallel import ParallelBackendBase

from bagwise.rowstores.blocks import lies_in_files, n_side_by_side
from bagwise.rowstores.together import together

NAME = "bagwise"


def share_passes(X: Any, n_jobs: int | None) -> AbstractContextManager[Any]:
    """Return a context in which joblib's calls share passes over rows, if fits to these do."""
    width = n_side_by_side(X)
    if width < 2 or (effective_n_jobs(n_jobs) > 1 and lies_in_files(X)):
        return nullcontext()
    return parallel_config(backend=NAME, n_jobs=width)


class Together(ParallelBackendBase):
    """Calls side by side in one process (`bagwise.rowstores.together`)."""

    uses_threads, supports_sharedmem = True, True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.waiting: list[_Job] = []

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Return how many calls come together: as many as are asked for."""
        return max(1, n_jobs or 1)

    def configure(self, n_jobs: int = 1, parallel: Any = None, **options: Any) -> int:
        """Return how many calls come together in a call of joblib."""
        self.width = super().configure(n_jobs, parallel, **options)
        return self.width

    def submit(self, func: Callable[[], Any], callback: Any = None) -> _Job:
        """Note a call."""
        self.waiting.append(_Job(self, func, callback))
        return self.waiting[-1]

    apply_async = submit  # its name before joblib 1.5

    def carry_out(self) -> None:
        """Do what was noted."""
        jobs, self.waiting = self.waiting, []
        results = together([job.func for job in jobs], self.width)
        for job, result in zip(jobs, results, strict=True):
            job.results.append(result)

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Forget what was noted, after an error."""
        self.waiting = []


class _Job:
    def __init__(self, backend: Together, func: Callable[[], Any], callback: Any) -> None:
        self.backend, self.func, self.callback = backend, func, callback
        self.results: list[Any] = []

    def get(self, timeout: float | None = None) -> Any:
        """Return the result; joblib may submit the next call then."""
        if not self.results:
            self.backend.carry_out()
        self.callback(self)
        return self.results.pop()


register_parallel_backend(NAME, Together)
