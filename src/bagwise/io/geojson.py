"""Scored patches as GeoJSON, which QuPath imports: File > Import objects from file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._typing import Array
from bagwise.io._source import write_text

_KEY_COLOR = (20, 20, 20)  # of the outlines of key patches


def write_geojson(
    path: str | Path,
    coords: ArrayLike,
    patch_size: float,
    scores: ArrayLike,
    *,
    top: int = 5,
    colors: ArrayLike | None = None,
    name: str = "key instance",
) -> None:
    """Write the patches of a slide as detections, and those with the highest scores as annotations.

    Parameters
    ----------
    path : str or Path
        The file.
    coords : array-like of shape (n_patches, 2)
        Upper left corners in pixels of the slide at full resolution.
    patch_size : float
        Side of a patch in the same pixels.
    scores : array-like of shape (n_patches,)
        The measurement "score" of each detection.
    top : int, default=5
        Number of annotations.
    colors : array-like of int of shape (n_patches, 3), default=None
        Colors of the detections, 0 to 255.
    name : str, default="key instance"
        Class of the annotations.

    Examples
    --------
    >>> import json
    >>> from bagwise.io import write_geojson
    >>> path = getfixture("tmp_path") / "slide.geojson"
    >>> write_geojson(path, [[0, 0], [256, 0]], 256, [-0.5, 1.5], top=1)
    >>> [f["properties"]["objectType"] for f in json.loads(path.read_text())["features"]]
    ['detection', 'detection', 'annotation']
    """
    corners, values = np.asarray(coords, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    tiles = [
        _feature(corner, patch_size, value, _look("detection", i, colors))
        for i, (corner, value) in enumerate(zip(corners, values, strict=True))
    ]
    keys = [
        _feature(corners[row], patch_size, values[row], _key_look(name, rank))
        for rank, row in enumerate(np.argsort(-values, kind="stable")[:top], start=1)
    ]
    with write_text(Path(path)) as file:
        json.dump({"type": "FeatureCollection", "features": tiles + keys}, file)


def _look(kind: str, i: int, colors: ArrayLike | None) -> dict[str, Any]:
    if colors is None:
        return {"objectType": kind}
    return {"objectType": kind, "color": [int(c) for c in np.asarray(colors)[i][:3]]}


def _key_look(name: str, rank: int) -> dict[str, Any]:
    kind = {"name": name, "color": list(_KEY_COLOR)}
    return {"objectType": "annotation", "name": f"{name} {rank}", "classification": kind}


def _feature(corner: Array, side: float, score: float, look: dict[str, Any]) -> dict[str, Any]:
    x, y = corner.tolist()
    ring = [[x, y], [x + side, y], [x + side, y + side], [x, y + side], [x, y]]
    return {
        "type": "Feature",
        "geometry": {"type": "Polygon", "coordinates": [ring]},
        "properties": {**look, "measurements": {"score": float(score)}},
    }
