"""What every generator draws: bag sizes, bag labels, and where the witnesses sit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagwise.segments import expand, segment_rank

Array = NDArray[Any]
BagSize = int | tuple[int, int] | ArrayLike | Callable[[np.random.Generator, int], ArrayLike]


def check_fraction(name: str, value: float, *, positive: bool = False) -> None:
    """Refuse what is not in [0, 1], or in (0, 1]."""
    if not (0 < value <= 1 if positive else 0 <= value <= 1):
        raise ValueError(f"{name} must lie in {'(0' if positive else '[0'}, 1], it is {value}.")


def draw_sizes(bag_size: BagSize, n_bags: int, rng: np.random.Generator) -> Array:
    """Return one size a bag: fixed, uniform in an inclusive range, given, or from a callable."""
    if n_bags < 1:
        raise ValueError(f"n_bags must be at least 1, it is {n_bags}.")
    if callable(bag_size):
        sizes = np.asarray(bag_size(rng, n_bags))
    elif isinstance(bag_size, tuple) and len(bag_size) == 2:
        low, high = bag_size
        if not 1 <= low <= high:
            raise ValueError(f"bag_size must be a range of at least 1, it is {bag_size}.")
        sizes = rng.integers(low, high, size=n_bags, endpoint=True)
    else:
        sizes = np.asarray(bag_size)
        sizes = np.full(n_bags, bag_size) if sizes.ndim == 0 else sizes
    if sizes.shape != (n_bags,) or sizes.dtype.kind not in "iu" or sizes.min() < 1:
        raise ValueError(
            f"bag_size must give {n_bags} whole numbers of at least 1: pass an int, a pair "
            "(low, high), one size a bag, or a callable of (generator, n_bags)."
        )
    return sizes.astype(np.int64)


def draw_labels(n_bags: int, positive_fraction: float, rng: np.random.Generator) -> Array:
    """Return 0/1 labels with a fixed number of ones, in random order."""
    check_fraction("positive_fraction", positive_fraction)
    return rng.permutation((np.arange(n_bags) < round(positive_fraction * n_bags)).astype(np.int64))


def as_offsets(sizes: Array) -> Array:
    """Return where each bag starts."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def plant(offsets: Array, counts: Array, rng: np.random.Generator) -> Array:
    """Return a flat mask with ``counts[i]`` instances of bag ``i`` marked, at random places."""
    return segment_rank(rng.random(offsets[-1]), offsets) < expand(counts, offsets)
