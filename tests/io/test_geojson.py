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
