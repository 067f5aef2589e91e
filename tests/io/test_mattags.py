"""Elements of MATLAB 5 files, checked before SciPy reads them."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import loadmat, savemat

from bagwise.io import CorruptFileError, read
from bagwise.io._mattags import check_mat

CELLS = np.array([["a", np.eye(2)], [np.empty((0, 0)), 1 + 2j]], dtype=object)
VARIABLES = {
    "X": np.arange(6.0).reshape(3, 2),
    "sparse": sp.csc_array(np.eye(3)),
    "logical": sp.csc_array(np.eye(3, dtype=bool)),
    "complex": np.array([[1 + 2j]]),
    "text": np.array(["ab", "\xfcb"]),
    "cells": CELLS,
    "struct": {"one": 1, "two": {"three": "x"}},
    "bytes": np.arange(3, dtype=np.uint8),
    "none": np.zeros((0, 2)),
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("name", VARIABLES)
def test_sound_files_pass_unchanged(name, compressed, tmp_path):
    path = tmp_path / "a.mat"
    savemat(path, {name: VARIABLES[name]}, do_compression=compressed)
    np.testing.assert_equal(str(loadmat(check_mat(path))), str(loadmat(path)))


def test_other_versions_are_left_to_others(tmp_path):
    savemat(tmp_path / "a.mat", {"X": np.eye(2)}, format="4")
    assert check_mat(tmp_path / "a.mat") is None


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
        assert loadmat(check_mat(_save(tmp_path / "a.mat", made)))["X"].shape == (2, 1)


BOMB = zlib.compress(struct.pack("<II", 14, 1 << 31) + bytes(100))
WRONG = {
    "type of the data": (_matrix(kind=200), "elements of types .200."),
    "type of the top": (_element(9, bytes(8)), "an element of type 9, expected a matrix"),
    "type of the name": (_matrix(name=(77, b"X")), "elements of types .5, 77"),
    "class": (_matrix(flags=99), "class 99"),
    "shape": (_matrix(shape=(3, 1)), r"numbers for a matrix of shape .3, 1."),
    "huge shape": (_matrix(shape=(1 << 30, 1 << 30)), "numbers for a matrix"),
    "negative shape": (_matrix(shape=(-2, -1)), "a matrix of shape .-2, -1."),
    "complex": (_matrix(flags=0x806), "elements of types .9."),
    "too many": (_matrix(more=_element(9, bytes(16))), "elements of types .9, 9."),
    "sparse": (_matrix(flags=5), "elements of types .9."),
    "cells": (_matrix(flags=1, kind=14, data=b""), "1 cells, expected 2"),
    "end": (_matrix()[:-8], "an element claims"),
    "empty": (_element(14, b""), "not enough values"),
    "bomb": (struct.pack("<II", 15, len(BOMB)) + BOMB, "2147483648 bytes, which a file of"),
    "deflate": (struct.pack("<II", 15, 9) + bytes(9), "unknown compression method"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_elements_are_refused_before_scipy_sees_them(what, tmp_path, monkeypatch):
    made, message = WRONG[what]
    monkeypatch.setattr("scipy.io.whosmat", lambda source: pytest.fail("SciPy saw it"))
    with pytest.raises(CorruptFileError, match=rf"a\.mat: .*{message}"):
        read(_save(tmp_path / "a.mat", made))


def test_deep_cells_are_refused(tmp_path):
    made = _matrix()
    for _ in range(200):
        made = _matrix(flags=1, shape=(1, 1), kind=14, data=made[8:])
    with pytest.raises(ValueError, match="expected a matrix"):
        check_mat(_save(tmp_path / "a.mat", made))
