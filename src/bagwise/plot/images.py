"""Bags of small images, one bag per row, with the responsible instances marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.segments import expand
from bagwise.plot._display import draws, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# A tint and a frame: they differ in shape as well as in color, also for color-blind readers.
_TRUTH = {"facecolor": "#9fd3f5", "edgecolor": "none"}
_CHOICE = {"facecolor": "none", "edgecolor": "#d1480f", "linewidth": 2.4}
_PAPER = {"facecolor": "#f1f1f1", "edgecolor": "none"}
_GAP = 0.12  # between images, and twice that between bags, as a fraction of an image
_AROUND = (3.0, 1.5)  # inches for the captions (two lines of 25 letters), for title and legend


@draws(
    bags="Every instance is a grayscale image, row by row; large values are dark.",
    image_shape=("(int, int)", "Height and width of the images; square when None."),
    chosen=("array-like of int of shape (n_bags,)", "As from ``key_instances``; -1: no choice."),
    truth=(
        "array-like of shape (n_instances,)",
        "Nonzero for true witnesses; ``bags.instance_labels`` when None.",
    ),
    captions="One per bag, on its left; the ids of the bags when None.",
    columns="Maximum number of images per row; larger bags continue in the next row.",
)
def image_bags(
    bags: Any,
    image_shape: tuple[int, int] | None = None,
    *,
    chosen: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    captions: Sequence[str] | None = None,
    title: str | None = None,
    columns: int = 16,
) -> Figure:
    """Draw bags of images, and mark the true witnesses and the model's choice.

    Examples
    --------
    >>> image_bags(bags[:4], chosen=model.key_instances(bags[:4]))
    <Figure size ... with 1 Axes>
    """
    from matplotlib.figure import Figure

    bags = check_bags(bags)
    height, width = _image_shape(bags, image_shape)
    places = _place(bags, columns, height / width)
    known = bags.instance_labels if truth is None else _one_per_instance(bags, truth)
    picked = np.empty(0, int) if chosen is None else _choose_rows(bags, chosen)
    labels = _captions(bags, captions)

    size = np.array([places.wide, places.high]) / 2 + _AROUND  # an image is half an inch wide
    figure = Figure(figsize=(size[0], size[1]), layout="constrained")
    axes = figure.subplots()
    _draw_images(axes, _ink(bags).reshape(-1, height, width), places)
    if known is not None:
        _mark(axes, places, np.flatnonzero(known), "true witness", zorder=1, **_TRUTH)
    if chosen is not None:
        _mark(axes, places, picked, "the model's choice", zorder=3, **_CHOICE)
    _dress(axes, places, labels, title)
    return figure


@dataclass(frozen=True)
class _Places:
    """Where the images go, in cells: left and top of every instance, the middle of every bag."""

    left: Array
    top: Array
    middle: Array
    tall: float
    wide: float
    high: float


def _place(bags: Bags, columns: int, tall: float) -> _Places:
    if columns < 1:
        raise ValueError(f"columns must be at least 1, it is {columns}.")
    position = np.arange(bags.n_instances) - expand(bags.offsets[:-1], bags.offsets)
    rows = -(-bags.sizes // columns)
    bag_height = rows * (tall + _GAP) + _GAP
    bag_top = np.cumsum(bag_height) - bag_height
    left = (position % columns) * (1 + _GAP)
    top = expand(bag_top, bags.offsets) + (position // columns) * (tall + _GAP)
    middle = bag_top + (bag_height - 2 * _GAP) / 2
    return _Places(left, top, middle, tall, left.max() + 1, float(bag_height.sum()))


def _image_shape(bags: Bags, image_shape: tuple[int, int] | None) -> tuple[int, int]:
    side = isqrt(bags.n_features)
    height, width = (side, side) if image_shape is None else image_shape
    if height < 1 or height * width != bags.n_features:
        given = "square" if image_shape is None else f"{height} x {width}"
        raise ValueError(
            f"The instances have {bags.n_features} features, which do not fill a {given} image: "
            "pass image_shape=(height, width) with height * width equal to that number."
        )
    return height, width


def _one_per_instance(bags: Bags, truth: ArrayLike) -> Array:
    known = np.asarray(truth)
    if known.shape != (bags.n_instances,):
        raise ValueError(
            f"truth has shape {known.shape}, expected {(bags.n_instances,)}: one per instance."
        )
    return known


def _choose_rows(bags: Bags, chosen: ArrayLike) -> Array:
    keys = np.asarray(chosen)
    return bags.flat(np.where(keys != -1, keys, 0))[keys != -1]


def _captions(bags: Bags, captions: Sequence[str] | None) -> list[str]:
    if captions is None:
        return [f"bag {plain(bag_id)}" for bag_id in bags.ids]
    if len(captions) != len(bags):
        raise ValueError(f"There are {len(captions)} captions for {len(bags)} bags.")
    return list(captions)


def _ink(bags: Bags) -> Array:
    """Return pixel values scaled to [0, 1], dark is 1."""
    X = np.asarray(bags.X.todense() if hasattr(bags.X, "todense") else bags.X, dtype=np.float64)
    lowest, highest = X.min(), X.max()
    return (X - lowest) / (highest - lowest if highest > lowest else 1.0)


def _draw_images(axes: Axes, ink: Array, places: _Places) -> None:
    _mark(axes, places, np.arange(len(ink)), None, zorder=0, **_PAPER)
    for image, left, top in zip(ink, places.left, places.top, strict=True):
        rgba = np.zeros((*image.shape, 4))
        rgba[..., 3] = image  # black on whatever lies below
        extent = (left, left + 1, top + places.tall, top)
        axes.imshow(rgba, extent=extent, interpolation="bicubic", zorder=2)


def _mark(axes: Axes, places: _Places, rows: Array, label: str | None, **style: Any) -> None:
    """Put a rectangle on each of the instances; the first one carries the legend's label."""
    from matplotlib.patches import Rectangle

    for number, row in enumerate(rows):
        corner = (float(places.left[row]), float(places.top[row]))
        name = label if number == 0 else None
        axes.add_patch(Rectangle(corner, 1, places.tall, label=name, **style))


def _dress(axes: Axes, places: _Places, labels: list[str], title: str | None) -> None:
    axes.set_xlim(-_GAP, places.wide + _GAP)
    axes.set_ylim(places.high, -_GAP)
    axes.set_yticks(places.middle, labels)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if title:
        axes.set_title(title, loc="left", pad=26)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0, ncols=2, frameon=False
        )
