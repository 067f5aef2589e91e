"""Pictures of instances: the highest of a model, and patches cut from slides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.segments import bag_of_row
from bagwise.estimators.discovery import is_calibrated
from bagwise.io._source import require
from bagwise.plot._display import Display, displays, plain
from bagwise.plot.heatmap import image_scale, patch_side, read_image
from bagwise.plot.scores import instance_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
