"""Real data through every format, and what the estimators make of mapped bags."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import InstanceSVC, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.io import read, write

pytest.importorskip("pyarrow")
pytest.importorskip("h5py")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("musk1.csv.gz", {}),
        ("musk1.parquet", {}),
        ("musk1.parquet", {"nested": True}),
        ("musk1.feather", {}),
        ("musk1.arff", {}),
        ("clean1.data", {}),
        ("musk1.svm", {"style": "triple"}),
        ("musk1.mat", {}),
        ("musk1.bags", {}),
        ("musk1", {"suffix": ".npy"}),
        ("musk1", {"suffix": ".h5"}),
    ],
)
def test_musk1_loads_in_one_line(name, options, dataset, tmp_path):
    bags, y = dataset("musk1")
    write(tmp_path / name, bags, y, **options)
    back, z = read(tmp_path / name)
    X = back.X.toarray() if name.endswith("svm") else back.X
    np.testing.assert_array_equal(X, bags.X)
    np.testing.assert_array_equal(back.offsets, bags.offsets)
    np.testing.assert_array_equal(back.ids, bags.ids)
    np.testing.assert_array_equal(z, y)


@pytest.mark.parametrize("model", [InstanceSVC, WitnessSVC])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_mapped_bags_train_to_the_same_model(model, dtype, tmp_path):
    bags, y = make_gaussian_bags(40, 5, dtype=dtype)
    write(tmp_path / "b.bags", bags, y)
    mapped, labels = read(tmp_path / "b.bags")
    one = model(kernel="linear").fit(bags, y)
    other = model(kernel="linear").fit(mapped, labels)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.decision_function(bags), other.decision_function(mapped))
