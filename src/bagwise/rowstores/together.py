"""Fits side by side: where rows are read in passes, fits in threads share every pass.

A fit that needs a pass waits until all fits of its group do. Then one pass serves them all, which
reads the rows once. What a fit computes does not depend on its company.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import Any

from joblib import Parallel, delayed


def side_by_side(X: Any, calls: Iterable[Callable[[], Any]], **parallel: Any) -> Any:
    """Call functions that fit models to the same rows; return what they return, in order.

    Rows say with ``n_side_by_side`` how many fits may share their passes; without it ``parallel``
    goes to joblib.
    """
    width = getattr(X, "n_side_by_side", 0)
    if not width:
        return Parallel(**parallel)(delayed(call)() for call in calls)
    return _together(list(calls), width)


def asked(serve: Callable[[list[Any]], list[Any]], request: Any) -> Any:
    """Return what ``serve`` answers to a request, together with those of the group's other fits."""
    group = _GROUP.get()
    return serve([request])[0] if group is None else group.ask(serve, request)


class _Group:
    """Fits in threads, of which some wait for a pass."""

    def __init__(self) -> None:
        self.members, self.changed = 0, threading.Condition()
        self.waiting: list[dict[str, Any]] = []
        self.serve: Any = None

    def ask(self, serve: Any, request: Any) -> Any:
        """Wait for the pass that this request takes part in."""
        mine: dict[str, Any] = {"request": request}
        with self.changed:
            self.serve = serve
            self.waiting.append(mine)
            self._serve()
            self.changed.wait_for(lambda: "answer" in mine or "error" in mine)
        if "error" in mine:
            raise mine["error"]
        return mine["answer"]

    def join(self, members: int) -> None:
        """Let more fits take part, or fewer."""
        with self.changed:
            self.members += members
            self._serve()

    def _serve(self) -> None:
        if not self.waiting or len(self.waiting) < self.members:
            return
        served, self.waiting = self.waiting, []
        try:
            answers = self.serve([mine["request"] for mine in served])
        except Exception as error:  # noqa: BLE001  (every fit that waits raises it)
            for mine in served:
                mine["error"] = error
        else:
            for mine, answer in zip(served, answers, strict=True):
                mine["answer"] = answer
        self.changed.notify_all()


_GROUP: ContextVar[_Group | None] = ContextVar("_GROUP", default=None)


def _together(calls: list[Callable[[], Any]], width: int) -> list[Any]:
    outer = _GROUP.get()
    group = outer or _Group()
    n_threads = min(len(calls), max(1, width - group.members + bool(outer)))
    results: list[Any] = [None] * len(calls)
    left = iter(enumerate(calls))
    group.join(n_threads)
    if outer:
        group.join(-1)  # while its own calls run, the caller asks for nothing
    try:
        with warnings.catch_warnings(), ThreadPoolExecutor(n_threads) as pool:
            # Threads mix up what they catch: at least nothing of it stays behind.
            runs = [
                pool.submit(copy_context().run, _member, group, left, results)
                for _ in range(n_threads)
            ]
        for run in runs:
            run.result()
    finally:
        if outer:
            group.join(1)
    return results


_next = threading.Lock()


def _member(group: _Group, left: Iterator[Any], results: list[Any]) -> None:
    _GROUP.set(group)
    try:
        while True:
            with _next:
                k, call = next(left, (-1, None))
            if call is None:
                return
            results[k] = call()
    finally:
        group.join(-1)
