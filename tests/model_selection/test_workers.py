"""Workers that are too slow or die: their task has a result, and the others go on."""

from __future__ import annotations

import os
import signal
import sys
import time

import cloudpickle
import pytest

from bagwise.model_selection._workers import Stopped, Workers

FOREVER = float("inf")
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # no worker can import a test module


def work(data, task):
    """Square a number, or misbehave."""
    if task == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "leave":
        os._exit(3)
    while task == "spin":
        pass
    if task == "sleep":
        time.sleep(3600)
    return data["offset"] + task**2, os.getpid()


def run(tasks, n_workers=2, seconds=FOREVER, deadline=FOREVER):
    left = iter(tasks)
    with Workers(work, {"offset": 10}, n_workers) as workers:
        return dict(workers.run(lambda: next(left, None), lambda _: seconds, deadline))


def test_all_tasks_are_done_by_as_many_processes_as_asked_for():
    results = run(range(8))
    assert {task: value for task, (value, _) in results.items()} == {i: 10 + i**2 for i in range(8)}
    pids = {pid for _, pid in results.values()}
    assert os.getpid() not in pids
    assert len(pids) <= 2


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals")
def test_a_dead_process_is_the_result_of_its_task_only():
    results = run([1, "die", 2, "leave", 3])
    assert (results["die"], results["leave"]) == (Stopped(-signal.SIGKILL), Stopped(3))
    assert [results[i][0] for i in (1, 2, 3)] == [11, 14, 19]


@pytest.mark.parametrize("task", ["spin", "sleep"])
def test_a_slow_task_is_stopped(task):
    results = run([1, task, 2], seconds=0.2)
    assert results[task] == Stopped()
    assert [results[i][0] for i in (1, 2)] == [11, 14]


def test_at_the_deadline_everything_ends():
    assert run(["sleep", 1], n_workers=1, deadline=time.monotonic() + 0.2) == {}


def test_no_process_is_left():
    left = iter(["sleep"])
    with Workers(work, {}, 1) as workers:
        until = time.monotonic() + 0.1
        list(workers.run(lambda: next(left, None), lambda _: FOREVER, until))
        (worker,) = workers._workers
        assert worker.process.is_alive()
    assert not worker.process.is_alive()
    assert not workers._file.exists()
