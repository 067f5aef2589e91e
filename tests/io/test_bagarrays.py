"""Files with one bag each."""

import numpy as np
import pytest

from bagwise.io import FormatError, read
from bagwise.io._bagarrays import load_bag, save_bag

h5py = pytest.importorskip("h5py")

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


def test_numbers_of_more_than_eight_bytes_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", X.astype(np.longdouble))
    with pytest.raises(FormatError, match=r"a\.npy: holds .*, expected numbers"):
        load_bag(tmp_path / "a.npy", None, None)


# HDF5 --------------------------------------------------------------------------------------------


def save_bfloat16(file):
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_size(2)
    kind.set_ebias(127)
    with h5py.File(file, "w") as archive:
        made = h5py.h5d.create(archive.id, b"features", kind, h5py.h5s.create_simple((4, 3)))
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(12, dtype="f4").reshape(4, 3))


@pytest.mark.parametrize("mapped", [False, True])
def test_what_numpy_does_not_have_is_converted_and_not_mapped(tmp_path, mapped):
    save_bfloat16(tmp_path / "a.h5")
    values, _ = load_bag(tmp_path / "a.h5", None, None, mapped)
    assert not isinstance(values, np.memmap)
    np.testing.assert_array_equal(values, np.arange(12.0).reshape(4, 3))


@pytest.mark.parametrize("kind", ["<f2", ">f4", "<f8", "u1", "?"])
def test_plain_types_are_mapped(tmp_path, kind):
    with h5py.File(tmp_path / "A.H5", "w", userblock_size=512) as archive:
        archive["features"] = np.eye(3, dtype=kind)
    values, _ = load_bag(tmp_path / "A.H5", None, None, True)
    assert isinstance(values, np.memmap)
    np.testing.assert_array_equal(values, np.eye(3))


def link(archive):
    archive["features"] = h5py.ExternalLink("other.h5", "features")


def link_below(archive):
    archive["more/deep"] = h5py.ExternalLink("other.h5", "features")
    archive["features"] = X


def store_outside(archive):
    outside = [("secret.bin", 0, 48)]
    archive.create_dataset("features", (3, 2), "f8", external=outside)


def make_virtual(archive):
    layout = h5py.VirtualLayout((3, 2), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "features", (3, 2))
    archive.create_virtual_dataset("features", layout)


@pytest.mark.parametrize("suffix", ["h5", "mat", "h5ad"])
@pytest.mark.parametrize("make", [link, link_below, store_outside, make_virtual])
def test_other_files_are_not_read(tmp_path, suffix, make, monkeypatch):
    if suffix == "h5ad":
        pytest.importorskip("anndata")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.bin").write_bytes(b"secret" * 8)
    with h5py.File(tmp_path / "other.h5", "w") as archive:
        archive["features"] = X
    with h5py.File(tmp_path / f"a.{suffix}", "w", userblock_size=512) as archive:
        make(archive)
    if suffix == "mat":
        head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
        content = (tmp_path / "a.mat").read_bytes()
        (tmp_path / "a.mat").write_bytes(head + content[128:])
    with pytest.raises(FormatError, match="lies in another file, which is not read"):
        read(tmp_path / f"a.{suffix}")


def test_only_needed_arrays_are_read_and_all_must_be_stored(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as archive:
        archive["features"] = X
        archive["note"] = h5py.Empty("f8")
        for i in range(100):
            archive.create_dataset(f"unwritten{i}", (10**6, 10), "f8")
    np.testing.assert_array_equal(load_bag(tmp_path / "a.h5", None, None)[0], X)
    with pytest.raises(FormatError, match="unwritten7 claims 80000000 bytes, which 0 stored"):
        load_bag(tmp_path / "a.h5", "unwritten7", None)
    with h5py.File(tmp_path / "a.h5", "a") as archive:
        archive.create_dataset("coords", (3, 2), "i4")  # small, but never written
    with pytest.raises(FormatError, match="coords claims 24 bytes"):
        load_bag(tmp_path / "a.h5", None, None)


# Tensors -----------------------------------------------------------------------------------------


@pytest.mark.torch
def test_tensors_of_all_kinds_are_read_or_refused_by_name(tmp_path):
    import torch

    tensor, file = torch.arange(6.0).reshape(3, 2), tmp_path / "a.pt"
    exact = [tensor.clone().requires_grad_(), torch.nn.Parameter(tensor), tensor.T.contiguous().T]
    exact += [tensor.to(getattr(torch, kind)) for kind in ("bfloat16", "float8_e4m3fn", "int8")]
    for each in [*exact, {"features": tensor, "other": tensor.to_sparse()}]:
        torch.save(each, file)
        np.testing.assert_array_equal(load_bag(file, None, None)[0], tensor.numpy())
    refused = {
        "sparse": tensor.to_sparse(),
        "24 bytes of which 4 are": torch.ones(1).expand(3, 2),
        r"holds the arrays \[\]": {"a": 1},
    }
    for message, each in refused.items():
        torch.save(each, file)
        with pytest.raises(FormatError, match=rf"a\.pt: .*{message}"):
            load_bag(file, None, None)


@pytest.mark.torch
def test_an_expanded_tensor_takes_no_memory(tmp_path):
    import torch

    torch.save(torch.zeros(1).expand(10**9, 10), tmp_path / "a.pt")
    assert (tmp_path / "a.pt").stat().st_size < 5000
    with pytest.raises(FormatError, match="40000000000 bytes of which 4 are stored"):
        load_bag(tmp_path / "a.pt", None, None)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("new", [True, False])
def test_damaged_tensors_are_named(tmp_path, new):
    import torch

    file, rng = tmp_path / "a.pt", np.random.default_rng(0)
    options = {"_use_new_zipfile_serialization": new}
    torch.save({"features": torch.arange(6.0).reshape(3, 2)}, file, **options)
    content, errors = file.read_bytes(), []
    for _ in range(200):
        damaged = bytearray(content)
        for i in rng.integers(0, len(content), 4):
            damaged[i] = rng.integers(256)
        file.write_bytes(damaged if rng.random() < 0.7 else damaged[: rng.integers(len(content))])
        try:
            load_bag(file, None, None)
        except FormatError as error:
            errors.append(str(error))
    assert len(errors) > 30
    assert all("a.pt: " in error for error in errors)
