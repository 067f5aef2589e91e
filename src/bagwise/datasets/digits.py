"""Bags of handwritten digits: a real, bundled data set with known instance labels.

Instances are the 8 x 8 images of scikit-learn's ``load_digits``, so nothing is downloaded. A bag is
positive if it contains the target digit often enough. The "majority" and "ratio" rules follow the
cardinality assumptions of Hajimirsadeghi & Mori (2017).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import offsets_of
from bagwise.datasets import _planting as planting
from bagwise.datasets._planting import BagSize, draws

_TRAIN_FRACTION = 2 / 3  # of the images; the documentation says "two thirds"


@draws(
    digit="The target digit, 0 to 9.",
    rule=(
        '{"any", "majority", "ratio"}',
        "A bag of m images is positive if it contains at least one target digit, more than m / 2, "
        "or at least ``ratio * m``. Negative bags contain a smaller number, uniformly drawn.",
    ),
    witness_rate="Expected fraction of target digits in a positive bag (never fewer than the rule "
    'requires). None: 0.2 for "any", uniform over all counts that the rule allows otherwise.',
    ratio='Threshold of the rule "ratio".',
    noise="Standard deviation of Gaussian noise added to the pixels, which lie in [0, 1].",
    label_noise="Fraction of bag labels that are flipped after the bags are drawn.",
    subset=(
        '{"all", "train", "test"}',
        'Images to draw from. "train" (two thirds) and "test" never share an image, whatever the '
        "random state.",
    ),
)
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
    """Draw bags of handwritten digits, positive if they contain the target digit often enough.

    Returns
    -------
    bags : Bags
        The bags; ``instance_labels`` are 1 for the target digit, ``instance_ids`` are the row
        numbers of ``sklearn.datasets.load_digits``.
    y : ndarray of shape (n_bags,)
        0 or 1.

    Examples
    --------
    >>> from bagwise.datasets import load_digits_bags
    >>> bags, y = load_digits_bags(digit=7, n_bags=20)
    >>> bags
    Bags(20 bags, 208 instances, 64 features, 5-15 instances per bag, float64)
    >>> int(y.sum()), bags[0].shape
    (10, (14, 64))
    """
    planting.check_choice("digit", digit, range(10))
    planting.check_choice("rule", rule, ("any", "majority", "ratio"))
    planting.check_choice("subset", subset, ("all", "train", "test"))
    for name, value in (("ratio", ratio), ("witness_rate", witness_rate)):
        if value is not None:
            planting.check_fraction(name, value, positive=True)
    planting.check_fraction("label_noise", label_noise)
    rng = np.random.default_rng(random_state)
    sizes = planting.draw_sizes(bag_size, n_bags, rng)
    y = planting.draw_labels(n_bags, positive_fraction, rng)
    counts = _witness_counts(rule, sizes, y, ratio, witness_rate, rng)
    offsets = offsets_of(sizes)
    is_target = planting.plant(offsets, counts, rng)
    rows = _draw_images(digit, subset, is_target, rng)
    images, _, names = _digits()
    X = images[rows]
    if noise:
        X = X + rng.normal(scale=noise, size=X.shape)
    flipped = rng.permutation(n_bags)[: round(label_noise * n_bags)]
    y[flipped] = 1 - y[flipped]
    labels = is_target.astype(np.int64)
    return Bags(X, offsets, instance_ids=rows, instance_labels=labels, feature_names=names), y


def _witness_counts(
    rule: str, sizes: Array, y: Array, ratio: float, rate: float | None, rng: np.random.Generator
) -> Array:
    least = {
        "any": np.ones_like(sizes),
        "majority": sizes // 2 + 1,
        "ratio": np.maximum(1, planting.round_up(ratio, sizes)),
    }[rule]
    rate = 0.2 if rate is None and rule == "any" else rate
    if rate is None:
        positive = rng.integers(least, sizes, endpoint=True)
    else:
        positive = np.maximum(least, rng.binomial(sizes, rate))
    return np.where(y == 1, positive, rng.integers(0, least))


def _draw_images(digit: int, subset: str, is_target: Array, rng: np.random.Generator) -> Array:
    targets = _digits()[1]
    # A fixed split keeps train and test bags disjoint for all random states.
    order = np.random.default_rng(0).permutation(len(targets))
    cut = round(_TRAIN_FRACTION * len(order))
    pool = {"all": order, "train": order[:cut], "test": order[cut:]}[subset]
    is_digit = targets[pool] == digit
    rows = np.empty(len(is_target), dtype=np.int64)
    rows[is_target] = rng.choice(pool[is_digit], size=int(is_target.sum()))
    rows[~is_target] = rng.choice(pool[~is_digit], size=int((~is_target).sum()))
    return rows


@cache
def _digits() -> tuple[Array, Array, list[str]]:
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.data / 16, data.target, list(data.feature_names)
