"""Rows on a device of PyTorch; the CPU is one."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import Bags
from bagwise.rowstores import RowStore

pytestmark = pytest.mark.torch


def made(dtype=np.float32):
    X = np.random.default_rng(0).normal(size=(10, 3)).astype(dtype)
    return Bags(X, [0, 3, 4, 10], ids=["a", "b", "c"])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rows_come_back_as_they_went(dtype):
    bags = made(dtype)
    moved = bags.to("cpu")
    assert isinstance(moved.X, RowStore)
    assert moved.dtype == dtype
    np.testing.assert_array_equal(np.asarray(moved.X), bags.X)
    np.testing.assert_array_equal(moved.to("host").X, bags.X)


def test_slices_stay_on_the_device():
    bags = made()
    moved = bags.to("cpu")
    for key in (slice(1, 3), [2, 0], np.array([True, False, True])):
        part = moved[key]
        assert isinstance(part.X, RowStore)
        np.testing.assert_array_equal(np.asarray(part.X), bags[key].X)
        assert part.ids.tolist() == bags[key].ids.tolist()
    np.testing.assert_array_equal(moved[1], bags[1])


def test_bfloat16_becomes_float32_where_it_leaves():
    import torch

    from bagwise.rowstores.device import DeviceRows

    rows = DeviceRows(torch.ones(2, 2, dtype=torch.bfloat16))
    assert rows.dtype == np.float32
    assert np.asarray(rows).dtype == np.float32


def test_nan_is_refused_as_on_the_host():
    from bagwise import InstanceSVC

    bags = made()
    X = bags.X.copy()
    X[3, 1] = np.nan
    moved = bags.replace(X=X).to("cpu")
    assert not moved.X.is_finite
    with pytest.raises(ValueError, match=r"Bag 1 \(id 'b'\) contains NaN.*feature 1"):
        InstanceSVC(kernel="linear").fit(moved, [0, 1, 0])


def test_places_are_named():
    import scipy.sparse as sp
    import torch

    with pytest.raises(ValueError, match="Unknown place 'gpu'"):
        made().to("gpu")
    sparse = Bags(sp.csr_array(np.eye(3)), [0, 1, 3])
    with pytest.raises(ValueError, match="Sparse instances cannot be moved"):
        sparse.to("cpu")
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="sees no GPU"):
            made().to("cuda")


@pytest.mark.parametrize("name", ["CitationKNN", "MeanSVC", "SemiProximalSVC", "StatisticsForest"])
def test_other_estimators_bring_the_rows_back(name):
    import bagwise
    from bagwise.datasets import make_gaussian_bags

    bags, y = make_gaussian_bags(12, 3, shift=3.0, random_state=0)
    model = getattr(bagwise, name)().fit(bags, y)
    scores = model.decision_function(bags)
    np.testing.assert_array_equal(
        model.fit(bags.to("cpu"), y).decision_function(bags.to("cpu")), scores
    )
