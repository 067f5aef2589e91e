"""Statistics of the instances of a bag: one row per bag, and one per bag without each instance.

"min", "max", "mean" and "std" are those of NumPy, "q25" is the quantile at 25 percent (linear
interpolation), "size" is one column, the number of instances. `without_each` updates statistics
instead of computing them again: per bag it costs about as much as the statistics themselves.
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

PLAIN = ("min", "max", "mean", "std")
PRESETS = {
    "four": ("mean", "std", "min", "max"),
    "quantiles": ("min", "q10", "q25", "q50", "q75", "q90", "max", "size"),
}
_BLOCK = 1 << 21  # values handled at a time: 16 MiB of float64


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
    found |= _quantiles(bags.replace(X=X), [name for name in names if name not in found])
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


def _quantiles(bags: Bags, names: Sequence[str]) -> dict[str, Array]:
    found = {name: np.empty((len(bags), bags.n_features)) for name in names}
    if names:
        for chosen, block in _equal_sizes(bags):
            ordered = np.sort(block, axis=1)
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


def _equal_sizes(bags: Bags) -> Iterator[tuple[Array, Array]]:
    """Yield numbers of bags of equal size and their instances (n_bags, size, n_features)."""
    order = np.argsort(bags.sizes, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(bags.sizes[order])) + 1):
        size = int(bags.sizes[members[0]])
        at_once = max(1, _BLOCK // max(1, size * bags.n_features))
        for i in range(0, len(members), at_once):
            chosen = members[i : i + at_once]
            yield chosen, bags.X[bags.offsets[chosen][:, None] + np.arange(size)]
