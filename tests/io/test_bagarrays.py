"""Files with one bag each."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise.io import CorruptFileError, FormatError, MixedTypeError
from bagwise.io._bagarrays import load_bag, save_bag

pytest.importorskip("h5py")

X = np.array([[1.0, -0.0], [0.1, np.nan], [3.0, 1e-300]])


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5", ".csv"])
@pytest.mark.parametrize("rows", [X, sp.csr_array(np.eye(3, 2)), X.astype(np.float32)])
def test_instances_come_back(suffix, rows, tmp_path):
    save_bag(tmp_path / f"a{suffix}", rows, {})
    values, extra = load_bag(tmp_path / f"a{suffix}", None, None)
    np.testing.assert_array_equal(values, rows.toarray() if sp.issparse(rows) else rows)
    assert extra == {}
    assert values.dtype == (np.float64 if suffix == ".csv" else rows.dtype)


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
def test_attributes_come_back(suffix, tmp_path):
    extra = {"instance_label": np.array([0, 1, 0]), "instance": np.array(["u", "v", "ü"])}
    save_bag(tmp_path / f"a{suffix}", X, extra)
    _, found = load_bag(tmp_path / f"a{suffix}", None, None)
    assert found["instance_labels"].tolist() == [0, 1, 0]
    assert found["instance_ids"].tolist() == ["u", "v", "ü"]


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
    ("name", "arrays", "error", "message"),
    [
        ("a.npz", {"x": np.ones(3)}, FormatError, r"has shape \(3,\)"),
        ("a.npz", {"x": np.array([["a"]])}, MixedTypeError, "holds <U1, expected numbers"),
        ("a.npz", {"x": X, "instance": [1, 2]}, FormatError, "2 instance_ids for 3 instances"),
        ("a.npz", {"u": X, "v": X}, FormatError, r"holds the arrays \['u', 'v'\]: name one"),
    ],
)
def test_arrays_that_are_no_bag_are_refused(name, arrays, error, message, tmp_path):
    np.savez(tmp_path / name, **arrays)
    with pytest.raises(error, match=message):
        load_bag(tmp_path / name, None, None)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5"])
def test_other_contents_are_refused(suffix, tmp_path):
    (tmp_path / f"a{suffix}").write_bytes(b"not what the name says")
    with pytest.raises(CorruptFileError, match="is truncated or not"):
        load_bag(tmp_path / f"a{suffix}", None, None)


def test_unknown_suffixes_are_refused(tmp_path):
    with pytest.raises(FormatError, match=r"suffix '\.txt', expected one of \.npy, \.npz"):
        load_bag(tmp_path / "a.txt", None, None)
    with pytest.raises(ValueError, match=r"suffix '\.txt', expected \.npy, \.npz"):
        save_bag(tmp_path / "a.txt", X, {})
