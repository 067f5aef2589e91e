"""Matrices that do not fit are refused by name, with their size and the remedy."""

import numpy as np
import pytest

from bagwise import WitnessSVC
from bagwise.errors import Message, message_of
from bagwise.kernels import check_memory, memory


def test_a_gram_matrix_beyond_memory_is_refused_with_size_and_remedy(monkeypatch):
    monkeypatch.setattr(memory, "memory_limit", lambda: 2.0**34)
    size = (
        r"100,000 x 100,000 values needs 37\.3 GiB; of the 16\.0 GiB here one matrix may take 80%"
    )
    with pytest.raises(MemoryError, match=rf"{size}.*kernel_options__approx='nystroem'") as caught:
        check_memory(100_000, 4)
    assert isinstance(message_of(caught.value), Message)


def test_a_million_instances_are_refused_before_anything_is_allocated():
    rows = np.broadcast_to(np.zeros(1), (3_000_000, 1))
    with pytest.raises(MemoryError, match="3,000,000 x 3,000,000"):
        WitnessSVC(gamma=1.0).fit(rows[:, None], np.arange(3_000_000) % 2)
