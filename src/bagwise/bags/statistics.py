"""Statistics of the instances of a bag: one row per bag, and one per bag without each instance.

"min", "max", "mean" and "std" are those of NumPy, "q25" is the quantile at 25 percent (linear
interpolation), "size" is one column, the number of instances. `statistics_without_each` updates
statistics instead of computing them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from bagwise._typing import Array
from bagwise.bags.bags import Bags
from bagwise.bags.segments import cut_bags, expand, segment_max, segment_mean
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
    """Return the level of a quantile, such as the minimum; None for what is none."""
    if name in ("min", "max"):
        return float(name == "max")
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
    for first, last in pairwise(cut_bags(bags.offsets, at_once)):
        begin, end = bags.offsets[first], bags.offsets[last]
        X = np.asarray(bags.X[begin:end], dtype=np.float64)
        if last - first == 1:  # one bag may have more rows
            compute = _without_each(X[None], names)
            for row in range(0, len(X), at_once):
                part = compute(slice(row, row + at_once))[0]
                yield slice(begin + row, begin + row + len(part)), part
            continue
        found = np.empty((len(X), sum(_widths(names, bags.n_features))))
        for members in equal_sizes(bags.offsets[first : last + 1] - begin, bags.n_features):
            found[members] = _without_each(X[members], names)(slice(None))
        yield slice(begin, end), found


def _without_each(X: Array, names: Sequence[str]) -> Callable[[slice], Array]:
    """Return what computes the statistics of bags without each of some rows, side by side.

    ``X`` has the shape (n_bags, size, n_features). Nothing is subtracted from a total: what is
    before an instance and what is after it are put together.
    """
    size = X.shape[1]
    levels = {name: level for name in names if (level := _level(name)) is not None}
    ordered = np.sort(X, axis=1) if levels else X
    has_moments = not {"mean", "std"}.isdisjoint(names)
    before = _moments_before(X) if has_moments else None
    after = _moments_before(X[:, ::-1])[:, :, ::-1] if has_moments else None

    def compute(rows: slice) -> Array:
        own, place = X[:, rows], np.arange(size)[rows, None]
        found = {name: _quantile_of_others(own, ordered, levels[name]) for name in levels}
        found["size"] = np.full((*own.shape[:2], 1), max(1.0, size - 1.0))
        if before is not None and after is not None:
            sides = before[:, :, rows], after[:, :, rows]
            found["mean"], found["std"] = _moments_of_others(own, *sides, place, size)
        return np.concatenate([found[name] for name in names], axis=2)

    return compute


def _moments_before(X: Array) -> Array:
    """Return means and sums of squared deviations of the rows before each row of every bag."""
    moments = np.zeros((2, *X.shape))
    for k in range(1, X.shape[1]):
        mean, square = moments[:, :, k - 1]
        apart = X[:, k - 1] - mean
        added = apart * (1.0 / k)
        moments[:, :, k] = mean + added, square + apart * (apart - added)
    return moments


def _moments_of_others(
    X: Array, before: Array, after: Array, place: Array, size: int
) -> tuple[Array, Array]:
    """Return means and standard deviations, merged from both sides (Chan et al. 1983).

    The variance loses no digits, and is exactly 0 where the others are all equal.
    """
    share, apart = (size - 1 - place) / max(1, size - 1), after[0] - before[0]
    squares = before[1] + after[1] + share * place * apart**2
    mean = before[0] + share * apart if size > 1 else X
    return mean, np.sqrt(squares / max(1, size - 1))


def _quantile_of_others(values: Array, ordered: Array, level: float) -> Array:
    last = ordered.shape[1] - 1
    place = level * max(0, last - 1)
    low = int(place)

    def entry(k: int) -> Array:  # where the row is before a place, the next entry is there
        here, after = ordered[:, [k]], ordered[:, [min(k + 1, last)]]
        return np.where(values <= here, after, here)

    share = place - low
    return (1 - share) * entry(low) + share * entry(min(low + 1, max(0, last - 1)))


def _widths(names: Sequence[str], n_features: int) -> list[int]:
    return [1 if name == "size" else n_features for name in names]


def _sparse_without_each(X: Any, names: Sequence[str]) -> Any:
    used, n = np.unique(X.indices), X.shape[0]  # statistics of the other columns are zero
    block = X[:, used].toarray().astype(np.float64)
    if not len(used):
        block = np.zeros((n, 1))  # for the size
    rows, columns, start = _without_each(block[None], names)(slice(None))[0], [], 0
    for name, width in zip(names, _widths(names, block.shape[1]), strict=True):
        values, start = rows[:, start : start + width], start + width
        if name == "size":
            columns.append(sp.csr_array(values))
            continue
        kept = values[:, : len(used)]
        where = np.tile(used, n), np.arange(n + 1) * len(used)
        columns.append(sp.csr_array((kept.ravel(), *where), shape=X.shape))
    return sp.hstack(columns, format="csr")
