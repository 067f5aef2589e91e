"""A short number per bag, by which bags are recognized: has a model seen them in training?"""

from __future__ import annotations

import zlib

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.bags import Bags
from bagwise.rowstores.blocks import row_blocks


def fingerprints(bags: Bags) -> Array:
    """Return the CRC-32 of each bag's instances; equal bags of one data type have equal numbers."""
    prints = np.empty(len(bags), dtype=np.uint32)
    for i, rows in enumerate(bags):
        parts = (rows.data, rows.indices) if sp.issparse(rows) else (np.ascontiguousarray(rows),)
        value = len(rows.data) if sp.issparse(rows) else 0
        for part in parts:
            value = zlib.crc32(part.astype(np.float64).tobytes(), value)
        prints[i] = value
    return prints


def row_codes(bags: Bags) -> Array:
    """Return a number per instance; equal instances have equal numbers, others hardly ever."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 2**63, size=bags.n_features, dtype=np.uint64) | np.uint64(1)
    sums = np.empty(bags.n_instances, dtype=np.uint64)
    for some in row_blocks(bags.n_instances, 8 * bags.n_features):
        rows = bags.X[some]
        dense = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
        block = np.ascontiguousarray(dense) + dense.dtype.type(0)  # -0 equals 0
        bits = block.view(f"u{block.itemsize}").astype(np.uint64)
        sums[some] = (bits * factors).sum(axis=1, dtype=np.uint64)
    return np.unique(sums, return_inverse=True)[1]


def pack_prints(prints: Array) -> str:
    """Return fingerprints as a text, for a model file."""
    return np.sort(prints).astype(">u4").tobytes().hex()


def unpack_prints(text: str) -> Array:
    """Return the fingerprints that `packed` wrote."""
    return np.frombuffer(bytes.fromhex(text), dtype=">u4")
