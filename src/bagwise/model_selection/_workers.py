"""Worker processes that may be stopped, or die, without taking others with them.

A fit that is too slow is stopped by ending its process, and a fit that runs out of memory ends
only its own: both are results, and the next task gets a fresh process. The data are written once
to a temporary file that all workers map into memory.
"""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import cloudpickle
import joblib
from loky.backend import get_context

_PATIENCE = 0.25  # seconds: how late a stop may be noticed
_BUSY = 4.0  # how much longer than its CPU time a task may take, on a computer with other work
_TOO_SLOW = 75  # exit status of a worker whose task took too much CPU time
_CONTEXT = "loky"  # unlike "spawn" it does not run the user's script again


@dataclass(frozen=True)
class Stopped:
    """What becomes of a task that took too long; ``died``: the exit status of a dead process."""

    died: int | None = None


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    task: Any = None
    seconds: float = 0.0  # of CPU time that the task may take
    ready: bool = False  # whether it has loaded its libraries, which takes seconds
    until: float = float("inf")

    def count_time(self) -> None:
        """Let the time of the task begin."""
        self.until = time.monotonic() + _BUSY * self.seconds


class Workers:
    """Processes that run ``work(data, task)``, one task at a time.

    Parameters
    ----------
    work : callable
        What is done; anything that cloudpickle can write.
    data : object
        What all tasks share.
    n_workers : int
        Number of processes.
    """

    def __init__(self, work: Callable[[Any, Any], Any], data: Any, n_workers: int) -> None:
        self._work, self._data, self._n_workers = work, data, n_workers
        self._exit = ExitStack()
        self._workers: list[_Worker] = []

    def __enter__(self) -> Workers:
        folder = Path(self._exit.enter_context(tempfile.TemporaryDirectory(prefix="bagwise-")))
        self._file = folder / "data"
        joblib.dump(self._data, self._file)
        return self

    def __exit__(self, *reason: object) -> None:
        for worker in self._workers:
            worker.process.terminate()
            worker.process.join()
            worker.pipe.close()
        self._workers.clear()
        self._exit.close()

    def run(
        self, next_task: Callable[[], Any], seconds: Callable[[Any], float], deadline: float
    ) -> Iterator[tuple[Any, Any]]:
        """Yield (task, result) as tasks end, or (task, Stopped) where they do not.

        ``next_task()`` is asked whenever a worker is free and returns None where there is nothing
        to do, ``seconds(task)`` the CPU time that it may take. Past the ``deadline`` (of
        `time.monotonic`) everything is stopped, and nothing more is yielded.
        """
        while time.monotonic() < deadline:
            while len(self._busy()) < self._n_workers and (task := next_task()) is not None:
                self._start(task, seconds(task))
            if not self._busy():
                return
            soonest = min([deadline, *(worker.until for worker in self._busy())])
            patience = max(0.0, min(soonest - time.monotonic(), _PATIENCE))
            yield from self._ended(wait([worker.pipe for worker in self._busy()], patience))

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.task is not None]

    def _start(self, task: Any, seconds: float) -> None:
        worker = next((each for each in self._workers if each.task is None), None) or self._new()
        worker.task, worker.seconds = task, seconds
        if worker.ready:
            worker.count_time()
        worker.pipe.send_bytes(cloudpickle.dumps((task, seconds)))

    def _new(self) -> _Worker:
        context = get_context(_CONTEXT)
        ours, theirs = context.Pipe()
        work = cloudpickle.dumps(self._work)
        process = context.Process(target=_serve, args=(theirs, work, str(self._file)), daemon=True)
        process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _ended(self, ready: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        ready, now = list(ready), time.monotonic()
        for worker in self._busy():
            task = worker.task
            if worker.pipe in ready:
                result = self._received(worker)
                if worker.ready or isinstance(result, Stopped):
                    worker.task = None
                    yield task, result
                else:
                    worker.ready = True
                    worker.count_time()
            elif now >= worker.until:
                self._remove(worker)
                yield task, Stopped()

    def _received(self, worker: _Worker) -> Any:
        try:
            return pickle.loads(worker.pipe.recv_bytes())
        except (EOFError, ConnectionResetError):
            self._remove(worker)
            status = worker.process.exitcode
            return Stopped(None if status == _TOO_SLOW else status)

    def _remove(self, worker: _Worker) -> None:
        worker.process.terminate()
        worker.process.join()
        worker.pipe.close()
        self._workers.remove(worker)


def _serve(pipe: Connection, work: bytes, file: str) -> None:
    """Work off tasks until the other side is gone or a task takes too long, at any moment."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that gives the tasks
    tasks: SimpleQueue[bytes] = SimpleQueue()
    until = float("inf")

    def listen() -> None:
        try:
            while True:
                while not pipe.poll(_PATIENCE):
                    if time.process_time() > until:
                        os._exit(_TOO_SLOW)
                tasks.put(pipe.recv_bytes())
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    function, data = pickle.loads(work), joblib.load(file, mmap_mode="r")
    pipe.send_bytes(cloudpickle.dumps("ready"))
    while True:
        task, seconds = pickle.loads(tasks.get())
        until = time.process_time() + seconds
        result = cloudpickle.dumps(function(data, task))
        until = float("inf")
        pipe.send_bytes(result)
