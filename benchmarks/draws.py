"""How the benchmarks show several draws of one measurement."""

from __future__ import annotations

import numpy as np

__all__ = ["cells"]


def cells(draws: list[list[float]]) -> str:
    """Return the means of the columns and their standard errors as cells of a table."""
    found = np.array(draws)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    return " | ".join(f"{m:.1f} ({e:.1f})" for m, e in zip(found.mean(axis=0), error, strict=True))
