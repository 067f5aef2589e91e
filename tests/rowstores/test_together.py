"""Fits in threads share what they ask for."""

from __future__ import annotations

from functools import partial

import pytest

from bagwise.rowstores.together import asked, side_by_side


class Rows:
    n_side_by_side = 4


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
    return [asked(serve, number) for _ in range(n_passes)]


def test_all_wait_for_all():
    serve = Server()
    calls = [partial(fit, serve, k, 3) for k in range(4)]
    assert side_by_side(Rows(), calls) == [[k**2] * 3 for k in range(4)]
    assert serve.sizes == [4, 4, 4]


def test_those_that_end_are_not_waited_for():
    serve = Server()
    side_by_side(Rows(), [partial(fit, serve, k, k + 1) for k in range(3)])
    assert sum(serve.sizes) == 6
    assert serve.sizes[-1] == 1


def test_no_more_than_there_is_room_for():
    serve = Server()
    calls = [partial(fit, serve, k, 2) for k in range(10)]
    assert side_by_side(Rows(), calls) == [[k**2] * 2 for k in range(10)]
    assert max(serve.sizes) == 4


def test_groups_within_groups_share_passes():
    serve = Server()

    def point(k):
        return side_by_side(Rows(), [partial(fit, serve, 10 * k + j, 2) for j in range(2)])

    found = side_by_side(Rows(), [partial(point, k) for k in range(2)])
    assert found == [[[0, 0], [1, 1]], [[100, 100], [121, 121]]]
    assert max(serve.sizes) <= 4
    assert sum(serve.sizes) == 8


def test_errors_reach_whoever_waits():
    serve = Server()
    with pytest.raises(ValueError, match="no such request"):
        side_by_side(Rows(), [partial(fit, serve, k, 1) for k in (-1, 2)])
    with pytest.raises(ZeroDivisionError):
        side_by_side(Rows(), [lambda: 1 / 0, partial(fit, serve, 2, 2)])


def test_others_go_to_joblib():
    assert side_by_side(object(), [lambda: 1, lambda: 2], n_jobs=1) == [1, 2]
