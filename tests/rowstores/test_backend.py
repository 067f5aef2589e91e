"""Joblib's calls share passes."""

import pytest
from joblib import Parallel, delayed, parallel_config

from bagwise.rowstores.together import request_pass

SIZES = []


def serve(requests):
    SIZES.append(len(requests))
    return [request**2 for request in requests]


def call(number):
    if number < 0:
        raise ValueError("no such number")
    return request_pass(serve, number)


@pytest.mark.parametrize("pre_dispatch", ["2*n_jobs", "all", 3])
def test_calls_come_together(pre_dispatch):
    SIZES.clear()
    with parallel_config(backend="bagwise", n_jobs=3):
        found = Parallel(pre_dispatch=pre_dispatch)(delayed(call)(k) for k in range(11))
    assert found == [k**2 for k in range(11)]
    assert max(SIZES) == 3
    assert len(SIZES) <= 5


def test_errors_are_raised_and_leave_nothing_behind():
    with parallel_config(backend="bagwise", n_jobs=3):
        with pytest.raises(ValueError, match="no such number"):
            Parallel()(delayed(call)(k) for k in (1, -1, 2))
        assert Parallel()(delayed(call)(k) for k in (1, 2)) == [1, 4]
