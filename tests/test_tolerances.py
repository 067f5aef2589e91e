import warnings
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from bagwise import KernelOptions, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.testing import estimators
from bagwise.tolerances import one_blas_thread
from representatives import family_of, first_of_each


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_the_limit_ends_with_its_last_user():
    before = blas_threads()

    def use(seconds):
        with one_blas_thread():
            sleep(seconds)
            return blas_threads()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(use, [0.05, 0.15])) == [{1}, {1}]
    assert blas_threads() == before


def test_threads_over_blocks_change_no_bit(monkeypatch):
    bags, y = make_gaussian_bags(n_bags=60, random_state=0)
    monkeypatch.setattr("bagwise.estimators.task.BLOCK_VALUES", 1000)
    for approximation in (None, "nystroem"):
        models = [
            WitnessSVC(kernel_options=KernelOptions(approx=approximation), n_jobs=n)
            for n in (None, 2)
        ]
        np.testing.assert_array_equal(
            *(model.fit(bags, y).instance_decision_function(bags) for model in models)
        )


@pytest.mark.parametrize("model", first_of_each(estimators(), family_of))
def test_the_number_of_threads_changes_no_bit(model):
    """Hundreds of instances of 40 features: enough for BLAS to split its sums."""
    bags, y = make_gaussian_bags(n_bags=60, n_features=40, random_state=0)
    scores = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # this is not about convergence
            scores.append(clone(model).fit(bags, y).decision_function(bags))
    np.testing.assert_array_equal(*scores)
