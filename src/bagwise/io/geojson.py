"""Scored patches as GeoJSON, which QuPath imports: File > Import objects from file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._typing import Array
from bagwise.io._files import write_text


def write_geojson(
    path: str | Path,
    coords: ArrayLike,
    patch_size: float,
    scores: ArrayLike,
    *,
    top: int = 5,
    colors: ArrayLike | None = None,
    name: str = "key instance",
    pvalues: ArrayLike | None = None,
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
    pvalues : array-like of shape (n_patches,), default=None
        The measurement "p-value" of each detection.

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
    measured = {} if pvalues is None else {"p-value": np.asarray(pvalues)}
    found = {"score": values, **measured}
    looks: list[dict[str, Any]] = [{"objectType": "detection"} for _ in values]
    if colors is not None:
        shades = np.asarray(colors)[:, :3].astype(int).tolist()
        looks = [{**look, "color": shade} for look, shade in zip(looks, shades, strict=True)]
    rows = [*range(len(values)), *np.argsort(-values, kind="stable")[:top]]
    for rank in range(1, len(rows) - len(values) + 1):
        kind = {"name": name, "color": [0, 0, 0]}
        looks.append({"objectType": "annotation", "name": f"{name} {rank}", "classification": kind})
    features = [
        _feature(corners[row], patch_size, {key: float(x[row]) for key, x in found.items()}, look)
        for row, look in zip(rows, looks, strict=True)
    ]
    with write_text(Path(path)) as file:
        json.dump({"type": "FeatureCollection", "features": features}, file)


def _feature(corner: Array, side: float, measured: Any, look: dict[str, Any]) -> dict[str, Any]:
    x, y = corner.tolist()
    ring = [[x, y], [x + side, y], [x + side, y + side], [x, y + side], [x, y]]
    return {
        "type": "Feature",
        "geometry": {"type": "Polygon", "coordinates": [ring]},
        "properties": {**look, "measurements": measured},
    }
