"""Hessians that are corrected where few curvatures changed, against fresh ones."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.designs import Dense
from reference.ridge import curvature_and_target, rows


@given(seeds=st.lists(st.integers(0, 100), min_size=2, max_size=8))
def test_updated_hessians_equal_fresh_ones(seeds):
    X = rows(300, 5)
    design = Dense(X)
    s, t = curvature_and_target(300, 0)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        changed = rng.choice(300, int(rng.choice([1, 20, 200])), replace=False)
        s = s.copy()
        s[changed] = rng.uniform(0, 5, len(changed)) * (rng.random(len(changed)) < 0.7)
        point = design.weighted_ridge(s, t, design.start(), 1e-12)
        fresh = design.fresh().weighted_ridge(s, t, design.start(), 1e-12)
        assert np.allclose(point.coef, fresh.coef, atol=1e-12)
        assert point.intercept == pytest.approx(fresh.intercept, abs=1e-12)


def test_hessians_are_corrected_not_recomputed(monkeypatch):
    X = rows(300, 5)
    design, asked = Dense(X), []
    plain = Dense.weighted_gram

    def counted(self, weights):
        asked.append(np.count_nonzero(weights))
        return plain(self, weights)

    monkeypatch.setattr(Dense, "weighted_gram", counted)
    s, t = curvature_and_target(300, 1, 0.0)
    for k in range(5):
        s = s.copy()
        s[k] = 0
        design.weighted_ridge(s, t, design.start(), 1e-12)
    assert asked == [299, 1, 1, 1, 1]
