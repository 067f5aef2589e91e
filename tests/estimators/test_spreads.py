"""Features of very different spreads are named before a kernel compares them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import MILES, BagKernelSVC, Bags, PerInstance, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.errors import ScaleWarning
from bagwise.estimators.spreads import far_apart, feature_spreads

BAGS, Y = make_gaussian_bags(20, 3, bag_size=4)
FAR = BAGS.replace(X=BAGS.X * [1.0, 1.0, 1e4], feature_names=["a", "texture", "area"])


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_spreads_are_standard_deviations(store):
    bags = BAGS.replace(X=store(BAGS.X))
    np.testing.assert_allclose(feature_spreads(bags), np.asarray(BAGS.X).std(axis=0))


def test_many_instances_are_sampled():
    many = Bags(np.tile([[0.0], [2.0], [0.0]], (5000, 1)), [0, 15000])
    assert feature_spreads(many)[0] == pytest.approx(0.94, abs=0.1)


@pytest.mark.parametrize(
    ("spreads", "found"),
    [
        ([1.0, 2.0, 999.0], None),
        ([1.0, 0.5, 1001.0], (1, 2)),
        ([0.0, 1.0, 5.0], None),  # a constant feature is not a small one
        ([1e-14, 1.0, 5.0], None),  # nor is rounding
        ([0.0, 0.0], None),
    ],
)
def test_a_thousand_is_far(spreads, found):
    assert far_apart(np.array(spreads)) == found


@pytest.mark.parametrize("model", [WitnessSVC(), BagKernelSVC(), MILES()], ids=repr)
def test_kernels_of_distances_warn(model):
    with pytest.warns(ScaleWarning, match="Feature 'area' varies more than 1,000 times as much"):
        model.fit(FAR, Y)


@pytest.mark.parametrize(
    "model",
    [WitnessSVC(kernel="linear"), make_pipeline(PerInstance(StandardScaler()), WitnessSVC())],
    ids=["linear", "scaled"],
)
def test_linear_and_scaled_models_are_silent(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        model.fit(FAR, Y)
