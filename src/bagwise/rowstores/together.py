"""Fits side by side: where rows are read in passes, several fits share every pass.

A fit that needs a pass waits until all fits of its group do. Then one pass serves them all, which
reads the rows once. What a fit computes does not depend on its company.

Every fit has a thread, of which one works at a time, until it waits or ends: threads are nothing
but places to wait in. So a fit that takes no passes has all memory to itself, warnings stay with
the fit that gave them (`warnings.catch_warnings` changes the whole process, and is therefore
exchanged with the thread that works), and Ctrl-C reaches the caller, where passes are taken.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, copy_context
from itertools import chain, groupby
from math import sqrt
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from sklearn import config_context, get_config

from bagwise.rowstores.blocks import lies_in_files, n_side_by_side

_WARNING_STATE = ("filters", "showwarning", "_showwarnmsg_impl")  # what catch_warnings sets back


def side_by_side(X: Any, calls: Iterable[Callable[[], Any]], **parallel: Any) -> Any:
    """Call functions that fit models to the same rows; return what they return, in order.

    Rows say how many fits may share their passes (`n_side_by_side`). Where they share none,
    ``parallel`` goes to joblib. Where several processes are wanted, several fits share the passes
    of each: one reading for every fit would take longer than the fit.
    """
    width = n_side_by_side(X)
    if not width:
        return Parallel(**parallel)(delayed(call)() for call in calls)
    calls = list(calls)
    n_jobs = _processes(X, len(calls), **parallel)
    results: Iterable[Any]
    if n_jobs == 1:
        results = together(calls, width)
    else:
        size = -(-len(calls) // n_jobs)
        parts = (calls[i : i + size] for i in range(0, len(calls), size))
        jobs = Parallel(**{**parallel, "n_jobs": n_jobs})
        each = jobs(delayed(_in_process)(part, max(1, width // n_jobs)) for part in parts)
        results = chain.from_iterable(each)
    return results if parallel.get("return_as") == "generator" else list(results)


def _processes(X: Any, n_calls: int, n_jobs: int | None = None, **options: Any) -> int:
    """Return how many processes the calls are for."""
    if not lies_in_files(X) or _here() is not None or options.get("prefer") == "threads":
        return 1
    # Reading takes about twice as long as what a fit does with the rows (docs/results/scale.md): P
    # readings and N / P fits take equally long at P = sqrt(N / 2).
    return min(effective_n_jobs(n_jobs), max(1, round(sqrt(n_calls / 2))))


def _in_process(calls: list[Callable[[], Any]], width: int) -> list[Any]:
    return list(together(calls, width))


def together(calls: list[Callable[[], Any]], width: int) -> Iterator[Any]:
    """Yield what calls return, in order; so many of them share their passes."""
    caller = _here()
    group = _Group() if caller is None else caller.group
    n_threads = min(len(calls), width - len(group.members) + (caller is not None))
    if n_threads < 2:
        yield from (call() for call in calls)
        return
    crew = _Crew(calls, caller)
    for _ in range(n_threads):
        _Member(group, crew)
    if caller is not None:
        caller.wait_for(crew)
        yield from (crew.result(k) for k in range(len(calls)))
        return
    try:
        for k in range(len(calls)):
            group.drive(crew, k)
            yield crew.result(k)
    finally:
        crew.ended = True
        group.drive(crew)


def request_pass(serve: Callable[[list[Any]], list[Any]], request: Any) -> Any:
    """Return what ``serve`` answers to a request, together with those of the group's other fits."""
    me = _here()
    return serve([request])[0] if me is None else me.ask(serve, request)


class _Ended(BaseException):
    """Nobody wants the result of this fit any more."""


class _Crew:
    """Calls of one `side_by_side`, and what came of them."""

    def __init__(self, calls: list[Callable[[], Any]], caller: _Member | None) -> None:
        self.caller, self.left = caller, iter(enumerate(calls))
        self.results: dict[int, Any] = {}
        self.members, self.ended = 0, False
        self.error: BaseException | None = None

    @property
    def is_ended(self) -> bool:
        """Whether its calls, or those that they are part of, are to end."""
        return self.ended or (self.caller is not None and self.caller.crew.is_ended)

    def result(self, k: int) -> Any:
        """Return what a call returned, or raise the error that ended them all."""
        if self.error is not None:
            raise self.error
        return self.results.pop(k)


class _Member:
    """A thread that carries out calls of a crew, one after the other."""

    def __init__(self, group: _Group, crew: _Crew) -> None:
        self.group, self.crew, self.go = group, crew, threading.Semaphore(0)
        self.serve: Any = None  # what it waits for: a request and who answers it,
        self.request: Any = None
        self.inner: _Crew | None = None  # or calls of its own
        self.answer: Any = None
        self.failure: BaseException | None = None
        self.warnings, self.config = _warning_state(), get_config()
        self.thread = threading.Thread(target=copy_context().run, args=(self._run,), daemon=True)
        crew.members += 1
        group.members.append(self)

    @property
    def is_ready(self) -> bool:
        """Whether there is something to do for it."""
        if self.inner is not None:
            return self.inner.members == 0
        return self.serve is None or self.crew.is_ended

    def ask(self, serve: Any, request: Any) -> Any:
        """Wait for the pass that this request takes part in."""
        self.serve, self.request = serve, request
        self._rest()
        answer, failure, self.answer, self.failure = self.answer, self.failure, None, None
        if failure is not None:
            raise failure
        return answer

    def wait_for(self, crew: _Crew) -> None:
        """Wait until calls of one's own are done."""
        self.inner = crew
        self._rest()
        self.inner = None

    def _rest(self) -> None:
        self.group.back.release()
        self.go.acquire()
        if self.crew.is_ended:
            raise _Ended

    def _run(self) -> None:
        self.go.acquire()
        _MEMBER.set(self)
        crew = self.crew
        try:
            with config_context(**self.config):
                for k, call in crew.left:
                    if crew.is_ended:
                        break
                    crew.results[k] = call()
        except _Ended:
            pass
        except BaseException as error:  # noqa: BLE001  (whoever wants the results raises it)
            crew.error, crew.ended = crew.error or error, True
        finally:
            crew.members -= 1
            self.group.members.remove(self)
            self.group.back.release()


_MEMBER: ContextVar[_Member | None] = ContextVar("_MEMBER", default=None)


def _here() -> _Member | None:
    """Return the member that works in this thread; threads of its own, if it has any, are none."""
    me = _MEMBER.get()
    return me if me is not None and me.thread is threading.current_thread() else None


class _Group:
    """Fits that share passes; whoever needs their results lets them work in turn."""

    def __init__(self) -> None:
        self.members: list[_Member] = []
        self.back = threading.Semaphore(0)

    def drive(self, crew: _Crew, k: int | None = None) -> None:
        """Let all work until a call of a crew, or the whole crew, is done."""
        while crew.members and not (k in crew.results or (k is not None and crew.ended)):
            ready = next((member for member in self.members if member.is_ready), None)
            if ready is None:
                self._serve()
            else:
                self._resume(ready)

    def _resume(self, member: _Member) -> None:
        """Let a member work until it waits or ends."""
        mine = _warning_state()
        _set_warning_state(member.warnings)
        if member.thread.ident is None:
            member.thread.start()
        member.go.release()
        try:
            self.back.acquire()
        except BaseException:  # Ctrl-C: it is not interrupted itself
            member.crew.ended = True
            self.back.acquire()
            raise
        finally:
            member.warnings = _warning_state()
            _set_warning_state(mine)

    def _serve(self) -> None:
        waiting = sorted((m for m in self.members if m.serve), key=lambda m: id(m.serve))
        for serve, several in groupby(waiting, key=lambda m: m.serve):
            served = list(several)
            try:
                answers = serve([member.request for member in served])
            except Exception as error:  # noqa: BLE001  (every fit that waits raises it)
                for member in served:
                    member.failure = error
            else:
                for member, answer in zip(served, answers, strict=True):
                    member.answer = answer
            for member in served:
                member.serve = member.request = None


def _warning_state() -> tuple[Any, ...]:
    return tuple(getattr(warnings, name) for name in _WARNING_STATE)


def _set_warning_state(state: tuple[Any, ...]) -> None:
    for name, value in zip(_WARNING_STATE, state, strict=True):
        setattr(warnings, name, value)
    with warnings.catch_warnings():  # lets go of what is remembered of other filters
        pass
