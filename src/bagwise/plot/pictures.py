"""Pictures of instances: patches cut from slides, and bags of small images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.segments import bag_of_row, expand
from bagwise.io._files import require
from bagwise.plot._display import draws, plain
from bagwise.plot.heatmap import image_scale, patch_side, read_image

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
        As ``images`` of `bagwise.report`.

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
_TRUTH = {"facecolor": "#9fd3f5", "edgecolor": "none", "zorder": 1, "label": "true witness"}
_CHOICE = {"facecolor": "none", "edgecolor": "#d1480f", "linewidth": 2.4, "zorder": 3}
_PAPER = {"facecolor": "#f1f1f1", "edgecolor": "none", "zorder": 0}
_GAP = 0.12  # between images, and twice that between bags, as a fraction of an image
_AROUND = (3.0, 1.5)  # inches for the captions (two lines of 25 letters), for title and legend


@draws(
    bags="Every instance is a grayscale image, row by row; large values are dark. The true "
    "witnesses are those whose ``instance_labels`` are nonzero.",
    image_shape=("(int, int)", "Height and width of the images; square when None."),
    chosen=("array-like of int of shape (n_bags,)", "As from ``key_instances``; -1: no choice."),
    captions="One per bag, on its left; the ids of the bags when None.",
)
def image_bags(
    bags: Any,
    image_shape: tuple[int, int] | None = None,
    *,
    chosen: ArrayLike | None = None,
    captions: Sequence[str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw bags of images, one row per bag, and mark the true witnesses and the model's choice.

    Examples
    --------
    >>> image_bags(bags[:4], chosen=model.key_instances(bags[:4]))
    <Figure size ... with 1 Axes>
    """
    from matplotlib.figure import Figure

    bags = check_bags(bags)
    height, width = _image_shape(bags, image_shape)
    names = [f"bag {plain(name)}" for name in bags.ids] if captions is None else captions
    check_consistent_length(bags, names)
    left = (1 + _GAP) * (np.arange(bags.n_instances) - expand(bags.offsets[:-1], bags.offsets))
    tops = (height / width + 2 * _GAP) * np.arange(len(bags))
    corners = np.column_stack([left, expand(tops, bags.offsets)])
    size = (corners.max(axis=0) + (1, height / width)) / 2 + _AROUND  # half an inch per image
    axes = Figure(figsize=(size[0], size[1]), layout="constrained").subplots()
    _mark(axes, corners, height / width, _PAPER)
    _draw_images(axes, _ink(bags).reshape(-1, height, width), corners)
    if bags.instance_labels is not None:
        _mark(axes, corners[np.flatnonzero(bags.instance_labels)], height / width, _TRUTH)
    if chosen is not None:
        keys = np.asarray(chosen)
        picked = bags.flat(np.where(keys != -1, keys, 0))[keys != -1]
        _mark(axes, corners[picked], height / width, {**_CHOICE, "label": "the model's choice"})
    axes.set_yticks(tops + height / width / 2, names)
    axes.set(xticks=[], xlim=(-_GAP, left.max() + 1 + _GAP))
    axes.set_ylim(tops[-1] + height / width + _GAP, -_GAP)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if title:
        axes.set_title(title, loc="left", pad=26)
    if axes.get_legend_handles_labels()[0]:
        beside: Any = {"bbox_to_anchor": (0, 1), "borderaxespad": 0}
        axes.legend(loc="lower left", ncols=2, frameon=False, **beside)
    return axes.get_figure()  # type: ignore[return-value]


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


def _ink(bags: Bags) -> Array:
    """Return pixel values scaled to [0, 1], dark is 1."""
    X = np.asarray(bags.X.todense() if hasattr(bags.X, "todense") else bags.X, dtype=np.float64)
    return (X - X.min()) / (np.ptp(X) or 1.0)


def _draw_images(axes: Axes, ink: Array, corners: Array) -> None:
    for image, (left, top) in zip(ink, corners, strict=True):
        bottom = top + image.shape[0] / image.shape[1]
        rgba = np.zeros((*image.shape, 4))
        rgba[..., 3] = image  # black on whatever lies below
        axes.imshow(rgba, extent=(left, left + 1, bottom, top), interpolation="bicubic", zorder=2)


def _mark(axes: Axes, corners: Array, tall: float, style: dict[str, Any]) -> None:
    """Put a rectangle on each of the instances; the first one carries the legend's label."""
    from matplotlib.patches import Rectangle

    for corner in corners.tolist():
        axes.add_patch(Rectangle(corner, 1, tall, **style))
        style = {**style, "label": ""}
