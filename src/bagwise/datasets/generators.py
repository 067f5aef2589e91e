"""Generators with known instance labels: regions of a plane, shifted Gaussians, molecules."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand, offsets_of
from bagwise.datasets import _planting as planting
from bagwise.datasets._planting import BagSize, draws
from bagwise.io._files import rows_per_block

_HALF_WIDTH = 3.0  # of the square in section 5 of Gehler & Chapelle (2007)
_NOISE = 0.3  # deviation of what binds from the site, beside unit variance of all other features

_REGIONS: dict[str, Callable[[Array], Array]] = {
    "disc": lambda p: np.hypot(p[:, 0], p[:, 1]) < 1.5,
    "band": lambda p: np.abs(p[:, 1] - np.sin(p[:, 0])) < 0.75,
    "quadrants": lambda p: p[:, 0] * p[:, 1] > 0,
}


@draws(
    n_bags="Number of bags (the paper trains on 30 and tests on 100).",
    fraction="Fraction f of positive points in a positive bag, in (0, 1].",
    region=(
        '{"disc", "band", "quadrants"} or callable',
        "The positive region: a disc of radius 1.5, a band around a sine, two opposite quadrants, "
        "or a callable from points of shape (n, 2) to booleans.",
    ),
)
def make_toy2d(
    n_bags: int = 30,
    fraction: float = 0.3,
    *,
    bag_size: BagSize = (1, 10),
    region: str | Callable[[Array], Array] = "disc",
    random_state: int | None = 0,
) -> tuple[Bags, Array]:
    """Draw bags of points in the plane, as in section 5 of Gehler & Chapelle (2007).

    Labels are drawn uniformly, sizes m uniformly from 1 to 10. A positive bag contains
    ceil(fraction * m) points of the positive region and the rest from the negative one, a negative
    bag only points of the negative region, all uniform in the square [-3, 3] x [-3, 3]. The paper
    shows its regions only in a figure; there are three to choose from here.

    Examples
    --------
    >>> from bagwise.datasets import make_toy2d
    >>> bags, y = make_toy2d(n_bags=30, fraction=0.5)
    >>> bags.n_features, len(y)
    (2, 30)
    """
    planting.check_fraction("fraction", fraction, positive=True)
    is_inside = _region(region)
    rng = np.random.default_rng(random_state)
    y = rng.integers(0, 2, size=n_bags)
    sizes = planting.draw_sizes(bag_size, n_bags, rng)
    offsets = offsets_of(sizes)
    is_positive = planting.plant(offsets, y * planting.round_up(fraction, sizes), rng)
    X = np.empty((len(is_positive), 2))
    for label in (True, False):
        X[is_positive == label] = _sample(is_inside, label, int((is_positive == label).sum()), rng)
    labels = is_positive.astype(np.int64)
    return Bags(X, offsets, instance_labels=labels, feature_names=["x", "y"]), y


def _region(region: str | Callable[[Array], Array]) -> Callable[[Array], Array]:
    if callable(region):
        return region
    planting.check_choice("region", region, _REGIONS)
    return _REGIONS[region]


def _sample(
    is_inside: Callable[[Array], Array], wanted: bool, count: int, rng: np.random.Generator
) -> Array:
    """Draw points of a region by rejection; one hit per block of points is too few."""
    found, n_drawn = np.empty((0, 2)), 0
    while n_drawn <= rows_per_block(2) * (1 + len(found)):
        if len(found) >= count:
            return found[:count]
        points = rng.uniform(-_HALF_WIDTH, _HALF_WIDTH, size=(4 * count + 16, 2))
        n_drawn += len(points)
        found = np.concatenate([found, points[np.asarray(is_inside(points), dtype=bool) == wanted]])
    kind = "positive" if wanted else "negative"
    raise ValueError(f"The {kind} region is (almost) empty in the square [-3, 3] x [-3, 3].")


@draws(
    witness_rate="Fraction of witnesses in a positive bag, in (0, 1].",
    shift="Distance between the means of witnesses and background.",
    direction=("array-like of shape (n_features,)", "Direction of the shift; None: a random one."),
)
def make_gaussian_bags(
    n_bags: int = 200,
    n_features: int = 20,
    *,
    bag_size: BagSize = (5, 15),
    witness_rate: float = 0.2,
    shift: float = 3.0,
    direction: ArrayLike | None = None,
    positive_fraction: float = 0.5,
    dtype: DTypeLike = np.float64,
    random_state: int | None = 0,
) -> tuple[Bags, Array]:
    """Draw bags of Gaussian instances; the witnesses of positive bags are shifted.

    Background instances are standard normal. A positive bag of m instances contains
    max(1, round(witness_rate * m)) witnesses, whose mean is ``shift`` along one direction. The
    instances are drawn in place, block by block, and need no more memory than their array.

    Examples
    --------
    >>> from bagwise.datasets import make_gaussian_bags
    >>> bags, y = make_gaussian_bags(n_bags=10, bag_size=5, dtype="float32", positive_fraction=0.2)
    >>> bags
    Bags(10 bags, 50 instances, 20 features, 5-5 instances per bag, float32)
    >>> int(y.sum()), int(bags.instance_labels.sum())
    (2, 2)
    """
    planting.check_fraction("witness_rate", witness_rate, positive=True)
    rng = np.random.default_rng(random_state)
    sizes = planting.draw_sizes(bag_size, n_bags, rng)
    y = planting.draw_labels(n_bags, positive_fraction, rng)
    counts = np.maximum(1, np.rint(witness_rate * sizes)).astype(np.int64) * y
    offsets = offsets_of(sizes)
    is_witness = planting.plant(offsets, counts, rng)
    means = shift * _unit(direction, n_features, rng)
    X = np.empty((len(is_witness), n_features), dtype=dtype)
    step = rows_per_block(n_features)
    for start in range(0, len(X), step):
        block = rng.standard_normal((len(X[start : start + step]), n_features))
        block[is_witness[start : start + step]] += means
        X[start : start + step] = block
    return Bags(X, offsets, instance_labels=is_witness.astype(np.int64)), y


def _unit(direction: ArrayLike | None, n_features: int, rng: np.random.Generator) -> Array:
    vector = rng.standard_normal(n_features) if direction is None else np.asarray(direction, float)
    length = np.linalg.norm(vector)
    if vector.shape != (n_features,) or not length > 0:
        raise ValueError(f"direction must be {n_features} numbers, not all zero.")
    return vector / length


@draws(
    n_bags="Number of molecules.",
    n_features="Number of features that describe a shape.",
    n_binding="Number of features that must fit the site, at most ``n_features``.",
    positive_fraction="Fraction of active molecules.",
)
def make_molecule_bags(
    n_bags: int = 120,
    n_features: int = 40,
    *,
    bag_size: BagSize = (2, 20),
    n_binding: int = 8,
    positive_fraction: float = 0.5,
    random_state: int | None = 0,
) -> tuple[Bags, Array]:
    """Draw molecules: conformations around a common core, one of which fits in active molecules.

    A conformation is the core of its molecule plus an equally large deviation, with unit variance
    in all. In one conformation of an active molecule the first ``n_binding`` features lie close to
    those of the binding site, which is the drug activity problem of Dietterich et al. (1997).

    Examples
    --------
    >>> from bagwise.datasets import make_molecule_bags
    >>> bags, y = make_molecule_bags(n_bags=10, bag_size=5)
    >>> bags.ids[0], int(y.sum()), int(bags.instance_labels.sum())
    (np.str_('molecule-000'), 5, 5)
    """
    if not 1 <= n_binding <= n_features:
        raise ValueError(f"n_binding must be between 1 and {n_features}, got {n_binding}.")
    rng = np.random.default_rng(random_state)
    sizes = planting.draw_sizes(bag_size, n_bags, rng)
    y = planting.draw_labels(n_bags, positive_fraction, rng)
    offsets = offsets_of(sizes)
    site = 2.0 * rng.choice([-1.0, 1.0], size=n_binding)  # away from the middle of all shapes
    cores = rng.standard_normal((n_bags, n_features)) / np.sqrt(2)
    X = expand(cores, offsets) + rng.standard_normal((offsets[-1], n_features)) / np.sqrt(2)
    fits = (offsets[:-1] + rng.integers(0, sizes))[y == 1]
    X[fits, :n_binding] = site + _NOISE * rng.standard_normal((len(fits), n_binding))
    labels = np.zeros(len(X), dtype=np.int64)
    labels[fits] = 1
    return Bags(X, offsets, ids=planting.name_bags("molecule", n_bags), instance_labels=labels), y
