"""Files are opened with named errors, believed only what they can hold, replaced as a whole."""

import errno
import gzip
import os
import stat
import tracemalloc
import zipfile
from functools import cache

import numpy as np
import pytest
from scipy.io import savemat

import bagwise
from bagwise import Bags, io
from bagwise.io import CorruptFileError, FormatError, _files, read, read_mat
from bagwise.io._bagarrays import load_bag
from bagwise.io._files import (
    map_npy,
    open_source,
    read_npy,
    refuse_bomb,
    refuse_claim,
    replacing,
    require,
    size_of,
    unzip,
    write_text,
    writing,
)
from faults import after_every_fault, faulty, snapshot, strays

h5py = pytest.importorskip("h5py")
HUGE = 14 << 40  # 14 TiB
FAULTS = ("kill", errno.ENOSPC)


# Reading ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_gzip_is_recognized_by_its_bytes(compress, tmp_path):
    (tmp_path / "a").write_bytes(compress("\ufefftext\n".encode()))
    with open_source(tmp_path / "a") as file:
        assert file.read() == "text\n"
    with pytest.raises(FormatError, match="is a folder, expected a file"), open_source(tmp_path):
        pass


def test_damage_is_named_before_the_text_that_it_spoils(tmp_path):
    whole = gzip.compress(b"text" * 1000)
    (tmp_path / "a").write_bytes(whole[:-8] + b"12345678")

    def parse():
        with open_source(tmp_path / "a") as file:
            file.readline(4)
            raise FormatError("a", "makes no sense.")

    with pytest.raises(CorruptFileError, match="damaged"):
        parse()


def test_what_is_missing_is_named_with_its_extra():
    require("numpy", "io")
    with pytest.raises(ImportError, match=r"needs no_such_module: pip install 'bagwise\[io\]'"):
        require("no_such_module", "io")


def test_text_is_compressed_by_name_and_without_a_date(tmp_path):
    for name in ("a.txt.gz", "b.txt.gz", "c.txt"):
        with write_text(tmp_path / name) as file:
            file.write("ü\n")
    first, second = ((tmp_path / name).read_bytes() for name in ("a.txt.gz", "b.txt.gz"))
    assert first == second
    assert gzip.decompress(first) == (tmp_path / "c.txt").read_bytes() == "ü\n".encode()


# What a file may claim ----------------------------------------------------------------------------


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
    monkeypatch.setattr(_files, "_UNSUSPECTED_BYTES", 1 << 16)
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


# Writing ------------------------------------------------------------------------------------------


def bags_of(scale):
    rows = np.arange(1.0, 7.0).reshape(3, 2) * scale
    return Bags.from_list([rows[:2], rows[2:]], ids=["a", "b"])


@cache
def fitted(scale):
    return bagwise.WitnessSVC(kernel="linear", C=scale).fit(bags_of(1.0), [1, 0])


WRITERS = {
    name: lambda path, scale: io.write(path, bags_of(scale), [1, 0])
    for name in ("b.csv.gz", "b.arff", "b.parquet", "b.arrow", "b.svm", "b.mat")
} | {
    "b.bags": lambda path, scale: io.write_bags(path, bags_of(scale), [1, 0], overwrite=True),
    "b.data": lambda path, scale: io.write_c45(path, bags_of(scale), [1, 0]),
    "b.bagwise": lambda path, scale: bagwise.save(fitted(scale), path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_old_output_or_the_new_one(name, tmp_path):
    write, folder = WRITERS[name], tmp_path / "folder"
    folder.mkdir()
    expected = []
    for scale in (1.0, 2.0):
        write(folder / name, scale)
        expected.append(snapshot(folder))
    assert expected[0] != expected[1]
    path, seen = folder / name, set()
    rounds = after_every_fault(folder, lambda: write(path, 1.0), lambda: write(path, 2.0), FAULTS)
    for at, fault, outcome in rounds:
        found = snapshot(folder)
        if name == "b.data" and found not in expected:  # a kill between the renames of two files
            with pytest.raises(io.CorruptFileError, match=r"not written together with b\.data"):
                io.read(path)
            continue
        assert found in expected, (at, fault)
        seen.add((fault, found == expected[1]))
        if fault != "kill":
            assert isinstance(outcome, OSError), (at, fault)
            assert outcome.errno == fault
    assert {(fault, False) for fault in FAULTS} < seen  # and one fault, at least, came too late


@pytest.mark.parametrize(
    ("name", "write"), [("b", io.write_folder), ("b", io.write_slides), ("b.xlsx", io.write_excel)]
)
def test_one_file_per_bag_and_workbooks(name, write, tmp_path):
    folder, path = tmp_path / "folder", tmp_path / "folder" / name
    folder.mkdir()

    def write_new():
        write(path, bags_of(1.0), [1, 0])

    for at, fault, _ in after_every_fault(folder, lambda: None, write_new, FAULTS):
        if path.exists():
            back, _ = io.read(path)
            np.testing.assert_array_equal(back.X, bags_of(1.0).X, err_msg=f"{at} {fault}")
        assert strays(folder, path.name) == []
    assert path.exists()  # the last fault comes after the rename


def test_a_full_disk_names_the_file_that_was_asked_for(tmp_path, monkeypatch):
    path = tmp_path / "b.bags"
    io.write_bags(path, bags_of(1.0))

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device; .* nothing was changed.*b\.bags"):
        io.write_bags(path, bags_of(2.0), overwrite=True)
    assert os.listdir(tmp_path) == ["b.bags"]
    np.testing.assert_array_equal(io.read_bags(path)[0].X, bags_of(1.0).X)


def test_errors_of_other_files_keep_their_name(tmp_path):
    with pytest.raises(FileNotFoundError, match="elsewhere"), replacing(tmp_path / "a"):
        (tmp_path / "elsewhere").read_bytes()
    with pytest.raises(OSError, match="no number"), replacing(tmp_path / "a"):
        raise OSError("no number")


@pytest.mark.parametrize("name", WRITERS)
def test_a_read_only_folder_is_an_error_that_names_the_output(name, tmp_path):
    said = r"Read-only file system.*" + name.split(".")[0]
    with pytest.raises(OSError, match=said), faulty(tmp_path, 1, errno.EROFS):
        WRITERS[name](tmp_path / name, 1.0)
    assert os.listdir(tmp_path) == []


def test_everything_reaches_the_disk_before_it_is_renamed(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)

        def called(*arguments, name=name, real=real):
            of = os.readlink(f"/proc/self/fd/{arguments[0]}") if name == "fsync" else arguments[1]
            calls.append((name, os.path.basename(of)))
            return real(*arguments)

        monkeypatch.setattr(os, name, called)
    with writing(tmp_path / "a") as file:
        file.write(b"new")
    (first, part), second, third = calls
    assert (first, part[:9]) == ("fsync", ".bagwise-")
    assert [second, third] == [("replace", "a"), ("fsync", tmp_path.name)]


def test_a_link_stays_a_link_and_a_file_keeps_its_permissions(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    with writing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640


def test_folders_are_swap_where_the_system_has_no_call_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "_swap", lambda new, old: False)
    io.write_bags(tmp_path / "b.bags", bags_of(1.0))
    io.write_bags(tmp_path / "b.bags", bags_of(2.0), overwrite=True)
    np.testing.assert_array_equal(io.read_bags(tmp_path / "b.bags")[0].X, bags_of(2.0).X)
    assert os.listdir(tmp_path) == ["b.bags"]
    real = os.rename

    def rename(source, target):
        if str(target).endswith("b.bags") and ".old" not in str(source):
            raise OSError(errno.EIO, "Input/output error", str(source))
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(OSError, match="Input/output error"):
        io.write_bags(tmp_path / "b.bags", bags_of(3.0), overwrite=True)
    np.testing.assert_array_equal(io.read_bags(tmp_path / "b.bags")[0].X, bags_of(2.0).X)
    assert os.listdir(tmp_path) == ["b.bags"]


def test_a_file_never_replaces_a_folder(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "precious").write_text("text")
    with pytest.raises(OSError, match="a"), write_text(tmp_path / "a") as file:
        file.write("text")
    assert (tmp_path / "a" / "precious").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
