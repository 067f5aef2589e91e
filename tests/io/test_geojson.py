import json

import numpy as np

from bagwise.io import write_geojson


def test_tiles_are_detections_and_the_best_are_annotations(tmp_path):
    path = tmp_path / "a.geojson"
    coords, scores = np.array([[0, 0], [256, 0], [0, 256]]), np.array([-1.0, 2.0, 0.5])
    colors = np.array([[0, 0, 255], [255.0, 0, 0], [200, 100, 100]])
    write_geojson(path, coords, 256, scores, top=2, colors=colors, name="tumor")
    content = json.loads(path.read_text())
    assert content["type"] == "FeatureCollection"
    properties = [feature["properties"] for feature in content["features"]]
    assert [p["objectType"] for p in properties] == ["detection"] * 3 + ["annotation"] * 2
    assert [p["measurements"]["score"] for p in properties] == [-1.0, 2.0, 0.5, 2.0, 0.5]
    assert repr(properties[1]["color"]) == "[255, 0, 0]"
    assert properties[3]["classification"]["name"] == "tumor"
    ring = content["features"][1]["geometry"]["coordinates"][0]
    assert ring == [[256, 0], [512, 0], [512, 256], [256, 256], [256, 0]]


def test_p_values_are_measured_too(tmp_path):
    path = tmp_path / "a.geojson"
    write_geojson(path, [[0, 0], [8, 0]], 8, [1.0, 2.0], top=1, pvalues=[0.5, 0.05])
    features = json.loads(path.read_text())["features"]
    found = [feature["properties"]["measurements"] for feature in features]
    first, second = {"score": 1.0, "p-value": 0.5}, {"score": 2.0, "p-value": 0.05}
    assert found == [first, second, second]
