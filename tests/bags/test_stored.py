"""Stored blocks are verified when they are read, and sparse rows are checked at their first use."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags, check_bags
from bagwise.bags import stored
from bagwise.bags.arrays import canonical_csr
from bagwise.bags.stored import UncheckedRows, checksums, guard, verify

ROWS = sp.csr_array(np.eye(4, 3))


@pytest.fixture
def mapped(tmp_path, monkeypatch):
    """A mapped array of 10 blocks, of which the last but one is damaged."""
    monkeypatch.setattr(stored, "BLOCK_BYTES", 800)
    np.arange(1000.0).tofile(tmp_path / "x")
    sums = checksums(tmp_path / "x")
    assert len(sums) == 10
    array = np.memmap(tmp_path / "x", mode="r+", dtype=float, shape=(200, 5))
    array[175, 0] = -1.0  # in block 8, which holds the rows 160 to 179
    guard(array, sums, ValueError)
    return array


def test_only_the_blocks_that_are_read_are_verified(mapped):
    verify(mapped[:160])
    verify(mapped[180:])
    with pytest.raises(ValueError, match="the checksum of its block 8 is wrong"):
        verify(np.asarray(mapped)[100:161].T)
    verify(np.asarray(mapped[:, 0]).copy())  # not in the file


def test_a_block_is_verified_once(mapped):
    mapped[0, 0] = 7.0
    with pytest.raises(ValueError, match="block 0"):
        verify(mapped[:1])
    mapped[0, 0] = 0.0
    verify(mapped[:1])
    mapped[0, 0] = 7.0
    verify(mapped[:1])


@pytest.mark.parametrize("finite", [True, False])
def test_bags_verify_what_is_read(mapped, finite):
    bags = Bags(mapped, [0, 100, 160, 180, 200])
    assert bags[1].shape == (60, 5)
    assert check_bags(bags[:2], finite=finite) is not None
    with pytest.raises(ValueError, match="block 8"):
        bags[2]
    with pytest.raises(ValueError, match="block 8"):
        check_bags(bags, finite=finite)


def test_unchecked_rows_are_checked_once_at_first_use():
    calls = []
    rows = UncheckedRows.defer((4, 3), "f8", lambda: calls.append(0) or canonical_csr(ROWS))
    bags = Bags(rows, [0, 4])
    assert (bags.shape, bags.dtype, calls) == ((1, 3), np.float64, [])
    np.testing.assert_array_equal((bags.X @ np.eye(3)), np.eye(4, 3))
    np.testing.assert_array_equal(bags[0].toarray(), np.eye(4, 3))
    assert (bags.X.checked, bags.X.has_canonical_format, calls) == (True, True, [0])
    assert rows.astype(int).checked  # what scipy makes of them is no store's any more
    assert Bags(rows.astype(int), [0, 4]).dtype == np.float64


def test_unchecked_rows_are_pickled_checked():
    rows = UncheckedRows.defer((4, 3), "f8", lambda: canonical_csr(ROWS))
    back = pickle.loads(pickle.dumps(rows))
    assert type(back) is sp.csr_array
    np.testing.assert_array_equal(back.toarray(), np.eye(4, 3))


def test_rows_that_fail_their_check_fail_at_every_use():
    def refuse():
        raise ValueError("damaged")

    rows = UncheckedRows.defer((4, 3), "f8", refuse)
    for use in (lambda: rows @ np.eye(3), lambda: rows[:2], lambda: rows.nnz, rows.copy):
        with pytest.raises(ValueError, match="damaged"):
            use()
    with pytest.raises(AttributeError):
        rows.nothing  # noqa: B018
