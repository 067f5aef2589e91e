"""MATLAB files of versions 5 and 7.3, as other programs write them."""

import struct
import zlib

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import loadmat, savemat

from bagwise import Bags
from bagwise.io import CorruptFileError, FormatError, read, write
from bagwise.io.matlab import _check_mat

h5py = pytest.importorskip("h5py")


def test_andrews_matlab_variables(tmp_path):
    variables = {
        "features": sp.csc_array(np.array([[1.0, 0], [0, 2], [3, 0]])),
        "bag_ids": np.array([[1, 1, 2]]),
        "labels": sp.csc_array(np.array([[1.0, 1, -1]])),
    }
    savemat(tmp_path / "fox.mat", variables)
    bags, y = read(tmp_path / "fox.mat")
    np.testing.assert_array_equal(bags.X.toarray(), [[1, 0], [0, 2], [3, 0]])
    assert (bags.ids.tolist(), y.tolist()) == ([1, 2], [1, -1])


def write_73(path, **variables):
    """Write the layout that MATLAB documents: HDF5 behind a text header."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            if sp.issparse(value):
                group = file.create_group(name)
                group.attrs["MATLAB_sparse"] = np.uint64(value.shape[0])
                group["data"], group["ir"], group["jc"] = value.data, value.indices, value.indptr
            else:
                file[name] = h5py.SoftLink("/nowhere") if value is None else value
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


@pytest.mark.parametrize("store", [np.transpose, sp.csc_array], ids=["dense", "sparse"])
def test_matlab_7_3(store, tmp_path):
    path, X = tmp_path / "b.mat", np.array([[1.0, 0], [0, 2], [3, 0]])
    note = np.frombuffer("text".encode("utf-16-le"), np.uint16)
    labels, bag = np.array([[1.0, 1, -1]]), np.array([[1.0, 1, 2]])
    write_73(path, X=store(X), bag_ids=bag, labels=labels, note=note)
    bags, y = read(path)
    np.testing.assert_array_equal(bags.X.toarray() if sp.issparse(bags.X) else bags.X, X)
    assert (bags.ids.tolist(), y.tolist()) == ([1, 2], [1, -1])


def test_variables_can_be_named_and_bags_scattered(tmp_path):
    savemat(tmp_path / "b.mat", {"A": np.eye(3), "which": [5, 6, 5], "truth": [[1], [0], [1]]})
    bags, y = read(tmp_path / "b.mat", bag="which", label="truth", X="A", regroup=True)
    np.testing.assert_array_equal(bags.X, np.eye(3)[[0, 2, 1]])
    assert (bags.ids.tolist(), y.tolist()) == ([5, 6], [1, 0])
    with pytest.raises(FormatError, match="has no variable missing; it has A, which, truth"):
        read(tmp_path / "b.mat", bag="which", label="missing", X="A", regroup=True)
    with pytest.raises(FormatError, match="is used as bag and as label"):
        read(tmp_path / "b.mat", bag="which", label="which")
    with pytest.raises(FormatError, match=r"MATLAB has no float16: convert X with \.astype"):
        write(tmp_path / "c.mat", Bags.from_list([np.ones((1, 1), np.float16)]))
    assert not (tmp_path / "c.mat").exists()


def test_labels_may_be_per_bag_or_per_instance_and_texts(tmp_path):
    for y in (["yes", "no"], ["yes", "yes", "no"]):
        savemat(tmp_path / "b.mat", {"X": np.eye(3), "bag": [1, 1, 2], "y": np.array(y)})
        assert read(tmp_path / "b.mat")[1].tolist() == ["yes", "no"]


def sparse_5(path, X):
    good = sp.csc_array(np.eye(4, 3))
    savemat(path, {"X": good, "bag": np.array([[1, 1, 2, 2]])}, do_compression=False)
    content, old = path.read_bytes(), np.arange(3, dtype="<i4").tobytes()
    at = content.index(old)  # the rows come first in the file, then the pointers
    new = X.indices.astype("<i4").tobytes()
    content = content[:at] + new + content[at + len(new) :]
    old, new = (m.indptr.astype("<i4").tobytes() for m in (good, X))
    path.write_bytes(content.replace(old, new))


def sparse_73(path, X):
    write_73(path, X=X, bag=np.array([[1.0], [1.0], [2.0], [2.0]]))


@pytest.mark.parametrize("write_sparse", [sparse_5, sparse_73])
@pytest.mark.parametrize(
    ("part", "value"), [("indices", 10**8), ("indices", -1), ("indptr", 10**8)]
)
def test_sparse_indices_outside_of_the_matrix_are_refused(write_sparse, part, value, tmp_path):
    X = sp.csc_array(np.eye(4, 3))
    write_sparse(tmp_path / "a.mat", X)
    np.testing.assert_array_equal(read(tmp_path / "a.mat")[0].X.toarray(), np.eye(4, 3))
    getattr(X, part)[1] = value
    write_sparse(tmp_path / "a.mat", X)
    with pytest.raises(CorruptFileError, match=r"a\.mat: is .*The sparse matrix is damaged"):
        read(tmp_path / "a.mat")


@pytest.mark.parametrize("value", [1e300, np.inf, -np.inf, np.nan, 2.0**53 + 2])
@pytest.mark.parametrize("role", ["bag", "y", "groups"])
def test_numbers_that_cannot_be_told_apart_are_no_names(role, value, tmp_path):
    variables = {"X": np.eye(2), "bag": np.array([[1.0, 2.0]])}
    savemat(tmp_path / "a.mat", variables | {role: np.array([[3.0, value]])})
    with pytest.raises(FormatError, match=r"entry 2 of the .*expected finite numbers up to 2.53"):
        read(tmp_path / "a.mat")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("X", None, "column 'X': cannot be opened"),
        ("X", np.dtype("f8"), "column 'X': is not a matrix that can be read"),
        ("X", np.ones((1, 2), np.longdouble), "column 'X': holds float128"),
        ("X", np.ones((0, 2)), r"column 'X': has shape \(2, 0\)"),
        ("X", np.ones(2), r"column 'X': has shape \(2,\)"),
        ("priors", np.ones((1, 3)), "not a MATLAB file .*priors"),
    ],
)
def test_odd_variables_of_7_3_are_named(name, value, message, tmp_path):
    write_73(tmp_path / "a.mat", **{"X": np.ones((1, 2)), "bag": [[1.0, 2.0]], name: value})
    with pytest.raises(FormatError, match=rf"a\.mat.*{message}"):
        read(tmp_path / "a.mat")


@pytest.mark.parametrize("error", [UnboundLocalError, ZeroDivisionError, IndexError])
def test_what_scipy_raises_is_named(error, tmp_path, monkeypatch):
    def fail(source):
        raise error("odd")

    savemat(tmp_path / "a.mat", {"X": np.eye(2), "bag": [[1], [2]]})
    monkeypatch.setattr("scipy.io.loadmat", fail)
    with pytest.raises(CorruptFileError, match=r"a\.mat: is truncated .*odd"):
        read(tmp_path / "a.mat")


# Elements of version 5 ---------------------------------------------------------------------------

CELLS = np.array([["a", np.eye(2)], [np.empty((0, 0)), 1 + 2j]], dtype=object)
VARIABLES = {
    "X": np.arange(6.0).reshape(3, 2),
    "sparse": sp.csc_array(np.eye(3)),
    "logical": sp.csc_array(np.eye(3, dtype=bool)),
    "complex": np.array([[1 + 2j]]),
    "text": np.array(["ab", "\xfcb"]),
    "cells": CELLS,
    "bytes": np.arange(3, dtype=np.uint8),
    "none": np.zeros((0, 2)),
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("name", VARIABLES)
def test_sound_files_pass_unchanged(name, compressed, tmp_path):
    path = tmp_path / "a.mat"
    savemat(path, {name: VARIABLES[name]}, do_compression=compressed)
    checked, left_out = _check_mat(path)
    np.testing.assert_equal(str(loadmat(checked)), str(loadmat(path)))
    assert left_out == []


def test_other_versions_are_left_to_others(tmp_path):
    savemat(tmp_path / "a.mat", {"X": np.eye(2)}, format="4")
    assert _check_mat(tmp_path / "a.mat") == (tmp_path / "a.mat", [])


def test_variables_of_other_kinds_are_left_out_and_never_used(tmp_path):
    nested = np.empty(1, dtype=object)
    nested[0] = CELLS
    others = {"struct": {"one": 1}, "cells": nested, "cube": np.ones((2, 2, 2))}
    savemat(tmp_path / "a.mat", {"X": np.eye(2), "bag": [[1], [2]], **others})
    assert read(tmp_path / "a.mat")[0].sizes.tolist() == [1, 1]
    for name in others:
        with pytest.raises(FormatError, match=f"column '{name}': is not a matrix that can be read"):
            read(tmp_path / "a.mat", label=name)


def _element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def _matrix(flags=6, shape=(2, 1), name=(1, b"X"), kind=9, data=bytes(16), more=b""):
    head = _element(6, struct.pack("<II", flags, 0)) + _element(5, struct.pack("<2i", *shape))
    return _element(14, head + _element(*name) + _element(kind, data) + more)


def _save(path, *elements):
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    path.write_bytes(header + b"".join(elements))
    return path


def test_a_file_made_by_hand_is_sound(tmp_path):
    for made in (_matrix(), struct.pack("<II", 15, len(c := zlib.compress(_matrix()))) + c):
        assert loadmat(_check_mat(_save(tmp_path / "a.mat", made))[0])["X"].shape == (2, 1)


BOMB = zlib.compress(struct.pack("<II", 14, 1 << 31) + bytes(100))
WRONG = {
    "type of the data": (_matrix(kind=200), "elements of types .'200'."),
    "type of the top": (_element(9, bytes(8)), "an element of type f8, expected a matrix"),
    "type of the name": (_matrix(name=(77, b"X")), "elements of types .'i4', '77'"),
    "class": (_matrix(flags=99), "class 99"),
    "shape": (_matrix(shape=(3, 1)), r"numbers for a matrix of shape .3, 1."),
    "huge shape": (_matrix(shape=(1 << 30, 1 << 30)), "numbers for a matrix"),
    "negative shape": (_matrix(shape=(-2, -1)), "a matrix of shape .-2, -1."),
    "complex": (_matrix(flags=0x806), "elements of types .'f8'."),
    "too many": (_matrix(more=_element(9, bytes(16))), "elements of types .'f8', 'f8'."),
    "sparse": (_matrix(flags=5), "elements of types .'f8'."),
    "cells": (_matrix(flags=1, kind=14, data=b""), "1 cells, expected 2"),
    "end": (_matrix()[:-8], "an element claims"),
    "empty": (_element(14, b""), "not enough values"),
    "bomb": (struct.pack("<II", 15, len(BOMB)) + BOMB, "2147483648 bytes, which .* stored bytes"),
    "deflate": (struct.pack("<II", 15, 9) + bytes(9), "unknown compression method"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_elements_are_refused_before_scipy_sees_them(what, tmp_path, monkeypatch):
    made, message = WRONG[what]
    monkeypatch.setattr("scipy.io.whosmat", lambda source: pytest.fail("SciPy saw it"))
    with pytest.raises(CorruptFileError, match=rf"a\.mat: .*{message}"):
        read(_save(tmp_path / "a.mat", made))


def test_deep_cells_are_left_out(tmp_path):
    made = _matrix()
    for _ in range(2000):
        made = _matrix(flags=1, shape=(1, 1), kind=14, data=made[8:])
    assert _check_mat(_save(tmp_path / "a.mat", made))[1] == ["X"]
