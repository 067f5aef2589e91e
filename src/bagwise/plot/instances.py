"""The instances a model scores highest, as pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bagwise._typing import Array
from bagwise.plot._display import Display, displays, plain
from bagwise.plot.heatmap import read_image
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
