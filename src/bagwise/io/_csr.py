"""Sparse rows with 32-bit indices wherever they fit: liblinear and libsvm take no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def small_csr(data: Any, indices: Any, pointers: Any, shape: tuple[int, int]) -> Any:
    """Return a CSR array with sorted indices, of 32 bits where they fit."""
    kind = np.int32 if max(len(data), *shape) < 2**31 else np.int64
    parts = (np.asarray(data, np.float64), np.asarray(indices, kind), np.asarray(pointers, kind))
    matrix = sp.csr_array(parts, shape=shape)
    matrix.sort_indices()
    return matrix
