"""Files with one bag each."""

import numpy as np
import pytest

from bagwise.io import FormatError
from bagwise.io._bagarrays import load_bag, save_bag

pytest.importorskip("h5py")

X = np.array([[1.0, -0.0], [0.1, np.nan], [3.0, 1e-300]])


def test_one_of_several_arrays_is_chosen(tmp_path):
    np.savez(tmp_path / "a.npz", left=X, feats=2 * X, place=np.arange(6).reshape(3, 2))
    np.testing.assert_array_equal(load_bag(tmp_path / "a.npz", None, None)[0], 2 * X)
    values, extra = load_bag(tmp_path / "a.npz", "left", "place")
    np.testing.assert_array_equal(values, X)
    assert extra["instance_ids"].tolist() == [(0, 1), (2, 3), (4, 5)]
    with pytest.raises(FormatError, match="has no array 'right'"):
        load_bag(tmp_path / "a.npz", "right", None)
    with pytest.raises(FormatError, match="has no array 'coords'"):
        load_bag(tmp_path / "a.npz", "left", "coords")


def test_a_key_is_ignored_by_formats_without_names(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.testing.assert_array_equal(load_bag(tmp_path / "a.npy", "features", None)[0], X)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X, "instance": [1, 2]}, "2 instance_ids for 3 instances"),
        ({"u": X, "v": X}, r"holds the arrays \['u', 'v'\]: name one"),
    ],
)
def test_arrays_that_are_no_bag_are_refused(arrays, message, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(FormatError, match=message):
        load_bag(tmp_path / "a.npz", None, None)


def test_unknown_suffixes_are_refused(tmp_path):
    with pytest.raises(FormatError, match=r"suffix '\.txt', expected one of \.npy, \.npz"):
        load_bag(tmp_path / "a.txt", None, None)
    with pytest.raises(ValueError, match=r"suffix '\.txt', expected \.npy, \.npz"):
        save_bag(tmp_path / "a.txt", X, {})
