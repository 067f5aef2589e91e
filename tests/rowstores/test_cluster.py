"""Rows that the workers of a cluster open by path; no worker is needed to select them."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags, InstanceSVC, io
from bagwise.rowstores.cluster import ClusterRows, MappedFile
from bagwise.rowstores.files import FileRows


@pytest.fixture
def stored(tmp_path):
    X = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
    io.write(tmp_path / "some.bags", Bags(X, [0, 3, 4, 10], ids=["a", "b", "c"]), [0, 1, 0])
    return io.read(tmp_path / "some.bags")[0]


@pytest.mark.parametrize(
    "key", [slice(None), slice(1, 3), [2, 0], np.array([True, False, True]), [1, 2]], ids=str
)
def test_rows_and_selections_stay_in_the_file(stored, key):
    expected = stored[key].X
    part = stored.to("dask")[key]
    assert isinstance(part.X, ClusterRows)
    assert (part.X.shape, part.dtype) == (expected.shape, np.float32)
    np.testing.assert_array_equal(part.to("host").X, expected)
    part.X[1:].release()  # released rows are read again
    written = pickle.dumps(part.X)
    assert len(written) < 2000
    for rows in (part.X, pickle.loads(written)):
        np.testing.assert_array_equal(np.asarray(rows), expected)
        np.testing.assert_array_equal(np.asarray(rows[1:]), expected[1:])


def test_files_by_columns(tmp_path):
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(10, 3)))
    np.save(tmp_path / "X.npy", X)
    bags = Bags(np.load(tmp_path / "X.npy", mmap_mode="r"), [0, 4, 10]).to("dask")
    np.testing.assert_array_equal(np.asarray(bags.X), X)
    np.testing.assert_array_equal(np.asarray(bags[1:].X), X[4:])
    bags.X.release()


def test_rows_in_memory_have_no_path(stored):
    for bags in (Bags(np.zeros((3, 2)), [0, 1, 3]), stored[[2, 0]]):
        with pytest.raises(ValueError, match=r"in memory.*Write them first: bagwise.io.write"):
            bags.to("dask")
    sparse = Bags(sp.csr_array(np.eye(3)), [0, 1, 3])
    with pytest.raises(ValueError, match="Sparse instances cannot be moved"):
        sparse.to("dask")


def test_without_a_client(stored):
    with pytest.raises(RuntimeError, match=r"needs a Dask client.*with dask.distributed.Client"):
        InstanceSVC(kernel="linear").fit(stored.to("dask"), [0, 1, 0])


def test_a_file_that_is_not_there(stored, tmp_path):
    rows = stored.to("dask").X
    (tmp_path / "some.bags" / "X.npy").rename(tmp_path / "elsewhere.npy")
    with pytest.raises(FileNotFoundError, match="under the same path on all workers"):
        np.asarray(rows)


def test_other_maps_have_no_rows(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((4, 6)))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert MappedFile.under(mapped[::2]) is None
    assert MappedFile.under(mapped[:, :3]) is None
    assert MappedFile.under(mapped[1:])[1] == slice(1, 4)


def test_large_files_crowd_small_workers(stored):
    rows = stored.to("dask").X
    assert not rows.crowds(None)
    assert not rows.crowds(0)
    assert not rows.crowds(10 * rows.file.size)
    assert rows.crowds(2 * rows.file.size)


def test_several_stores_are_one(tmp_path):
    rng = np.random.default_rng(1)
    for name in ("a", "b"):
        X = rng.normal(size=(6, 2)).astype(np.float16)
        io.write(tmp_path / f"{name}.bags", Bags(X, [0, 2, 6]), [0, 1])
    bags, _ = io.open(tmp_path)
    moved = pickle.loads(pickle.dumps(bags.to("dask")))
    np.testing.assert_array_equal(np.asarray(moved.X), np.asarray(bags.X))
    np.testing.assert_array_equal(np.asarray(moved[[3, 0]].X), np.asarray(bags[[3, 0]].X))
    np.testing.assert_array_equal(np.asarray(moved[1:3].X), np.asarray(bags[1:3].X))
    moved.X.release()
    assert moved.X.crowds(10)
    mixed = bags.replace(X=FileRows([bags.X.parts[0], np.zeros((6, 2), np.float16)]))
    with pytest.raises(ValueError, match="in memory"):
        mixed.to("dask")
