"""Rows in files."""

import numpy as np
import pytest

from bagwise.rowstores.files import FileSpan


@pytest.fixture
def store_spans(tmp_path):
    """Return a function that writes arrays into files of their own and returns their spans."""

    def store(parts):
        spans = []
        for i, part in enumerate(parts):
            np.save(tmp_path / f"{i}.npy", part)
            spans.append(FileSpan.of(np.load(tmp_path / f"{i}.npy", mmap_mode="r")))
        return spans

    return store
