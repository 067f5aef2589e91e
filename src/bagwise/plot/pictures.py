"""Pictures of instances: the highest of a model, patches cut from slides, bags of small images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.segments import bag_of_row, expand
from bagwise.estimators.discovery import is_calibrated
from bagwise.io._source import require
from bagwise.plot._display import Display, displays, draws, plain
from bagwise.plot.heatmap import image_scale, patch_side, read_image
from bagwise.plot.scores import instance_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass
class TopInstancesDisplay(Display):
    """A sheet of the instances with the highest scores.

    Parameters
    ----------
    pictures : list of ndarray
        One picture per instance, grayscale (h, w) or color (h, w, 3).
    captions : list of str
        Bag and score (or p-value, where the model has them) of each.

    Examples
    --------
    >>> images = bags.X.reshape(-1, 8, 8)
    >>> shown = TopInstancesDisplay.from_estimator(model, bags, images, top=6)
    >>> len(shown.pictures)
    6
    """

    pictures: list[Array]
    captions: list[str]

    @classmethod
    @displays(
        model="Fitted; two classes, with instance scores.",
        images=(
            "array of shape (n_instances, h, w[, 3]), sequence of paths, or callable",
            ("A picture per instance, aligned with ``bags.X``; a callable takes a row number."),
        ),
        top="Maximum number of pictures.",
    )
    def from_estimator(
        cls, model: Any, bags: Any, images: Any, *, top: int = 24, ax: Axes | None = None
    ) -> Self:
        """Draw the pictures of the highest instances."""
        inner, seen, scores = instance_scores(model, bags)
        known = is_calibrated(inner)
        sign, shown = ("p = ", inner.instance_pvalues(seen)) if known else ("", scores)
        picture = picture_of(images, seen.n_instances)
        bag = np.repeat(np.arange(len(seen)), seen.sizes)
        rows = np.argsort(-scores, kind="stable")[:top]
        captions = [f"{plain(seen.ids[bag[row]])}\n{sign}{shown[row]:.2g}" for row in rows]
        return cls([picture(int(row)) for row in rows], captions).plot(ax)

    def _grid(self) -> tuple[int, int]:
        """Return the numbers of columns and rows."""
        columns = isqrt(len(self.pictures) - 1) + 1  # about as many as rows
        return columns, -(-len(self.pictures) // columns)

    def _n_lines(self) -> int:
        return 5 * self._grid()[1]  # a picture and two lines of caption

    def _draw(self, ax: Axes) -> None:
        """Draw the sheet, row by row."""
        columns, rows = self._grid()
        for i, (picture, caption) in enumerate(zip(self.pictures, self.captions, strict=True)):
            left, top = 1.1 * (i % columns), 1.5 * (i // columns)
            ax.imshow(picture, extent=(left, left + 1, top + 1, top), cmap="gray_r")
            ax.text(left + 0.5, top + 1.05, caption, ha="center", va="top", fontsize=7)
        ax.set(xlim=(-0.05, 1.1 * columns), ylim=(1.5 * rows, -0.05))
        ax.set_axis_off()


def picture_of(images: Any, n_instances: int) -> Callable[[int], Array]:
    """Return a function from a row number to its picture; paths are read when asked for."""
    if callable(images):
        return lambda row: np.asarray(images(row))
    if len(images) != n_instances:
        raise ValueError(f"There are {len(images)} images for {n_instances} instances.")
    return lambda row: read_image(images[row])


SLIDES = (".svs", ".tif", ".tiff", ".ndpi", ".scn", ".bif")  # what tiffslide reads
LEAST_SIDE = 24  # pixels of a picture: a patch of fewer is not recognized


def slide_tiles(bags: Any, files: Mapping[Any, str | Path]) -> Any:
    """Return a function from the number of an instance to its picture.

    Patches are cut out of slides where they lie (extra ``slides``), or out of thumbnails, where a
    patch is shown with its surroundings if it has few pixels.

    Parameters
    ----------
    bags : Bags
        With ``coords``.
    files : mapping of bag id to str or Path
        The slide, or a thumbnail of it, of every bag whose pictures will be asked for.

    Returns
    -------
    callable
        As ``images`` of `bagwise.report` and `TopInstancesDisplay`.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.image import imsave
    >>> from bagwise.datasets import make_slide_bags
    >>> from bagwise.plot import slide_tiles
    >>> bags, _ = make_slide_bags(n_bags=2, bag_size=40)
    >>> thumbnail = getfixture("tmp_path") / "slide-000.png"
    >>> imsave(thumbnail, np.random.default_rng(0).random((80, 80, 3)))
    >>> slide_tiles(bags, {"slide-000": thumbnail})(3).shape
    (24, 24, 4)
    """
    bags = check_bags(bags, finite=False)
    if bags.coords is None:
        raise ValueError("The bags have no coordinates: patches cannot be found on slides.")
    opened = lru_cache(maxsize=2)(lambda number: _Slide(bags, number, files))
    return lambda row: opened(bag_of_row(row, bags.offsets)).tile(bags.coords[row])


class _Slide:
    """A slide or its thumbnail, from which squares are cut."""

    def __init__(self, bags: Bags, number: int, files: Mapping[Any, str | Path]) -> None:
        name = bags.ids.tolist()[number]
        if name not in files:
            raise ValueError(f"There is no slide or thumbnail of bag {name!r}.")
        self.side, file = patch_side(bags, number), Path(files[name])
        self.slide = self.image = None
        if file.suffix.lower() in SLIDES:
            require("tiffslide", "slides")
            from tiffslide import TiffSlide

            self.slide = TiffSlide(file)
            return
        self.image = read_image(file)
        corners = bags.coords[bags.offsets[number] : bags.offsets[number + 1]]
        self.scale = image_scale(self.image, corners, self.side)

    def tile(self, corner: Array) -> Array:
        if self.slide is not None:
            size = (round(self.side), round(self.side))
            return np.asarray(self.slide.read_region((int(corner[0]), int(corner[1])), 0, size))
        assert self.image is not None
        wide = max(self.side / self.scale, LEAST_SIDE)
        middle = (corner + self.side / 2) / self.scale
        room = np.array(self.image.shape[1::-1]) - wide
        left, top = np.clip(middle - wide / 2, 0, np.maximum(room, 0)).astype(int)
        return self.image[top : top + round(wide), left : left + round(wide)]


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
