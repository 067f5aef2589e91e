"""Writing: after any fault there is the old output or the new one, never a third thing."""

import errno
import os
import stat
from functools import cache

import numpy as np
import pytest

import bagwise
from bagwise import Bags, io
from bagwise.io import _atomic
from bagwise.io._atomic import replacing, writing
from bagwise.io._source import write_text
from faults import after_every_fault, faulty, snapshot, strays

FAULTS = ("kill", errno.ENOSPC)


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
    monkeypatch.setattr(_atomic, "_swap", lambda new, old: False)
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
