"""The instances a model scores highest, as pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bagwise._typing import Array
from bagwise.plot._display import Display, displays, plain
from bagwise.plot.scores import instance_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL_INCHES = 1.1  # of a picture with its caption
_COLUMNS = 8  # pictures that fit side by side on a page


@dataclass
class TopInstancesDisplay(Display):
    """A sheet of the instances with the highest scores.

    Parameters
    ----------
    pictures : list of ndarray
        One picture per instance, grayscale (h, w) or color (h, w, 3).
    captions : list of str
        Bag and score of each.

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
        _, seen, scores = instance_scores(model, bags)
        picture = picture_of(images, seen.n_instances)
        bag = np.repeat(np.arange(len(seen)), seen.sizes)
        rows = np.argsort(-scores, kind="stable")[:top]
        captions = [f"{plain(seen.ids[bag[row]])}\n{scores[row]:.2f}" for row in rows]
        return cls([picture(int(row)) for row in rows], captions).plot(ax)

    def _grid(self) -> tuple[int, int]:
        """Return the numbers of columns and rows."""
        columns = min(_COLUMNS, len(self.pictures))
        return columns, -(-len(self.pictures) // columns)

    def _size(self) -> tuple[float, float]:
        columns, rows = self._grid()
        return (_CELL_INCHES * columns, 1.3 * _CELL_INCHES * rows)

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
    if isinstance(images[0], str | Path):
        return lambda row: _read(images[row])
    return lambda row: np.asarray(images[row])


def _read(path: Any) -> Array:
    from matplotlib.image import imread

    return np.asarray(imread(path))
