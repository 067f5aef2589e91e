"""What a file claims is compared with what it holds before memory is asked for."""

import gzip
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy.io import savemat

from bagwise.io import CorruptFileError, FormatError, _limits, read, read_mat
from bagwise.io._bagarrays import load_bag
from bagwise.io._limits import map_npy, read_npy, refuse_bomb, refuse_claim, size_of, unzip

h5py = pytest.importorskip("h5py")
HUGE = 14 << 40  # 14 TiB


def npy(shape, content=b"\0" * 80):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + content


def huge_npy(path):
    path.write_bytes(npy((HUGE // 80, 10)))


def huge_npz(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("features.npy", npy((HUGE // 80, 10)))


def bomb_npz(path):
    """The directory of the archive claims what the array claims."""
    size = 1 << 31
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("features.npy", npy((size // 80, 10)))
    content = bytearray(path.read_bytes())
    start = content.rfind(b"PK\x01\x02") + 24
    content[start : start + 4] = size.to_bytes(4, "little")
    path.write_bytes(bytes(content))


def save_npy(path):
    path.write_bytes(npy((5, 2)))


def save_npz(path):
    np.savez(path.open("wb"), np.eye(2))


def huge_h5(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("features", shape=(HUGE // 80, 10), dtype="f8", chunks=(100, 10))


def huge_mat(path):
    savemat(path, {"X": np.zeros((10, 2)), "bag": np.ones((10, 1))})
    content = path.read_bytes()
    old, new = (np.array([n, 2], "<i4").tobytes() for n in (10, 2**31 - 1))
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))


def huge_mat73(path):
    with h5py.File(path, "w", userblock_size=512) as file:
        file["bag"] = np.ones((1, 10))
        file.create_dataset("X", shape=(10, HUGE // 80), dtype="f8", chunks=(10, 100))
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


@pytest.mark.parametrize(
    ("make", "name", "message"),
    [
        (huge_npy, "a.npy", "truncated or not a .npy array"),
        (huge_npz, "a.npz", "bytes claimed, 80 there"),
        (bomb_npz, "a.npz", "claims 2147483648 bytes, which .* stored bytes"),
        (huge_h5, "a.h5", "features claims"),
        (save_npy, "a.npz", r"is truncated or not a \.npz archive"),
        (save_npz, "a.npy", r"is a \.npz archive, expected a \.npy array"),
        (huge_mat, "a.mat", "X claims|truncated"),
        (huge_mat73, "a.mat", "X claims"),
    ],
)
def test_a_claim_is_refused_before_memory_is_asked_for(make, name, message, tmp_path):
    make(tmp_path / name)
    tracemalloc.start()
    with pytest.raises(CorruptFileError, match=message):
        read_mat(tmp_path / name) if name == "a.mat" else load_bag(tmp_path / name, None, None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 24


@pytest.mark.parametrize("content", [b"0" * (1 << 20), b"a,1,0.5\n" * (1 << 17)])
def test_a_gzip_bomb_is_refused(content, tmp_path, monkeypatch):
    monkeypatch.setattr(_limits, "_UNSUSPECTED_BYTES", 1 << 16)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(content))
    with pytest.raises(CorruptFileError, match="this is no compressed table"):
        read(tmp_path / "a.csv.gz")


def test_what_compresses_well_is_no_bomb(tmp_path):
    lines = b"bag,label,f\n" + b"a,1,0.5\n" * (1 << 17)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(lines))
    assert read(tmp_path / "a.csv.gz")[0].n_instances == 1 << 17
    np.savez_compressed(tmp_path / "a.npz", features=np.zeros((1 << 17, 8)))
    assert load_bag(tmp_path / "a.npz", None, None)[0].shape == (1 << 17, 8)
    refuse_bomb(tmp_path, 100 << 28, 1 << 28)


def test_limits_are_compared_with_the_file_and_with_memory(tmp_path):
    (tmp_path / "a").write_bytes(b"12")
    refuse_claim(tmp_path / "a", "X", 2 * 1100)
    with pytest.raises(CorruptFileError, match="X claims 2201 bytes"):
        refuse_claim(tmp_path / "a", "X", 2201)
    with pytest.raises(FormatError, match=r"has .* bytes, the memory .*\. Store it as \.bags"):
        refuse_claim(tmp_path / "a", "X", 1 << 60, held=1 << 60)
    assert size_of((2**40, 2**40), 8) == 2**83


def test_npy_files_and_bytes(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(2))
    np.testing.assert_array_equal(map_npy(tmp_path / "a.npy"), np.eye(2))
    content = (tmp_path / "a.npy").read_bytes()
    np.testing.assert_array_equal(read_npy(tmp_path, "a", content), np.eye(2))
    for broken in (content[:-1], content.replace(b"(2, 2)", b"(2, [)"), b"", content + b"1"):
        with pytest.raises(CorruptFileError, match="a is not an array of numbers"):
            read_npy(tmp_path, "a", broken)


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [(8, 1, "is encrypted. Decrypt it"), (10, 14, "is compressed by method 14")],
)
def test_members_that_cannot_be_read_are_named(position, value, message, tmp_path):
    np.savez(tmp_path / "a.npz", features=np.eye(2))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[content.rfind(b"PK\x01\x02") + position] = value
    (tmp_path / "a.npz").write_bytes(bytes(content))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive, pytest.raises(FormatError, match=message):
        unzip(tmp_path / "a.npz", archive)
    with pytest.raises(FormatError, match=message):
        load_bag(tmp_path / "a.npz", None, None)
