"""What the page knows of each bag: its scores, its instances, pictures of them, and why."""

from __future__ import annotations

import base64
from collections.abc import Callable
from io import BytesIO
from math import isqrt
from typing import Any

import numpy as np
from scipy.ndimage import binary_dilation

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import segment_argmax
from bagwise.errors import list_names
from bagwise.estimators.discovery import LEVEL, is_calibrated
from bagwise.estimators.explanation import name_features, part_columns
from bagwise.metrics import positive_class, unwrap_model
from bagwise.plot.heatmap import instance_colors, patch_side, place_parts
from bagwise.plot.pictures import LEAST_SIDE, picture_of
from bagwise.reports.judgment import short

_TOP = 3  # instances shown per bag: a line of thumbnails
_PIXELS = 3_000_000  # of all thumbnails: a page of noise, which compresses worst, is below 5 MB
_LARGER = 4  # pixels per patch where a line is drawn around some
_CELLS = 256  # along a strip or a heat map: a page or a phone shows no more


class BagRows:
    """Rows of the table of bags, as plain values for the page.

    ``heads`` say what each bag is and what is predicted.
    """

    def __init__(self, model: Any, bags: Bags, heads: list[dict[str, Any]], images: Any) -> None:
        self.model, self.seen = unwrap_model(model, bags)
        self.bags, self.heads = bags, heads
        of_classes = getattr(self.model, "task", "classes") == "classes"
        self.picture = None if images is None else picture_of(images, bags.n_instances)
        self.side = min(max(isqrt(_PIXELS // (_TOP * len(bags))), LEAST_SIDE), 2 * LEAST_SIDE)
        self.scores: Array | None = None
        self.pvalues: Array | None = None
        if hasattr(self.model, "instance_decision_function"):
            self.scores = scores = self.model.instance_decision_function(self.seen)
            if of_classes:
                self.scores = scores = positive_class(self.model)[1] * scores
            self.keys = scores if of_classes else self.model._key_scores(self.seen)[:, 0]
            if is_calibrated(self.model):
                self.pvalues = self.model.instance_pvalues(self.seen)
            middle = 0.0 if of_classes else np.median(scores)
            self.colors = instance_colors(scores - middle, self.pvalues)
            self.parts = part_columns(self.bags, scores)
            self.why = [""] * len(bags)
            if hasattr(self.model, "_slopes"):
                highest = bags.offsets[:-1] + segment_argmax(self.keys, bags.offsets)
                column = np.zeros(len(bags), dtype=int)
                self.why = name_features(self.model, self.seen, highest, column)[0].tolist()

    def all(self, tell: Callable[[str, int, int], None]) -> list[dict[str, Any]]:
        """Return one row per bag; ``tell`` hears how many are done."""
        rows = []
        for i in range(len(self.bags)):
            tell("Drawing bags", i, len(self.bags))
            rows.append(self._row(i))
        return rows

    def _row(self, i: int) -> dict[str, Any]:
        row = {"id": str(self.bags.ids[i]), **self.heads[i], "size": int(self.bags.sizes[i])}
        if self.bags.groups is not None:
            row["group"] = str(self.bags.groups[i])
        return row if self.scores is None else row | self._instances(i, self.scores)

    def _instances(self, i: int, scores: Array) -> dict[str, Any]:
        start, stop = int(self.bags.offsets[i]), int(self.bags.offsets[i + 1])
        order = start + np.argsort(-self.keys[start:stop], kind="stable")
        best = order[:_TOP]
        top = [self._instance(int(k), int(k) - start, scores[k]) for k in best]
        row: dict[str, Any] = {
            "key": top[0]["name"],
            "top": top,
            "strip": _png(self.colors[_thin_out(order)][None]),
            "why": self.why[i],
        }
        if self.pvalues is not None:
            row["discoveries"] = int(np.sum(self.pvalues[start:stop] <= LEVEL))
        if self.parts:
            row["parts"] = _list_parts({k: v[start:stop] for k, v in self.parts.items()})
        if self.bags.coords is not None and (stop - start) > 1:
            row["map"], row["order"] = self._map(i, order[::-1])
        return row

    def _instance(self, row: int, position: int, score: float) -> dict[str, Any]:
        named = self.bags.has_instance_ids
        name = str(self.bags.instance_ids[row]) if named else str(position)
        if self.bags.parts is not None:
            name = f"{self.bags.parts[row]}: {name}"
        shown = {"name": name, "score": short(score)}
        if self.pvalues is not None:
            shown["p"] = short(self.pvalues[row])
        if self.picture is not None:
            shown["image"] = _thumbnail(self.picture(row), self.side)
        return shown

    def _map(self, i: int, rows: Array) -> tuple[str, str]:
        """Return a picture with one pixel per patch, discoveries outlined, and the parts in it."""
        side = patch_side(self.bags, i)
        corners, parts = place_parts(self.bags, i, side)
        side = max(side, np.ptp(corners, axis=0).max() / _CELLS)
        placed = corners[rows - self.bags.offsets[i]] - corners.min(axis=0)
        cells = (placed // side).astype(int)
        wide, tall = cells.max(axis=0) + 1
        picture, found = np.zeros((tall, wide, 4), np.uint8), np.zeros((tall, wide), dtype=bool)
        picture[cells[:, 1], cells[:, 0]] = self.colors[rows]  # in a shared pixel, the highest wins
        if self.pvalues is not None:
            found[cells[:, 1], cells[:, 0]] = self.pvalues[rows] <= LEVEL
        return _png(_outline(picture, found) if found.any() else picture), list_names(parts)


def _list_parts(columns: dict[str, Array]) -> str:
    """Return the shares of the parts of a bag as a text, the largest first, without those of 0."""
    shares = dict(zip(columns["part"].tolist(), columns["part_share"].tolist(), strict=True))
    order = sorted((name for name in shares if shares[name] > 0), key=lambda name: -shares[name])
    return list_names(f"{name} {shares[name]:.0%}" for name in order)


def _thin_out(values: Array) -> Array:
    """Return at most `_CELLS` of sorted instances, evenly spaced."""
    return values[np.linspace(0, len(values) - 1, min(len(values), _CELLS)).astype(int)]


def _outline(picture: Array, found: Array) -> Array:
    """Return a larger picture with a line around the pixels that were found."""
    edge = (1, 1), (1, 1), (0, 0)  # room for the line
    larger, inside = (np.repeat(np.repeat(x, _LARGER, 0), _LARGER, 1) for x in (picture, found))
    larger, inside = np.pad(larger, edge), np.pad(inside, edge[:2])
    larger[binary_dilation(inside) & ~inside] = (0, 0, 0, 255)
    return larger


def _png(rgba: Array) -> str:
    """Return a picture of colors as the text of a data URL."""
    from PIL import Image

    image = Image.fromarray(rgba, "RGBA").quantize(64, Image.Quantize.FASTOCTREE)
    return _url(image, "png", optimize=True)


def _thumbnail(picture: Array, side: int) -> str:
    """Return a picture whose longer side has this many pixels, as the text of a data URL."""
    from PIL import Image

    values = np.asarray(picture, dtype=np.float64)
    if values.max() <= 1:
        values = 255 * values
    elif values.max() > 255 or values.ndim == 2:
        values = 255 * (values - values.min()) / (np.ptp(values) or 1.0)
    image = Image.fromarray(values.astype(np.uint8)).convert("RGB")
    scale = side / max(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return _url(image.resize(size), "webp", quality=60)


def _url(image: Any, kind: str, **options: Any) -> str:
    buffer = BytesIO()
    image.save(buffer, kind, **options)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"
