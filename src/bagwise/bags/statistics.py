"""Statistics of the instances of a bag: one row per bag, and one per bag without each instance.

"min", "max", "mean" and "std" are those of NumPy, "q25" is the quantile at 25 percent (linear
interpolation), "size" is one column, the number of instances. `statistics_without_each` updates
statistics instead of computing them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from bagwise._typing import Array
from bagwise.bags.bags import Bags
from bagwise.bags.segments import expand, segment_max, segment_mean
from bagwise.bags.without import equal_sizes
from bagwise.rowstores.base import count_rows

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
    level, last = _level(name), len(ordered) - 1
    assert level is not None
    low = int(level * last)
    part = level * last - low
    return (1 - part) * ordered[low] + part * ordered[min(low + 1, last)]


# One row per instance ----------------------------------------------------------------------------


def statistics_without_each(bags: Bags, names: Sequence[str]) -> Iterator[tuple[slice, Any]]:
    """Yield rows, and the statistics of their bags without each of these instances, in order.

    For the only instance of a bag, these are the statistics of the bag itself.
    """
    if sp.issparse(bags.X):
        for start, bag in zip(bags.offsets[:-1], bags, strict=True):
            yield slice(start, start + bag.shape[0]), _sparse_without_each(bag, names)
        return
    at_once = count_rows(8 * bags.n_features * len(names))
    for first, last in _blocks(bags.offsets, at_once):
        begin, end = bags.offsets[first], bags.offsets[last]
        X = np.asarray(bags.X[begin:end], dtype=np.float64)
        offsets = bags.offsets[first : last + 1] - begin
        for row in range(0, len(X), at_once):  # one bag may have more rows
            part = _without_each(X, offsets, names, slice(row, row + at_once))
            yield slice(begin + row, begin + row + len(part)), part


def _blocks(offsets: Array, at_once: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the last bag, excluded, of blocks with so many rows, or of one bag."""
    first = 0
    while first < len(offsets) - 1:
        last = int(np.searchsorted(offsets, offsets[first] + at_once, side="right")) - 1
        yield first, max(first + 1, last)
        first = max(first + 1, last)


def _without_each(X: Array, offsets: Array, names: Sequence[str], rows: slice) -> Array:
    """Return the statistics of bags without each of these rows, side by side."""
    from bagwise.bags import _without

    starts = np.cumsum([0, *_widths(names, X.shape[1])])
    out = np.empty((len(range(*rows.indices(len(X)))), starts[-1]))
    column, given = dict(zip(names, starts[:-1], strict=True)), (X, offsets, rows.start)
    if "mean" in column or "std" in column:
        _without.moments_of_others(*given, column.get("mean", -1), column.get("std", -1), out)
    for name, sign in (("min", 1.0), ("max", -1.0)):
        if name in column:
            _without.least_of_others(*given, sign, column[name], out)
    levels = {name: _level(name) for name in column if _level(name) is not None}
    if levels:
        columns, ordered = np.array([column[name] for name in levels]), np.empty_like(X)
        for members in equal_sizes(offsets, X.shape[1]):
            ordered[members] = np.sort(X[members], axis=1)
        values = np.array(list(levels.values()))
        _without.quantiles_of_others(*given, ordered, values, columns, out)
    if "size" in column:
        sizes = expand(np.maximum(1, np.diff(offsets) - 1), offsets)
        out[:, column["size"]] = sizes[rows]
    for name, start, stop in zip(names, starts[:-1], starts[1:], strict=True):
        if start != column[name]:  # named twice
            out[:, start:stop] = out[:, column[name] : column[name] + stop - start]
    return out


def _widths(names: Sequence[str], n_features: int) -> list[int]:
    return [1 if name == "size" else n_features for name in names]


def _sparse_without_each(X: Any, names: Sequence[str]) -> Any:
    used, n = np.unique(X.indices), X.shape[0]  # statistics of the other columns are zero
    block = X[:, used].toarray().astype(np.float64)
    if not len(used):
        block = np.zeros((n, 1))  # for the size
    rows, columns, start = _without_each(block, np.array([0, n]), names, slice(0, n)), [], 0
    for name, width in zip(names, _widths(names, block.shape[1]), strict=True):
        values, start = rows[:, start : start + width], start + width
        if name == "size":
            columns.append(sp.csr_array(values))
            continue
        kept = values[:, : len(used)]
        where = np.tile(used, n), np.arange(n + 1) * len(used)
        columns.append(sp.csr_array((kept.ravel(), *where), shape=X.shape))
    return sp.hstack(columns, format="csr")
