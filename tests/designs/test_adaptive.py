"""A prepared path over a kernel design: rows dropped and taken back, folds, twins."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from bagwise.designs import Gram
from bagwise.designs.base import Point
from bagwise.designs.inverse import PreparedInverse

N = 40


@pytest.fixture(scope="module")
def kernel():
    return rbf_kernel(np.random.default_rng(0).normal(size=(N, 3)), gamma=0.2)


def wandering_curvatures(most, n, rng):
    """Curvatures of a path: rows lose theirs for good, for a while, or in part."""
    share = np.ones(len(most))
    for step in range(n):
        share = np.where(rng.random(len(most)) < 0.1, rng.random(len(most)), share)
        share = np.where(rng.random(len(most)) < 0.15, 0.0, share)
        share = np.where(rng.random(len(most)) < 0.05, 1.0, share)
        if step == n // 2:
            share = np.where(np.arange(len(most)) % 2, 0.0, share)  # half of the rows go
        if step == n - 3:
            share = np.where(rng.random(len(most)) < 0.5, 1.0, share)  # and many come back
        share[0] = 1.0
        yield share * most


def follow(prepared, plain, rng, most):
    """Walk a path on both; return the sizes of the inverses that served it."""
    sizes = set()
    here = Point(np.zeros(N), 0.0, np.zeros(N))
    for curvature in wandering_curvatures(most, 60, rng):
        target = rng.normal(size=N)
        one = prepared.weighted_ridge(curvature, target, here, 0.0)
        other = plain.weighted_ridge(curvature, target, here, 0.0)
        np.testing.assert_allclose(one.coef, other.coef, atol=1e-9)
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)
        assert one.intercept == pytest.approx(other.intercept, abs=1e-9)
        if prepared._inverse.narrow is not None:
            sizes.add(len(prepared._inverse.narrow.rows))
    return sizes


@pytest.mark.parametrize("limit", [None, 0])
def test_a_prepared_path_is_the_path(kernel, monkeypatch, limit):
    """Rows dropped, rows taken back, and (limit 0) rows inverted only once they are known."""
    if limit is not None:
        monkeypatch.setattr("bagwise.designs.adaptive._FEW_ROWS", limit)
    most, prepared = np.full(N, 4.0), Gram(kernel)
    prepared.prepare(most)
    sizes = follow(prepared, Gram(kernel), np.random.default_rng(3), most)
    assert len(sizes) > 2  # it did drop and take back


def test_paths_over_one_fold_share_narrowed_inverses_and_stay_right(kernel, monkeypatch):
    most, whole = np.full(N, 4.0), Gram(kernel)
    whole.prepare(most)
    fold = whole.subset(np.arange(0, N - 4))
    schur = PreparedInverse.restricted
    counts = []

    def counted(self, keep):
        counts[-1] += 1
        return schur(self, keep)

    monkeypatch.setattr(PreparedInverse, "restricted", counted)
    for seed in (3, 3, 4):
        counts.append(0)
        follow(fold.twin(), Gram(fold.K), np.random.default_rng(seed), most[: N - 4])
    assert counts[1] < counts[0]  # the same path again finds what it needs on the shelf
    assert fold._inverse.shelf
    assert whole._inverse.shelf is None


def test_twins_share_the_inverse_and_not_the_memory(kernel):
    whole = Gram(kernel)
    whole.prepare(np.full(N, 4.0))
    twin = whole.twin()
    assert twin._inverse.whole is whole._inverse.whole
    here, half = Point(np.zeros(N), 0.0, np.zeros(N)), np.where(np.arange(N) < 20, 4.0, 0.0)
    for _ in range(20):
        twin.weighted_ridge(half, np.ones(N), here, 0.0)
    assert len(twin._inverse.narrow.rows) == 20
    assert len(whole._inverse.narrow.rows) == N
    assert not whole.fresh().prepared
