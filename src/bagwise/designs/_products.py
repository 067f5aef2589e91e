"""Compiled products with a kernel matrix; import this module only where it runs.

Entries are read in the precision in which they are kept, and sums are in float64. Four rows are
read at a time, so that memory is the only limit: OpenBLAS is no faster in float32.
"""

from __future__ import annotations

import numpy as np

from bagwise._jit import njit


@njit(cache=True)
def add_rows(K, rows, factors, out):
    """Add sum_k factors_k K[rows_k] to ``out``."""
    many = len(rows) - len(rows) % 4
    for k in range(0, many, 4):
        a, b, c, d = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
        A, B, C, D = K[rows[k]], K[rows[k + 1]], K[rows[k + 2]], K[rows[k + 3]]
        for j in range(K.shape[1]):
            out[j] += a * A[j] + b * B[j] + c * C[j] + d * D[j]
    for k in range(many, len(rows)):
        a, A = factors[k], K[rows[k]]
        for j in range(K.shape[1]):
            out[j] += a * A[j]


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})  # sums in vector registers
def multiply_symmetric(lower, x, out):
    """Write A x to ``out``, where ``lower`` holds A on and below its diagonal."""
    size = len(x)
    many = size - size % 4
    for i in range(size):
        out[i] = lower[i, i] * x[i]
    for i in range(0, many, 4):
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        A, B, C, D = lower[i], lower[i + 1], lower[i + 2], lower[i + 3]
        at_a, at_b, at_c, at_d = 0.0, 0.0, 0.0, 0.0
        for j in range(i):
            p, q, r, s = np.float64(A[j]), np.float64(B[j]), np.float64(C[j]), np.float64(D[j])
            out[j] += a * p + b * q + c * r + d * s
            at_a += p * x[j]
            at_b += q * x[j]
            at_c += r * x[j]
            at_d += s * x[j]
        out[i] += at_a
        out[i + 1] += at_b
        out[i + 2] += at_c
        out[i + 3] += at_d
        _multiply_corner(lower, x, out, i, i, i + 4)
    for i in range(many, size):
        _multiply_corner(lower, x, out, 0, i, i + 1)


@njit(cache=True)
def _multiply_corner(lower, x, out, left, top, bottom):
    """Add what the entries right of column ``left`` in some rows contribute, below the diagonal."""
    for i in range(top, bottom):
        for j in range(left, i):
            out[i] += lower[i, j] * x[j]
            out[j] += lower[i, j] * x[i]


@njit(cache=True)
def gather_rows(K, rows, first, lower):
    """Copy K[rows][:, rows] on and below the diagonal to ``lower``, from row ``first`` on."""
    for i in range(first, len(rows)):
        source = K[rows[i]]
        for j in range(i + 1):
            lower[i, j] = source[rows[j]]


@njit(cache=True)
def gather_block(K, rows, columns, out):
    """Copy K[rows][:, columns] to ``out``."""
    for i in range(len(rows)):
        source = K[rows[i]]
        for j in range(len(columns)):
            out[i, j] = source[columns[j]]


@njit(cache=True)
def scatter_rows(K, rows, factors, places, out):
    """Write factors_i factors_j K[rows_i, rows_j] to out[places_i, places_j]."""
    for i in range(len(rows)):
        source, target, factor = K[rows[i]], out[places[i]], factors[i]
        for j in range(len(rows)):
            target[places[j]] = factor * factors[j] * source[rows[j]]
