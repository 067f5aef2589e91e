"""Fits in threads share what they ask for."""

import signal
import threading
from functools import partial
from types import SimpleNamespace

import pytest
from sklearn import config_context, get_config

from bagwise.rowstores.together import request_pass, side_by_side

ROWS, WIDE = SimpleNamespace(n_side_by_side=4), SimpleNamespace(n_side_by_side=9)


class Server:
    """Answers requests by their square, and counts how many came at once."""

    def __init__(self):
        self.sizes = []

    def __call__(self, requests):
        self.sizes.append(len(requests))
        if -1 in requests:
            raise ValueError("no such request")
        return [request**2 for request in requests]


def fit(serve, number, n_passes):
    return [request_pass(serve, number) for _ in range(n_passes)]


@pytest.mark.parametrize(("n_calls", "n_passes"), [(4, 3), (10, 2)], ids=["all", "as have room"])
def test_calls_wait_for_each_other(n_calls, n_passes):
    serve = Server()
    calls = [partial(fit, serve, k, n_passes) for k in range(n_calls)]
    assert side_by_side(ROWS, calls) == [[k**2] * n_passes for k in range(n_calls)]
    assert serve.sizes[:n_passes] == [4] * n_passes
    assert max(serve.sizes) == 4
    assert sum(serve.sizes) == n_calls * n_passes


def test_errors_reach_whoever_waits():
    serve = Server()
    with pytest.raises(ValueError, match="no such request"):
        side_by_side(ROWS, [partial(fit, serve, k, 1) for k in (-1, 2)])
    with pytest.raises(ZeroDivisionError):
        side_by_side(ROWS, [lambda: 1 / 0, partial(fit, serve, 2, 2)])


def test_an_error_ends_the_other_calls():
    serve, done = Server(), []

    def long(k):
        fit(serve, k, 5)
        done.append(k)

    def short():
        fit(serve, 7, 2)
        raise ZeroDivisionError

    before = threading.active_count()
    calls = [partial(long, 1), short, *(partial(long, k) for k in range(2, 9))]
    with pytest.raises(ZeroDivisionError):
        side_by_side(ROWS, calls)
    assert not done
    assert serve.sizes == [4, 4]
    assert threading.active_count() == before


def test_an_inner_error_ends_nothing_else():
    serve = Server()

    def fails():
        fit(serve, 3, 1)
        raise ZeroDivisionError

    def point(k):
        try:
            return side_by_side(WIDE, [partial(fit, serve, k, 3), fails if k == 0 else list])
        except ZeroDivisionError:
            return "failed"

    found = side_by_side(WIDE, [partial(point, k) for k in range(2)])
    assert found == ["failed", [[1, 1, 1], []]]


@pytest.mark.parametrize("where", ["a fit", "a pass"])
def test_ctrl_c_ends_all(where):
    before = threading.active_count()

    def interrupted(requests):
        if where == "a pass":
            signal.raise_signal(signal.SIGINT)
        return requests

    def call():
        request_pass(interrupted, 1)
        if where == "a fit":
            signal.raise_signal(signal.SIGINT)
        return request_pass(interrupted, 1)

    with pytest.raises(KeyboardInterrupt):
        side_by_side(ROWS, [call] * 3)
    assert threading.active_count() == before
    assert side_by_side(ROWS, [partial(fit, Server(), k, 1) for k in range(2)]) == [[0], [1]]


def test_settings_reach_every_call():
    with config_context(assume_finite=True):
        found = side_by_side(ROWS, [get_config] * 2)
    assert [config["assume_finite"] for config in found] == [True, True]


def test_results_come_as_soon_as_they_are_there():
    serve = Server()
    calls = [partial(fit, serve, k, k + 1) for k in range(3)]
    results = side_by_side(ROWS, calls, return_as="generator")
    assert (next(results), serve.sizes) == ([0], [3])
    before = threading.active_count()
    results.close()
    assert (threading.active_count(), serve.sizes) == (before - 2, [3])


def test_others_go_to_joblib():
    assert side_by_side(object(), [lambda: 1, lambda: 2], n_jobs=1) == [1, 2]
