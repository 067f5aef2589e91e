"""Bags of handwritten digits: a real, bundled data set with known instance labels.

Instances are the 8 x 8 images of scikit-learn's ``load_digits``, so nothing is downloaded. A bag is
positive when the sought digit is in it often enough. The "majority" and "ratio" rules follow the
cardinality assumptions of Hajimirsadeghi & Mori (2017).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagwise.bags import Bags
from bagwise.datasets._planting import (
    BagSize,
    as_offsets,
    check_fraction,
    draw_labels,
    draw_sizes,
    plant,
)

__all__ = ["load_digits_bags"]

Array = NDArray[Any]

_TRAIN_FRACTION = 2 / 3


def load_digits_bags(
    digit: int = 9,
    rule: str = "any",
    n_bags: int = 200,
    *,
    bag_size: BagSize = (5, 15),
    positive_fraction: float = 0.5,
    witness_rate: float | None = None,
    ratio: float = 0.3,
    noise: float = 0.0,
    label_noise: float = 0.0,
    subset: str = "all",
    random_state: int | None = 0,
) -> tuple[Bags, Array]:
    """Draw bags of handwritten digits, positive when the sought digit is in them often enough.

    Parameters
    ----------
    digit : int, default=9
        The sought digit, 0 to 9.
    rule : {"any", "majority", "ratio"}, default="any"
        A bag of m images is positive when it holds at least one sought digit, more than m / 2, or
        at least ``ratio * m``. Negative bags hold any smaller number, uniformly drawn.
    n_bags : int, default=200
        Number of bags.
    bag_size : int, (int, int), array-like or callable, default=(5, 15)
        One size for all, an inclusive range drawn uniformly, one size a bag, or a callable of
        (generator, n_bags): ``lambda rng, n: 1 + rng.poisson(9, n)`` for a mean of ten.
    positive_fraction : float, default=0.5
        Fraction of positive bags.
    witness_rate : float, default=None
        Expected fraction of sought digits in a positive bag (never fewer than the rule asks for).
        ``None``: 0.2 for "any", uniform over all counts that the rule allows otherwise.
    ratio : float, default=0.3
        The threshold of the rule "ratio".
    noise : float, default=0.0
        Standard deviation of Gaussian noise added to the pixels, which lie in [0, 1].
    label_noise : float, default=0.0
        Fraction of bag labels that are flipped after the bags are drawn.
    subset : {"all", "train", "test"}, default="all"
        Which images to draw from. "train" (two thirds) and "test" never share an image, whatever
        the random state.
    random_state : int or None, default=0
        Seed of the draw.

    Returns
    -------
    bags : Bags
        The bags; ``instance_labels`` are 1 for the sought digit, ``instance_ids`` are the row
        numbers of ``sklearn.datasets.load_digits``.
    y : ndarray of shape (n_bags,)
        0 or 1.

    Examples
    --------
    >>> from bagwise.datasets import load_digits_bags
    >>> bags, y = load_digits_bags(digit=7, n_bags=20)
    >>> bags
    Bags(20 bags, 208 instances, 64 features, 5-15 instances a bag, float64)
    >>> int(y.sum()), bags[0].shape
    (10, (14, 64))
    """
    _check_choices(digit, rule, subset)
    for name, value in (("ratio", ratio), ("witness_rate", witness_rate)):
        if value is not None:
            check_fraction(name, value, positive=True)
    check_fraction("label_noise", label_noise)
    rng = np.random.default_rng(random_state)
    sizes = draw_sizes(bag_size, n_bags, rng)
    y = draw_labels(n_bags, positive_fraction, rng)
    counts = _witness_counts(rule, sizes, y, ratio, witness_rate, rng)
    offsets = as_offsets(sizes)
    sought = plant(offsets, counts, rng)
    rows = _draw_images(digit, subset, sought, rng)
    images, names = _digits()[0], _digits()[2]
    X = images[rows]
    if noise:
        X = X + rng.normal(scale=noise, size=X.shape)
    flipped = rng.permutation(n_bags)[: round(label_noise * n_bags)]
    y[flipped] = 1 - y[flipped]
    labels = sought.astype(np.int64)
    return Bags(X, offsets, instance_ids=rows, instance_labels=labels, feature_names=names), y


def _check_choices(digit: int, rule: str, subset: str) -> None:
    for name, value, allowed in (
        ("digit", digit, range(10)),
        ("rule", rule, ("any", "majority", "ratio")),
        ("subset", subset, ("all", "train", "test")),
    ):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {list(allowed)}, it is {value!r}.")


def _witness_counts(
    rule: str,
    sizes: Array,
    y: Array,
    ratio: float,
    witness_rate: float | None,
    rng: np.random.Generator,
) -> Array:
    if rule == "any":
        least = np.ones_like(sizes)
    elif rule == "majority":
        least = sizes // 2 + 1
    else:  # guard the ceiling against 0.3 * 10 = 3.0000000000000004
        least = np.maximum(1, np.ceil(ratio * sizes - 1e-9)).astype(np.int64)
    if rule == "any" and witness_rate is None:
        witness_rate = 0.2
    if witness_rate is None:
        positive = rng.integers(least, sizes, endpoint=True)
    else:
        positive = np.maximum(least, rng.binomial(sizes, witness_rate))
    return np.where(y == 1, positive, rng.integers(0, least))


def _draw_images(digit: int, subset: str, sought: Array, rng: np.random.Generator) -> Array:
    targets = _digits()[1]
    # The split is fixed: train and test bags of different random states stay disjoint.
    order = np.random.default_rng(0).permutation(len(targets))
    cut = round(_TRAIN_FRACTION * len(order))
    pool = {"all": order, "train": order[:cut], "test": order[cut:]}[subset]
    is_digit = targets[pool] == digit
    rows = np.empty(len(sought), dtype=np.int64)
    rows[sought] = rng.choice(pool[is_digit], size=int(sought.sum()))
    rows[~sought] = rng.choice(pool[~is_digit], size=int((~sought).sum()))
    return rows


@cache
def _digits() -> tuple[Array, Array, list[str]]:
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.data / 16.0, data.target, list(data.feature_names)
