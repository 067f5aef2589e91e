"""A short number per bag, by which bags are recognized: has a model seen them in training?"""

from __future__ import annotations

import zlib

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.bags import Bags


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


def packed(prints: Array) -> str:
    """Return fingerprints as a text, for a model file."""
    return np.sort(prints).astype(">u4").tobytes().hex()


def unpacked(text: str) -> Array:
    """Return the fingerprints that `packed` wrote."""
    return np.frombuffer(bytes.fromhex(text), dtype=">u4")
