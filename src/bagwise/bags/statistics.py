"""Statistics of the instances of a bag: one row per bag, and one per bag without each instance.

"min", "max", "mean" and "std" are those of NumPy, "q25" is the quantile at 25 percent (linear
interpolation), "size" is one column, the number of instances. `statistics_without_each` updates
statistics instead of computing them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from bagwise._typing import Array
from bagwise.bags.bags import Bags
from bagwise.bags.segments import expand, segment_max, segment_mean
from bagwise.bags.without import BLOCK, equal_sizes, sum_of_others

PLAIN = ("min", "max", "mean", "std")
PRESETS = {
    "four": ("mean", "std", "min", "max"),
    "quantiles": ("min", "q10", "q25", "q50", "q75", "q90", "max", "size"),
}


def check_statistics(statistics: Any) -> tuple[str, ...]:
    """Return the names of statistics; those of a preset by its name."""
    if isinstance(statistics, str):
        if statistics in PRESETS:
            return PRESETS[statistics]
        known = " or ".join(map(repr, PRESETS))
        raise ValueError(f"statistics={statistics!r} must be {known}, or a list of statistics.")
    names = tuple(statistics)
    unknown = [n for n in names if n not in (*PLAIN, "size") and _level(n) is None]
    if unknown or not names:
        raise ValueError(
            f"statistics={statistics!r} must name at least one of {[*PLAIN, 'size']} or quantiles "
            "such as 'q25'" + (f", not {unknown[0]!r}." if unknown else ".")
        )
    return names


def _level(name: Any) -> float | None:
    """Return the level of a quantile, None for what is none."""
    if not isinstance(name, str) or not name.startswith("q"):
        return None
    try:
        percent = float(name[1:])
    except ValueError:
        return None
    return percent / 100 if 0 <= percent <= 100 else None


def column_names(names: Sequence[str], features: Sequence[str]) -> Array:
    """Return one name per column: "mean_f0" is the mean of feature "f0"."""
    parts = [[n] if n == "size" else [f"{n}_{f}" for f in features] for n in names]
    return np.array([name for part in parts for name in part], dtype=object)


# One row per bag ---------------------------------------------------------------------------------


def statistics(bags: Bags, names: Sequence[str]) -> Any:
    """Return the statistics of every bag side by side, sparse if the instances are sparse."""
    if sp.issparse(bags.X):
        rows = [[_of_sparse(name, bag.astype(np.float64)) for bag in bags] for name in names]
        return sp.hstack([sp.vstack(of_name) for of_name in rows], format="csr")
    X = np.asarray(bags.X, dtype=np.float64)
    found = {name: _DENSE[name](X, bags.offsets) for name in names if name in _DENSE}
    found["size"] = bags.sizes[:, None].astype(np.float64)
    found |= _quantiles(X, bags.offsets, [name for name in names if name not in found])
    return np.hstack([found[name] for name in names])


def _standard_deviation(X: Array, offsets: Array) -> Array:
    centered = X - expand(segment_mean(X, offsets), offsets)
    return np.sqrt(segment_mean(centered**2, offsets))


_DENSE: dict[str, Callable[[Array, Array], Array]] = {
    "min": lambda X, offsets: np.minimum.reduceat(X, offsets[:-1], axis=0),
    "max": segment_max,
    "mean": segment_mean,
    "std": _standard_deviation,
}

_SPARSE: dict[str, Callable[[Any], Array]] = {
    "min": lambda X: min_max_axis(X, axis=0)[0],
    "max": lambda X: min_max_axis(X, axis=0)[1],
    "mean": lambda X: mean_variance_axis(X, axis=0)[0],
    "std": lambda X: np.sqrt(mean_variance_axis(X, axis=0)[1]),
}


def _of_sparse(name: str, X: Any) -> Any:
    if name == "size":
        return sp.csr_array([[float(X.shape[0])]])
    if name in _SPARSE:
        return sp.csr_array(_SPARSE[name](X)[None])
    used = np.unique(X.indices)  # a quantile of zeros alone is zero
    values = _at_level(np.sort(X[:, used].toarray(), axis=0), name)
    return sp.csr_array((values, (np.zeros(len(used), dtype=int), used)), shape=(1, X.shape[1]))


def _quantiles(X: Array, offsets: Array, names: Sequence[str]) -> dict[str, Array]:
    found = {name: np.empty((len(offsets) - 1, X.shape[1])) for name in names}
    for rows in equal_sizes(offsets, X.shape[1]) if names else ():
        ordered = np.sort(X[rows], axis=1)
        chosen = np.searchsorted(offsets, rows[:, 0])
        for name in names:
            found[name][chosen] = _at_level(np.moveaxis(ordered, 1, 0), name)
    return found


def _at_level(ordered: Array, name: str) -> Array:
    """Return a quantile of values that are sorted along the first axis."""
    low, high, part = _between(name, len(ordered))
    return (1 - part) * ordered[low] + part * ordered[high]


def _between(name: str, n: int) -> tuple[int, int, float]:
    """Return the two positions among n sorted values that a quantile lies between, and where."""
    level = _level(name)
    assert level is not None
    place = level * (n - 1)
    low = int(place)
    return low, min(low + 1, n - 1), place - low


# One row per instance ----------------------------------------------------------------------------


def statistics_without_each(bags: Bags, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
    """Yield row numbers, and the statistics of their bags without each of these instances.

    For the only instance of a bag, these are the statistics of the bag itself.
    """
    width = bags.n_features * len(names)
    if sp.issparse(bags.X):
        for start, bag in zip(bags.offsets[:-1], bags, strict=True):
            yield start + np.arange(bag.shape[0]), _sparse_without_each(bag, names)
        return
    for rows in equal_sizes(bags.offsets, width):
        block = np.asarray(bags.X[rows], dtype=np.float64)
        others = _Others(block) if rows.shape[1] > 1 else _Only(block)
        step = max(1, BLOCK // width)  # one bag may have more instances than fit into a block
        for i in range(0, rows.shape[1], step):
            part = slice(i, i + step)
            columns = [others.statistic(name, part) for name in names]
            n_rows = rows[:, part].size
            yield rows[:, part].ravel(), np.hstack([c.reshape(n_rows, -1) for c in columns])


class _Others:
    """Statistics over axis 1 of a block (n_bags, size, n_features) without each of the entries."""

    def __init__(self, block: Array) -> None:
        self.block, self.size = block, block.shape[1]
        self.ordered = np.sort(block, axis=1)

    def statistic(self, name: str, part: slice) -> Array:
        if name == "size":
            return np.full((*self.block[:, part].shape[:2], 1), self.size - 1.0)
        if name in ("mean", "std"):
            return self._moments[name][:, part]
        level = {"min": "q0", "max": "q100"}.get(name, name)
        low, high, share = _between(level, self.size - 1)
        value = self._at(low, part)
        return value if share == 0 else (1 - share) * value + share * self._at(high, part)

    def _at(self, place: int, part: slice) -> Array:
        """Return the entry at a place among the sorted others: the next one where x is before."""
        here, after = self.ordered[:, [place]], self.ordered[:, [place + 1]]
        return np.where(self.block[:, part] <= here, after, here)

    @cached_property
    def _moments(self) -> dict[str, Array]:
        # Around the median, which is near the mean of the others whichever entry is left out:
        # their variance loses no digits, and is exactly 0 where they are all equal.
        center = self.ordered[:, [(self.size - 1) // 2]]
        centered = self.block - center
        mean = sum_of_others(centered) / (self.size - 1)
        variance = sum_of_others(centered**2) / (self.size - 1) - mean**2
        return {"mean": center + mean, "std": np.sqrt(np.maximum(variance, 0.0))}


class _Only:
    """The statistics of bags of one instance, in the place of `_Others`."""

    def __init__(self, block: Array) -> None:
        self.block = block

    def statistic(self, name: str, part: slice) -> Array:
        if name == "size":
            return np.ones((*self.block.shape[:2], 1))
        return np.zeros(self.block.shape) if name == "std" else self.block


def _sparse_without_each(X: Any, names: Sequence[str]) -> Any:
    used = np.unique(X.indices)  # statistics of the other columns are zero
    block = X[:, used].toarray().astype(np.float64)[None]
    others = _Others(block) if X.shape[0] > 1 else _Only(block)
    columns = []
    for name in names:
        values = others.statistic(name, slice(None))[0]
        if name != "size":
            where = np.tile(used, len(values)), np.arange(len(values) + 1) * len(used)
            values = sp.csr_array((values.ravel(), *where), shape=X.shape)
        columns.append(sp.csr_array(values))
    return sp.hstack(columns, format="csr")
