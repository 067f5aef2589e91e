"""Annotations against areas drawn by hand, and what is wrong with them by name."""

import json

import numpy as np
import pytest

from bagwise import Bags
from bagwise.io import FormatError, read_annotations, write_geojson

SIDE = 10


def slides(**changes):
    """Two slides of nine patches each, row by row."""
    grid = np.stack(np.meshgrid(np.arange(3), np.arange(3)), axis=-1).reshape(-1, 2) * SIDE
    both = {"ids": ["s1", "s2"], "coords": np.vstack([grid, grid]), "patch_size": [SIDE, SIDE]}
    return Bags(np.arange(18.0)[:, None], [0, 9, 18], **(both | changes))


def box(x, y, width, height):
    corners = [(0, 0), (width, 0), (width, height), (0, height), (0, 0)]
    return [[x + dx, y + dy] for dx, dy in corners]


def feature(kind, *rings, **properties):
    shape = {"type": "Polygon", "coordinates": rings}
    found = {"objectType": "annotation", "classification": {"name": kind}, **properties}
    return {"type": "Feature", "geometry": shape, "properties": found}


def annotate(folder, bags, *features, classes=(), name="s1.geojson", whole=False):
    content = {"type": "FeatureCollection", "features": features} if whole else features
    (folder / name).write_text(json.dumps(content))
    return read_annotations(folder, bags, classes).known_labels[:9].tolist()


AREAS = {
    "centers decide": ([feature("Positive", box(0, 0, 16, 16))], "11.11...."),
    "holes": ([feature("negative", box(0, 0, 30, 30), box(8, 8, 14, 14))], "0000.0000"),
    "two classes": (
        [feature("positive", box(0, 0, 30, 9)), feature("negative", box(0, 10, 9, 20))],
        "1110..0..",
    ),
    "ignored": (
        [feature("Ignore*", box(0, 0, 9, 9)), feature("positive", box(0, 0, 30, 9))],
        ".11......",
    ),
    "a small mark": ([feature("positive", box(11, 11, 2, 2))], "....1...."),
    "detections": ([feature("tumor", box(0, 0, 9, 9), objectType="detection")], "........."),
    "own marks": (
        [
            feature(
                "key instance", box(0, 0, 9, 9), name="key instance 1", measurements={"score": 1.0}
            )
        ],
        ".........",
    ),
    "a corrected mark": (
        [feature("negative", box(0, 0, 9, 9), name="key instance 1", measurements={"score": 1.0})],
        "0........",
    ),
}


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", AREAS)
def test_patches_of_an_area_have_its_class(name, whole, tmp_path):
    features, expected = AREAS[name]
    known = annotate(tmp_path, slides(), *features, whole=whole)
    assert "".join("." if np.isnan(k) else f"{k:.0f}" for k in known) == expected


def test_many_polygons_classes_of_slides_and_parts(tmp_path):
    several = feature("TUMOR")
    several["geometry"] = {
        "type": "MultiPolygon",
        "coordinates": [[box(0, 0, 9, 9)], [box(20, 20, 9, 9)]],
    }
    known = annotate(tmp_path, slides(), several, classes=["tumor", "normal"])
    assert known == ["tumor", *[""] * 7, "tumor"]
    patient = slides().replace(groups=["p", "p"]).merge("groups")
    assert patient.ids.tolist() == ["p"]
    known = read_annotations(tmp_path, patient, ["tumor", "normal"]).known_labels
    assert np.flatnonzero(known != "").tolist() == [0, 8]


def test_a_heat_map_that_nobody_changed_says_nothing(tmp_path):
    bags = slides()
    write_geojson(
        tmp_path / "s2.geojson", bags.coords[9:], SIDE, np.arange(9.0), name="found (a 1)"
    )
    assert np.isnan(read_annotations(tmp_path, bags).known_labels).all()


def point(kind="positive"):
    return {"geometry": {"type": "Point", "coordinates": [1, 1]}, "properties":
            {"classification": {"name": kind}}}  # fmt: skip


BAD = {
    "s1.geojson, feature 2: the class 'stroma' is unknown: expected one of 'negative', 'positive'":
        {"features": [feature("negative", box(0, 0, 9, 9)), feature("stroma", box(0, 0, 1, 1))]},
    "s1.geojson, feature 1: it has no class": {"features": [feature("", box(0, 0, 9, 9))]},
    "feature 2: the patch around .5, 5. has another class by feature 1": {
        "features": [feature("positive", box(0, 0, 9, 9)), feature("negative", box(0, 0, 9, 9))]},
    "feature 1: expected a Polygon or MultiPolygon with rings of .x, y.: a Point": {
        "features": [point()]},
    "feature 1: expected a Polygon .* a ring of shape .1, 2.": {
        "features": [feature("positive", [[0, 0]])]},
    "feature 1: expected a Polygon": {"features": ["positive"]},
    "s3.geojson: no slide has this name. Known names: s1, s2": {
        "features": [feature("positive", box(0, 0, 9, 9))], "name": "s3.geojson"},
    "feature 2: annotations have the classes 'normal', 'positive'": {
        "features": [feature("positive", box(0, 0, 9, 9)), feature("normal", box(20, 0, 9, 9))],
        "classes": ["normal", "tumor"]},
}  # fmt: skip


@pytest.mark.parametrize("message", BAD)
def test_errors_name_file_and_feature(message, tmp_path):
    given = dict(BAD[message])
    with pytest.raises(FormatError, match=message):
        annotate(tmp_path, slides(), *given.pop("features"), **given)


def test_folders_and_bags_that_cannot_be_annotated(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no .geojson file"):
        read_annotations(tmp_path, slides())
    (tmp_path / "s1.geojson").write_text("{")
    with pytest.raises(FormatError, match="is no JSON"):
        read_annotations(tmp_path, slides())
    with pytest.raises(ValueError, match="have no coords"):
        read_annotations(tmp_path, slides(coords=None))
    with pytest.warns(UserWarning, match="feature 1: it lies on no patch"):
        annotate(tmp_path, slides(), feature("positive", box(90, 90, 5, 5)))
