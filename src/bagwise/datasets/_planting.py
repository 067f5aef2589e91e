"""Steps that all generators share: checks, bag sizes, bag labels, positions of the witnesses."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._documented import documenting
from bagwise._typing import Array
from bagwise.bags.segments import expand, segment_rank

BagSize = int | tuple[int, int] | ArrayLike | Callable[[np.random.Generator, int], ArrayLike]
draws = documenting(
    {
        "n_bags": "Number of bags.",
        "n_features": "Number of features.",
        "bag_size": (
            "int, (int, int), array-like or callable",
            "One size for all, an inclusive range drawn uniformly, one size per bag, or a callable "
            "of (generator, n_bags): ``lambda rng, n: 1 + rng.poisson(9, n)`` for a mean of ten.",
        ),
        "positive_fraction": "Fraction of positive bags.",
        "dtype": "Data type of the instances.",
        "random_state": ("int or None", "Random seed."),
    },
    returns="""\
bags : Bags
    The bags, with instance labels, and with ids where bags have names.
y : ndarray of shape (n_bags,)
    0 or 1.""",
)


def check_fraction(name: str, value: float, *, positive: bool = False) -> None:
    """Refuse a value outside [0, 1], or outside (0, 1]."""
    if not (0 < value <= 1 if positive else 0 <= value <= 1):
        raise ValueError(f"{name} must be in {'(0' if positive else '[0'}, 1], got {value}.")


def check_choice(name: str, value: Any, allowed: Collection[Any]) -> None:
    """Refuse a value that is not one of the allowed ones."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}.")


def draw_sizes(bag_size: BagSize, n_bags: int, rng: np.random.Generator) -> Array:
    """Return one size per bag: fixed, uniform in an inclusive range, given, or from a callable."""
    if n_bags < 1:
        raise ValueError(f"n_bags must be at least 1, got {n_bags}.")
    if callable(bag_size):
        sizes = np.asarray(bag_size(rng, n_bags))
    elif isinstance(bag_size, tuple) and len(bag_size) == 2:
        low, high = bag_size
        if not 1 <= low <= high:
            raise ValueError(f"bag_size must be a range of at least 1, got {bag_size}.")
        sizes = rng.integers(low, high, size=n_bags, endpoint=True)
    else:
        sizes = np.asarray(bag_size)
        sizes = np.full(n_bags, bag_size) if sizes.ndim == 0 else sizes
    if sizes.shape != (n_bags,) or sizes.dtype.kind not in "iu" or sizes.min() < 1:
        raise ValueError(
            f"bag_size must give {n_bags} integers of at least 1: pass an int, a pair (low, high), "
            "one size per bag, or a callable of (generator, n_bags)."
        )
    return sizes.astype(np.int64)


def draw_labels(n_bags: int, positive_fraction: float, rng: np.random.Generator) -> Array:
    """Return 0/1 labels with a fixed number of ones, in random order."""
    check_fraction("positive_fraction", positive_fraction)
    return rng.permutation((np.arange(n_bags) < round(positive_fraction * n_bags)).astype(np.int64))


def round_up(fraction: float, sizes: Array) -> Array:
    """Return ceil(fraction * size) per bag; 0.7 * 10 gives 7 although it is slightly more."""
    return np.ceil(fraction * sizes - 1e-9).astype(np.int64)


def name_bags(kind: str, n_bags: int) -> list[str]:
    """Return ids such as "slide-007", all of the same length."""
    width = max(3, len(str(n_bags - 1)))
    return [f"{kind}-{i:0{width}d}" for i in range(n_bags)]


def plant(offsets: Array, counts: Array, rng: np.random.Generator) -> Array:
    """Return a flat mask that marks ``counts[i]`` random instances of bag ``i``."""
    return segment_rank(rng.random(offsets[-1]), offsets) < expand(counts, offsets)
