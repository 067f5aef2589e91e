import json
import shutil
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.image import imsave

from bagwise import AnnealedWitnessSVC, io, save
from bagwise.datasets import make_slide_bags
from command_line import call, done, printed, refused


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heatmap")
    bags, y = make_slide_bags(n_bags=12, bag_size=(20, 40), n_features=8, witness_rate=0.2)
    io.write_slides(folder / "features", bags, np.where(y == 1, "tumor", "normal"))
    model = AnnealedWitnessSVC(kernel="linear", pos_label="tumor")
    save(model.fit(bags, np.where(y == 1, "tumor", "normal")), folder / "model.bagwise")
    return folder


def run(folder, *arguments):
    return done("heatmap", folder / "model.bagwise", folder / "features" / "h5_files", *arguments)


def test_one_map_and_its_tiles(folder, tmp_path):
    features = tmp_path / "features"
    shutil.copytree(folder / "features" / "h5_files", features)
    (features / "slide-001.h5").write_bytes(b"damaged")  # it reads one slide only
    target, tiles = tmp_path / "map.png", tmp_path / "map.geojson"
    more = ["--bag", "slide-000", "--out", target, "--geojson", tiles, "--top", 3]
    said = printed("heatmap", folder / "model.bagwise", features, *more)
    assert said == {"maps": [str(target)], "tiles": [str(tiles)]}
    assert target.read_bytes().startswith(b"\x89PNG")
    kinds = [f["properties"]["objectType"] for f in json.loads(tiles.read_text())["features"]]
    assert kinds.count("annotation") == 3


def test_a_whole_folder_over_thumbnails(folder, tmp_path):
    (tmp_path / "thumbs").mkdir()
    imsave(tmp_path / "thumbs" / "slide-003.png", np.ones((30, 30, 3)))
    run(folder, "--out", tmp_path / "maps", "--image", tmp_path / "thumbs", "--mpp", 0.5)
    assert len(list((tmp_path / "maps").iterdir())) == 12
    plain, over = ((tmp_path / "maps" / f"slide-00{i}.png").stat().st_size for i in (2, 3))
    assert plain != over


def test_the_top_patches_lie_in_the_tumor(folder, tmp_path):
    tiles = tmp_path / "tiles"
    run(folder, "--out", tmp_path / "maps", "--geojson", tiles, "--top", 1)
    bags, y = io.read(folder / "features")
    for i in np.flatnonzero(y == "tumor"):
        content = json.loads((tiles / f"{bags.ids[i]}.geojson").read_text())
        corner = content["features"][-1]["geometry"]["coordinates"][0][0]
        rows = np.arange(bags.offsets[i], bags.offsets[i + 1])
        tumor = bags.coords[rows[bags.instance_labels[rows] == 1]].tolist()
        assert corner in tumor


def test_odd_ids_have_maps_of_their_own(folder, tmp_path):
    bags, y = make_slide_bags(n_bags=3, bag_size=20, n_features=8)
    ids = ["a/b", "a_b", "/" + "x" * 300]
    io.write(tmp_path / "odd.bags", bags.replace(ids=ids), y)
    words = ["heatmap", folder / "model.bagwise", tmp_path / "odd.bags", "--out", tmp_path / "maps"]
    done(*words)
    index = json.loads((tmp_path / "maps" / "index.json").read_text())
    made = {file.name for file in (tmp_path / "maps").glob("*.png")}
    assert len(made) == 3
    assert made == {*index, "a_b.png"}
    assert {*index.values()} == {"a/b", ids[2]}
    refused(2, "a_b.png", *words)
    done(*words, "--force", "--bag", "a/b")
    assert json.loads((tmp_path / "maps" / "index.json").read_text()) == index


def test_a_slide_itself_may_be_the_picture(folder, tmp_path):
    tifffile = pytest.importorskip("tifffile")
    slide = tmp_path / "slide.tif"
    tifffile.imwrite(
        slide, np.full((512, 512, 3), 200, np.uint8), tile=(256, 256), photometric="rgb"
    )
    run(folder, "--bag", "slide-000", "--out", tmp_path / "map.png", "--image", slide)
    assert (tmp_path / "map.png").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--out", "map.png"], 2, "there are 12 bags: choose one with --bag"),
        (["--out", "map.txt", "--bag", "slide-000"], 2, "expected a folder or one of .png"),
        (["--out", "map.png", "--bag", "slide-00"], 1, "There is no bag 'slide-00'"),
        (["--out", "m.png", "--bag", "slide-000", "--image", "no.png"], 2, "expected a file"),
    ],
)
def test_mistakes_are_named(folder, arguments, status, message):
    start = ["heatmap", folder / "model.bagwise", folder / "features" / "h5_files"]
    refused(status, message, *start, *arguments)


def test_instances_and_explanations_have_positions(folder):
    features = folder / "features" / "h5_files"
    said = call("predict", folder / "model.bagwise", features, "--instances", "--json")
    first = json.loads(said.stdout)[0]
    assert {"x", "y"} <= first.keys()
    said = call("explain", folder / "model.bagwise", features, "--json")
    assert {"x", "y"} <= json.loads(said.stdout)[0].keys()


def test_reports_cut_patches_from_thumbnails(folder, tmp_path):
    features, out = folder / "features" / "h5_files", tmp_path / "report.html"
    for i in range(12):
        imsave(tmp_path / f"slide-{i:03d}.png", np.ones((60, 60, 3)))
    listing = folder / "features" / "slides.csv"
    arguments = [folder / "model.bagwise", features, "--labels", listing, "--images", tmp_path]
    done("report", *arguments, "--out", out)
    assert out.read_text().count("data:image/webp") == 12 * 3
    (tmp_path / "slide-004.png").unlink()
    refused(1, "none of slide 'slide-004'", "report", *arguments, "--out", out, "--force")


def test_a_listing_chooses_slides(folder, tmp_path):
    listing = tmp_path / "some.csv"
    listing.write_text("slide_id,label\nslide-001,tumor\nslide-005,normal\n")
    run(folder, "--labels", listing, "--out", tmp_path / "maps")
    assert sorted(f.stem for f in (tmp_path / "maps").iterdir()) == ["slide-001", "slide-005"]


@pytest.fixture(scope="module")
def calibrated(folder):
    bags, y = make_slide_bags(n_bags=60, bag_size=(20, 40), n_features=8, witness_rate=0.2)
    y = np.where(y == 1, "tumor", "normal")
    model = AnnealedWitnessSVC(kernel="linear", pos_label="tumor").fit(bags, y)
    save(model.calibrate_instances(bags, y), folder / "calibrated.bagwise")
    return model


def test_p_values_color_maps_and_choose_annotations(folder, calibrated, tmp_path):
    features, tiles = folder / "features" / "h5_files", tmp_path / "tiles"
    arguments = ["heatmap", folder / "calibrated.bagwise", features, "--geojson", tiles]
    said = done(*arguments, "--out", tmp_path / "maps").output
    assert "Discoveries (p up to 0.1) are approximate: about one negative bag in ten" in said
    bags, _ = io.read(folder / "features")
    p = calibrated.instance_pvalues(bags)
    for i, name in enumerate(bags.ids):
        content = json.loads((tiles / f"{name}.geojson").read_text())["features"]
        own = p[bags.offsets[i] : bags.offsets[i + 1]]
        kinds = [f["properties"]["objectType"] for f in content]
        assert kinds.count("annotation") == np.sum(own <= 0.1)
        measured = [f["properties"]["measurements"]["p-value"] for f in content[: len(own)]]
        assert measured == own.tolist()
    raw = tmp_path / "raw.png"
    done(*arguments[:3], "--scores", "--out", raw, "--bag", "slide-000")
    assert (tmp_path / "maps" / "slide-000.png").read_bytes() != raw.read_bytes()


def test_instances_have_p_values(folder, calibrated):
    features = folder / "features" / "h5_files"
    rows = printed("predict", folder / "calibrated.bagwise", features, "--instances")
    bags, _ = io.read(folder / "features")
    p = calibrated.instance_pvalues(bags)
    assert [row["p_value"] for row in rows] == pytest.approx(p)
    assert [row["discovery"] for row in rows] == (p <= 0.1).tolist()
    explained = printed("explain", folder / "calibrated.bagwise", features, "--all", "--top", 1)
    best = {row["bag"]: row["p_value"] for row in explained}
    assert best == pytest.approx(
        {
            name: p[slice(*ends)].min()
            for name, ends in zip(bags.ids, pairwise(bags.offsets), strict=True)
        }
    )
    assert all(row["discovery"] == (row["p_value"] <= 0.1) for row in explained)
    said = done("predict", folder / "model.bagwise", features, "--instances").output
    assert "Instances have scores only" in said


def test_several_classes_are_drawn_for_the_predicted_or_the_named_one(folder, tmp_path):
    bags, y = make_slide_bags(n_bags=36, bag_size=(20, 40), n_features=8, witness_rate=0.3)
    y = np.where(y == 0, "none", np.where(np.arange(36) % 4 < 2, "left", "right"))
    right = (y[np.repeat(np.arange(36), bags.sizes)] == "right") & (bags.instance_labels == 1)
    bags = bags.replace(X=np.where(right[:, None], -bags.X, bags.X))
    model = AnnealedWitnessSVC(kernel="linear").fit(bags, y).calibrate_instances(bags, y)
    save(model, tmp_path / "three.bagwise")
    bags = bags[:3]
    io.write_slides(tmp_path / "features", bags)
    base = ["heatmap", tmp_path / "three.bagwise", tmp_path / "features" / "h5_files", "--out"]
    done(*base, tmp_path / "maps", "--geojson", tmp_path / "own")
    done(*base, tmp_path / "left.png", "--bag", "slide-000", "--positive", "left")
    done(*base, tmp_path / "m2", "--geojson", tmp_path / "left", "--positive", "left")
    p, predicted = model.instance_pvalues(bags), model.predict(bags).tolist()
    for i in range(3):
        rows = slice(bags.offsets[i], bags.offsets[i + 1])
        for kind, label in (("own", predicted[i]), ("left", "left")):
            content = json.loads((tmp_path / kind / f"{bags.ids[i]}.geojson").read_text())
            tiles = content["features"][: bags.sizes[i]]
            own = p[rows, model.classes_.tolist().index(label)]
            assert [t["properties"]["measurements"]["p-value"] for t in tiles] == own.tolist()
    refused(2, "the classes are left, none, right", *base, tmp_path / "m3", "--positive", "up")
    two = ["heatmap", folder / "model.bagwise", *base[2:], tmp_path / "m4", "--positive", "tumor"]
    refused(2, "--positive is for models of three or more classes", *two)
