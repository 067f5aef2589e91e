"""Whole-slide images as bags of patches: positions on a grid, and a tumor that is connected."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from scipy.sparse.csgraph import dijkstra

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import offsets_of
from bagwise.datasets import _planting as planting
from bagwise.datasets._planting import BagSize, draws

_N_TISSUES = 3  # kinds of normal tissue, such as stroma, fat and epithelium
_SPARE = 1.6  # side of the grid over that of a square of as many patches: room for ragged edges


@draws(
    n_bags="Number of slides.",
    n_features="Number of features of a patch.",
    witness_rate=(
        "float or (float, float)",
        "Fraction of tumor patches in a positive slide, in (0, 1]; a pair is a range of fractions.",
    ),
    shift="Distance between the means of tumor and normal tissue; features have unit variance.",
    stain="Standard deviation of a slide's offset, per feature.",
    positive_fraction="Fraction of positive slides.",
    patch_size="Distance of neighboring patches in ``bags.coords``, in pixels.",
)
def make_slide_bags(
    n_bags: int = 60,
    n_features: int = 64,
    *,
    bag_size: BagSize = (50, 400),
    witness_rate: float | tuple[float, float] = 0.05,
    shift: float = 6.0,
    stain: float = 0.3,
    positive_fraction: float = 0.5,
    patch_size: int = 256,
    dtype: DTypeLike = np.float16,
    random_state: int | None = 0,
) -> tuple[Bags, Array]:
    """Draw slides: patches of tissue on a grid, and in positive slides a connected tumor.

    The tissue of a slide is a connected, ragged part of a grid, divided into areas of three kinds
    with different means. A positive slide of m patches has a connected region of
    max(1, round(witness_rate * m)) tumor patches, whose features are shifted along one direction.
    All patches of a slide share a random offset, as scanners and stains cause. Slides are drawn one
    after the other into one array.

    Examples
    --------
    >>> from bagwise.datasets import make_slide_bags
    >>> bags, y = make_slide_bags(n_bags=10, bag_size=(20, 80))
    >>> bags.ids[0], bags.X.dtype, bags.coords.shape == (bags.n_instances, 2)
    (np.str_('slide-000'), dtype('float16'), True)
    >>> bags.coords[:2].tolist()
    [[1536, 512], [2048, 512]]
    """
    rates = np.atleast_1d(witness_rate)
    for rate in rates.tolist():
        planting.check_fraction("witness_rate", rate, positive=True)
    rng = np.random.default_rng(random_state)
    sizes = planting.draw_sizes(bag_size, n_bags, rng)
    y = planting.draw_labels(n_bags, positive_fraction, rng)
    of_slides = rates if len(rates) == 1 else rng.uniform(rates[0], rates[-1], size=n_bags)
    n_tumor = np.maximum(1, np.rint(of_slides * sizes)).astype(np.int64) * y
    direction = rng.standard_normal(n_features)
    direction *= shift / np.linalg.norm(direction)
    means = rng.standard_normal((_N_TISSUES, n_features))
    offsets = offsets_of(sizes)
    X = np.empty((offsets[-1], n_features), dtype=dtype)
    coords = np.empty((offsets[-1], 2), dtype=np.int64)
    is_tumor = np.zeros(offsets[-1], dtype=bool)
    for i in range(n_bags):
        rows = slice(offsets[i], offsets[i + 1])
        grid, kind, is_tumor[rows] = _slide(int(sizes[i]), int(n_tumor[i]), rng)
        patches = rng.standard_normal((sizes[i], n_features)) + means[kind]
        patches += stain * rng.standard_normal(n_features) + np.outer(is_tumor[rows], direction)
        X[rows], coords[rows] = patches, patch_size * grid
    labels = is_tumor.astype(np.int64)
    side = np.full(n_bags, float(patch_size))
    bags = Bags(
        X,
        offsets,
        ids=planting.name_bags("slide", n_bags),
        instance_labels=labels,
        coords=coords,
        patch_size=side,
    )
    return bags, y


def _slide(n_patches: int, n_tumor: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return the patches' places on the grid, their kinds of tissue, and which are tumor."""
    side = int(np.ceil(_SPARE * np.sqrt(n_patches))) + 1
    lattice = _lattice(side, rng)
    tissue = np.sort(_nearest(lattice, side * (side // 2) + side // 2, n_patches))
    grid = np.column_stack([tissue % side, tissue // side])
    centers = grid[rng.integers(n_patches, size=_N_TISSUES)]
    kind = ((grid[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    is_tumor = np.zeros(n_patches, dtype=bool)
    if n_tumor:
        within = lattice[tissue][:, tissue]
        is_tumor[_nearest(within, int(rng.integers(n_patches)), n_tumor)] = True
    return grid, kind, is_tumor


def _lattice(side: int, rng: np.random.Generator) -> Any:
    """Return the distances of neighboring cells of a square grid, at random."""
    cells = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate(
        [
            np.column_stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()]),
            np.column_stack([cells[:-1].ravel(), cells[1:].ravel()]),
        ]
    )
    lengths = rng.uniform(0.2, 1.0, size=len(pairs))  # uneven: edges become ragged
    graph = sp.coo_array((lengths, pairs.T), shape=(side * side, side * side))
    return (graph + graph.T).tocsr()


def _nearest(graph: Any, start: int, count: int) -> Array:
    """Return the nodes nearest to a start; with their shortest paths, they are connected."""
    return np.argsort(dijkstra(graph, indices=start), kind="stable")[:count]
