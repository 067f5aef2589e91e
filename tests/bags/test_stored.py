"""Stored blocks are verified when they are read."""

import numpy as np
import pytest

from bagwise import Bags, check_bags
from bagwise.bags import stored
from bagwise.bags.stored import checksums, guard, verify


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
