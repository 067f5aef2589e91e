"""Molecules as bags of shapes: one of many conformations fits the binding site."""

from __future__ import annotations

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand, offsets_of
from bagwise.datasets._planting import BagSize, draw_labels, draw_sizes, draws, name_bags

_NOISE = 0.3  # deviation of what binds from the site, beside unit variance of all other features


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
    sizes = draw_sizes(bag_size, n_bags, rng)
    y = draw_labels(n_bags, positive_fraction, rng)
    offsets = offsets_of(sizes)
    site = 2.0 * rng.choice([-1.0, 1.0], size=n_binding)  # away from the middle of all shapes
    cores = rng.standard_normal((n_bags, n_features)) / np.sqrt(2)
    X = expand(cores, offsets) + rng.standard_normal((offsets[-1], n_features)) / np.sqrt(2)
    fits = (offsets[:-1] + rng.integers(0, sizes))[y == 1]
    X[fits, :n_binding] = site + _NOISE * rng.standard_normal((len(fits), n_binding))
    labels = np.zeros(len(X), dtype=np.int64)
    labels[fits] = 1
    return Bags(X, offsets, ids=name_bags("molecule", n_bags), instance_labels=labels), y
