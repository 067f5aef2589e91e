"""Pictures of patches, cut from the slides or from their thumbnails."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.segments import bag_of_row
from bagwise.io._source import require
from bagwise.plot.heatmap import image_scale, patch_side, read_image

SLIDES = (".svs", ".tif", ".tiff", ".ndpi", ".scn", ".bif")  # what tiffslide reads
_LEAST = 24  # pixels of a thumbnail that are shown: a patch of fewer is not recognized alone


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
        wide = max(self.side / self.scale, _LEAST)
        middle = (corner + self.side / 2) / self.scale
        room = np.array(self.image.shape[1::-1]) - wide
        left, top = np.clip(middle - wide / 2, 0, np.maximum(room, 0)).astype(int)
        return self.image[top : top + round(wide), left : left + round(wide)]
