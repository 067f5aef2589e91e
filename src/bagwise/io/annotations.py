"""Annotations of slides as GeoJSON, which QuPath exports: what an expert knows of some patches."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.ids import file_names
from bagwise.bags.segments import expand
from bagwise.errors import list_names, suggestion
from bagwise.io.errors import CorruptFileError, FormatError

_WORDS = ("negative", "positive")
_SUFFIXES = (".geojson", ".json")


class _Area(NamedTuple):
    """An annotation: where it is in its file, its label (None to ignore) and its polygons."""

    place: str
    label: Any
    polygons: list[list[Array]]


def read_annotations(folder: str | Path, bags: Bags, classes: ArrayLike = ()) -> Bags:
    """Take the labels of patches from annotations, one GeoJSON file per slide.

    A patch belongs to an annotation that contains its center. An annotation that contains none,
    such as a mark within a patch, belongs to the patch around its middle. The classes of
    annotations are "positive" and "negative", or those of slides; patches under "ignore" (or
    QuPath's "Ignore*") stay unknown. Marks that `bagwise heatmap` wrote count once an expert
    has changed their class.

    Parameters
    ----------
    folder : str or Path
        The folder; files are named after bags, or after their parts, as "slide-7.geojson".
    bags : Bags
        Bags with ``coords`` in pixels of the slide at full resolution.
    classes : array-like, default=()
        The labels of bags, which annotations may have as classes.

    Returns
    -------
    Bags
        The bags with ``known_labels``: 1 and 0, or classes; NaN or "" where nothing is known.

    Examples
    --------
    >>> import json
    >>> from bagwise import Bags
    >>> from bagwise.io import read_annotations
    >>> folder = getfixture("tmp_path")
    >>> ring = [[0, 0], [300, 0], [300, 300], [0, 300], [0, 0]]
    >>> feature = {
    ...     "type": "Feature",
    ...     "geometry": {"type": "Polygon", "coordinates": [ring]},
    ...     "properties": {"objectType": "annotation", "classification": {"name": "positive"}},
    ... }
    >>> _ = (folder / "s.geojson").write_text(json.dumps([feature]))
    >>> bags = Bags([[1.0], [2.0]], [0, 2], ids=["s"], coords=[[0, 0], [256, 0]], patch_size=[256])
    >>> read_annotations(folder, bags).known_labels
    array([ 1., nan])
    """
    folder, names = Path(folder), {word: float(k) for k, word in enumerate(_WORDS)}
    names |= {str(c).lower(): c for c in np.asarray(classes).tolist()}
    if bags.coords is None:
        raise ValueError("The bags have no coords: annotations need the position of every patch.")
    files = sorted(file for file in folder.glob("*") if file.suffix.lower() in _SUFFIXES)
    files = [file for file in files if file.name != "index.json"]  # which the heat maps write
    if not files:
        raise FileNotFoundError(f"There is no .geojson file in {folder}.")
    rows_of, known = _find_slides(bags), np.full(bags.n_instances, None)
    used: set[str] = set()
    for file in files:
        if file.stem not in rows_of:
            problem = f"no slide has this name. {suggestion(file.stem, list(rows_of))}"
            raise FormatError(file, problem)
        rows = rows_of[file.stem]
        known[rows] = _label_patches(file, bags, rows, list(_read_areas(file, names, used)))
    return bags.replace(known_labels=known)


def _find_slides(bags: Bags) -> dict[str, Array]:
    """Return the rows of every bag, and of every part, by the name of its file."""
    found: dict[str, Array] = {}
    of_rows = [bags.parts, expand(bags.ids, bags.offsets)]
    for owners in [each for each in of_rows if each is not None]:
        distinct, codes = np.unique(owners, return_inverse=True)
        order = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
        found |= dict(zip(file_names(distinct.tolist()), order, strict=True))
    return found


def _read_areas(file: Path, names: dict[str, Any], used: set[str]) -> Iterator[_Area]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CorruptFileError(file, f"is no JSON ({error}).") from error
    features = content.get("features", [content]) if isinstance(content, dict) else content
    for number, feature in enumerate(features, 1):
        place = f"feature {number}"
        try:
            properties = feature.get("properties") or {}
            if properties.get("objectType", "annotation") != "annotation":
                continue
            kind = (properties.get("classification") or {}).get("name", "")
            if _is_own_mark(properties, kind):
                continue
            polygons = _read_polygons(feature["geometry"])
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            problem = f"expected a Polygon or MultiPolygon with rings of (x, y): {error}."
            raise FormatError(file, problem, place) from error
        if kind.lower().rstrip("*") == "ignore":
            yield _Area(place, None, polygons)
            continue
        _check_class(file, place, kind, names, used)
        yield _Area(place, names[kind.lower()], polygons)


def _is_own_mark(properties: dict[str, Any], kind: str) -> bool:
    """Return whether `write_geojson` made an annotation, of a class that nobody has changed."""
    measured = "score" in (properties.get("measurements") or {})
    return measured and str(properties.get("name", "")).rpartition(" ")[0] == kind


def _check_class(file: Path, place: str, kind: str, names: dict[str, Any], used: set[str]) -> None:
    """Refuse unknown classes, and words beside classes of slides among those that are used."""
    if kind.lower() not in names:
        given = f"the class {kind!r} is unknown" if kind else "it has no class"
        allowed = list_names([*map(repr, names), "'ignore'"])
        raise FormatError(file, f"{given}: expected one of {allowed}.", place)
    used.add(kind.lower())
    if used & {*_WORDS} and used - {*_WORDS}:
        problem = f"annotations have the classes {list_names(sorted(map(repr, used)))}: use"
        raise FormatError(file, f"{problem} positive and negative, or classes of slides.", place)


def _read_polygons(geometry: dict[str, Any]) -> list[list[Array]]:
    kind, found = geometry["type"], geometry["coordinates"]
    if kind not in ("Polygon", "MultiPolygon"):
        raise ValueError(f"a {kind}")
    polygons = [found] if kind == "Polygon" else found
    rings = [[np.array(ring, dtype=np.float64) for ring in polygon] for polygon in polygons]
    for ring in [ring for polygon in rings for ring in polygon]:
        if ring.ndim != 2 or ring.shape[1] < 2 or len(ring) < 4 or not np.isfinite(ring).all():
            raise ValueError(f"a ring of shape {ring.shape}")
    return rings


def _label_patches(file: Path, bags: Bags, rows: Array, areas: list[_Area]) -> Array:
    """Return the labels of the patches of a slide."""
    of_bags = np.zeros(len(bags)) if bags.patch_size is None else bags.patch_size
    side = expand(of_bags, bags.offsets)[rows]
    centers = bags.coords[rows] + side[:, None] / 2
    labels, owner = np.full(len(rows), None), np.full(len(rows), "", dtype=object)
    ignored = np.zeros(len(rows), dtype=bool)
    for area in areas:
        inside = _contains(area.polygons, centers)
        if not inside.any():
            middle = area.polygons[0][0][:-1, :2].mean(axis=0)
            inside = np.all(np.abs(centers - middle) <= side[:, None] / 2, axis=1)
        if not inside.any():
            warnings.warn(f"{file}, {area.place}: it lies on no patch.", stacklevel=4)
        if area.label is None:
            ignored |= inside
            continue
        other = np.flatnonzero(inside & (owner != "") & (labels != area.label))
        if len(other):
            at = centers[other[0]]
            problem = f"the patch around ({at[0]:g}, {at[1]:g}) has another class by "
            remedy = f"{owner[other[0]]}. Draw areas of two classes apart."
            raise FormatError(file, problem + remedy, area.place)
        labels[inside], owner[inside] = area.label, area.place
    labels[ignored] = None
    return labels


def _contains(polygons: list[list[Array]], points: Array) -> Array:
    """Return which points lie in one of the polygons: within an odd number of its rings."""
    found = np.zeros(len(points), dtype=bool)
    for rings in polygons:
        odd = np.zeros(len(points), dtype=bool)
        for ring in rings:
            for (x1, y1), (x2, y2) in zip(ring[:-1, :2], ring[1:, :2], strict=True):
                spans = (y1 > points[:, 1]) != (y2 > points[:, 1])
                if spans.any():
                    right = x1 + (points[:, 1] - y1) * (x2 - x1) / (y2 - y1)
                    odd ^= spans & (points[:, 0] < right)
        found |= odd
    return found
