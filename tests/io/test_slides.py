import os
import warnings

import h5py
import numpy as np
import pytest

from bagwise.cli.source import Source
from bagwise.datasets import make_slide_bags
from bagwise.io import FormatError, ShuffledBagError, read, read_slides, write_slides
from bagwise.io.slides import find_pictures
from bagwise.rowstores.files import FileRows

IDS = ("TCGA-AA-0001-01Z-00-DX1", "TCGA-AA-0002-01Z-00-DX1", "TCGA-AA-0003-01Z-00-DX1")


def write_h5(file, n=5, d=3, wrap=False, coords=True, value=1.0, **attributes):
    file.parent.mkdir(parents=True, exist_ok=True)
    features = np.full((n, d), value, dtype=np.float16)
    with h5py.File(file, "w") as archive:
        archive["features"] = features[None] if wrap else features
        if coords:
            archive["coords"] = 256 * np.arange(2 * n).reshape(n, 2)
            archive["coords"].attrs.update(attributes)


@pytest.fixture
def trident(tmp_path):
    for name in IDS:
        file = tmp_path / "features_uni_v1" / f"{name}.0f3a-uuid.h5"
        write_h5(file, wrap=True, patch_size_level0=512)
    lines = [f"{name},{name[:12]},{label}" for name, label in zip(IDS, "aba", strict=True)]
    (tmp_path / "slides.csv").write_text("slide_id,case_id,label\n" + "\n".join(lines) + "\n")
    return tmp_path


def test_a_trident_folder(trident):
    bags, y = read_slides(trident / "features_uni_v1", labels=trident / "slides.csv")
    assert bags.ids.tolist() == list(IDS)
    assert bags.groups.tolist() == [name[:12] for name in IDS]
    assert y.tolist() == ["a", "b", "a"]
    assert (bags.X.dtype, bags.X.shape, bags.coords.shape) == (np.float16, (15, 3), (15, 2))
    assert bags.patch_size.tolist() == [512.0] * 3


def test_a_table_may_have_a_row_per_patient(trident):
    folder, table = trident / "features_uni_v1", trident / "clinical.csv"
    write_h5(folder / "TCGA-AA-0001-01Z-00-DX2.77.h5", patch_size_level0=512)
    rows = ["TCGA-AA-0001,a,X", "TCGA-AA-0002,b,Y", "TCGA-AA-0003,a,Y"]
    table.write_text("patient,label,hospital\n" + "\n".join(rows) + "\n")
    bags, y = read_slides(folder, labels=table, sites="hospital")
    assert bags.groups.tolist() == [f"TCGA-AA-000{k}" for k in (1, 1, 2, 3)]
    assert (bags.sites.tolist(), y.tolist()) == ([*"XXYY"], [*"aaba"])
    patients, labels = bags.merge("groups", y)
    assert (patients.sizes.tolist(), labels.tolist()) == ([10, 5, 5], ["a", "b", "a"])
    table.write_text("patient,label\nTCGA-AA-0001,a\nTCGA-AA,b\nTCGA-BB-1,b\n")
    with pytest.raises(FormatError, match=r"1 slide without a file .*: TCGA-BB-1"):
        read_slides(folder, labels=table)


def test_decimal_commas_of_a_table_are_numbers(trident):
    folder, table = trident / "features_uni_v1", trident / "clinical.csv"
    rows = [f"{name};{k},5;6{k},5" for k, name in enumerate(IDS)]
    table.write_text("slide_id;label;age\n" + "\n".join(rows) + "\n")
    assert read_slides(folder, labels=table, decimal=",")[1].tolist() == [0.5, 1.5, 2.5]
    bags, y = Source(folder, labels=table, decimal=",", covariates="age").read()
    assert (y.tolist(), bags.bag_features.ravel().tolist()) == ([0.5, 1.5, 2.5], [60.5, 61.5, 62.5])


def test_a_clam_folder_round_trip(tmp_path):
    bags, y = make_slide_bags(n_bags=4, bag_size=(5, 9), n_features=4)
    bags = bags.replace(groups=[1, 1, 2, 3], sites=["x", "x", "y", "y"])
    write_slides(tmp_path / "clam", bags, y)
    again, labels = read(tmp_path / "clam")
    assert np.array_equal(labels, y)
    for name in ("X", "ids", "groups", "sites", "coords", "patch_size", "instance_labels"):
        assert np.array_equal(getattr(again, name), getattr(bags, name)), name


def test_missing_values_are_left_to_an_imputer_and_not_forgotten(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1.0], [np.nan]]))
    assert np.isnan(read(tmp_path)[0].X[1])
    assert not read_slides(tmp_path, mapped=True)[0].X.is_finite


def test_a_single_file_and_a_folder_without_labels_are_bags_to_predict(tmp_path):
    for name in "ab":
        write_h5(tmp_path / f"{name}.h5", coords=False)
    bags, y = read(tmp_path / "a.h5")
    assert (bags.ids.tolist(), y, bags.coords) == (["a"], None, None)
    bags, y = read(tmp_path)
    assert (bags.ids.tolist(), y) == (["a", "b"], None)
    # The size of CLAM's patches is that at full resolution.
    write_h5(tmp_path / "c.h5", patch_size=256, patch_level=1, downsample=np.array([4.0, 4.0]))
    assert read(tmp_path / "c.h5")[0].patch_size.tolist() == [1024.0]
    for encoder in ("uni", "gigapath"):
        write_h5(tmp_path / "two" / f"features_{encoder}" / "a.h5")
    with pytest.raises(FormatError, match="several encoders"):
        read(tmp_path / "two")


def test_what_has_no_row_or_label_is_counted_and_named(trident):
    write_h5(trident / "features_uni_v1" / "stray.h5")
    text = (trident / "slides.csv").read_text().replace("0002,b", "0002,")
    (trident / "slides.csv").write_text(text)
    with pytest.warns(UserWarning, match="without") as caught:
        bags, _ = read(trident)
    assert len(bags) == 2
    message = str(caught[0].message)
    assert f"1 slide of slides.csv without a label: {IDS[1]}." in message
    assert "1 file without a row in slides.csv: stray." in message


def test_slides_without_a_file_are_an_error_that_lists_them(trident):
    with (trident / "slides.csv").open("a") as file:
        file.write("gone,p,a\nlost,p,b\nunlabeled,p,\nunknown,p,NA\n")
    with pytest.raises(FormatError, match=r"2 slides without a file \(.*\): gone, lost\."):
        read(trident)
    bags, _ = read_slides(trident, only=IDS[:2])  # the others are not needed
    assert len(bags) == 2
    one = next((trident / "features_uni_v1").iterdir())
    assert len(read_slides(one, labels=trident / "slides.csv")[0]) == 1


@pytest.mark.parametrize("dot", ["-", "."])
def test_a_slide_does_not_get_the_file_of_another(tmp_path, dot):
    for i, name in enumerate((f"S1{dot}2", "S3")):
        write_h5(tmp_path / f"{name}.h5", value=i)
    (tmp_path / "slides.csv").write_text(f"slide_id,label\nS1,0\nS1{dot}2,1\nS3,0\n")
    with pytest.raises(FormatError, match=r"1 slide without a file .*: S1\."):
        read(tmp_path)


def test_types_are_widened_with_a_warning(tmp_path):
    for name, kind in (("a", np.float16), ("b", np.float32), ("c", np.float16)):
        np.save(tmp_path / f"{name}.npy", np.ones((2, 3), kind))
    for mapped in (False, True):
        with pytest.warns(UserWarning, match=r"float16 in 2, float32 in 1.*as float32"):
            bags, _ = read_slides(tmp_path, mapped=mapped)
        assert bags.X.dtype == np.float32
        assert np.array_equal(np.asarray(bags.X), np.ones((6, 3)))


def test_the_top_folder_of_trident(tmp_path):
    write_h5(tmp_path / "20x_256px_0px_overlap" / "features_uni" / "a.h5")
    assert read(tmp_path)[0].ids.tolist() == ["a"]
    write_h5(tmp_path / "20x_256px_0px_overlap" / "features_conch" / "a.h5")
    with pytest.raises(FormatError, match="name one, of 20x_256px_0px_overlap/features_conch"):
        read(tmp_path)


def test_pictures_of_dotted_names(tmp_path):
    for name in ("A.1f.png", "B.png", "C.2e.svs", "C.2e.jpg", "other.png", "notes.txt"):
        (tmp_path / name).touch()
    found = find_pictures(tmp_path, ["A.1f", "B.77", "C", "D.1"], (".png", ".jpg", ".svs"))
    assert {n: f.name for n, f in found.items()} == {
        "A.1f": "A.1f.png",
        "B.77": "B.png",
        "C": "C.2e.jpg",
    }
    (tmp_path / "C.3d.png").touch()
    with pytest.raises(ValueError, match="'C' begins C"):
        find_pictures(tmp_path, ["C"], (".png", ".jpg"))
    with pytest.raises(ValueError, match=r"'B' begins B\.1, B\.2"):
        find_pictures(tmp_path, ["B.1", "B.2"], (".png",))


def test_a_prefix_must_be_unique_and_end_at_a_boundary(trident):
    folder = trident / "features_uni_v1"
    write_h5(folder / f"{IDS[0]}0.h5")  # DX10 is not DX1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(read(trident)[0]) == 3
    write_h5(folder / f"{IDS[0]}.other.h5")
    with pytest.raises(FormatError, match=r"several files: .*0f3a-uuid.*other"):
        read(trident)


def test_an_exact_name_wins_over_a_prefix(trident):
    write_h5(trident / "features_uni_v1" / f"{IDS[0]}.h5", value=7.0)
    with pytest.warns(UserWarning, match="1 file without a row"):
        bags, _ = read(trident)
    assert bags[0][0, 0] == 7.0


def test_one_message_lists_everything_that_is_wrong(trident):
    folder = trident / "features_uni_v1"
    file = folder / f"{IDS[0]}.0f3a-uuid.h5"
    file.write_bytes(file.read_bytes()[:300])
    write_h5(folder / f"{IDS[2]}.0f3a-uuid.h5", d=4)
    for name, value in (("nan", np.nan), ("fine", 1.0)):
        write_h5(folder / f"{name}.h5", value=value)
    with (trident / "slides.csv").open("a") as listing:
        listing.write("nan,p,a\nfine,p,b\ngone,p,b\n")
    with pytest.raises(FormatError) as caught:
        read(trident)
    message = str(caught.value)
    assert "4 problems" in message
    assert f"{IDS[0]}.0f3a-uuid.h5 is truncated" in message.replace(": ", " ")
    assert f"has 4 features, {IDS[1]}" in message
    assert "nan.h5: patch 0 has a missing or infinite value (5 such)" in message
    assert "1 slide without a file (leave out the row, or make the features): gone." in message


def test_the_file_of_unusual_width_is_named_also_where_it_is_the_first(tmp_path):
    for name, d in (("a", 4), ("b", 3), ("c", 3)):
        write_h5(tmp_path / f"{name}.h5", d=d)
    with pytest.raises(FormatError) as caught:
        read(tmp_path)
    assert "1 problems" not in str(caught.value)
    assert "a.h5: has 4 features, b.h5 and most files have 3." in str(caught.value)
    assert "c.h5" not in str(caught.value)


@pytest.mark.parametrize(
    ("csv", "error", "match"),
    [
        ("slide_id,label\nx,1\nx,0\n", ShuffledBagError, "'x' is on line 2 already"),
        ("id,label\nx,1\n", FormatError, "has no column 'slide_id'; name yours with bag"),
        ("slide_id,label\ny,1\n", FormatError, "no slide has a file, a row and a label"),
    ],
)
def test_bad_listings(tmp_path, csv, error, match):
    write_h5(tmp_path / "h5" / "x.h5")
    (tmp_path / "slides.csv").write_text(csv)
    with pytest.raises(error, match=match):
        read_slides(tmp_path / "h5", labels=tmp_path / "slides.csv")


@pytest.mark.torch
def test_bfloat16_tensors_become_float32(tmp_path):
    import torch

    folder = tmp_path / "pt_files"
    folder.mkdir()
    torch.save(torch.ones(4, 3, dtype=torch.bfloat16), folder / "a.pt")
    assert read(tmp_path)[0].X.dtype == np.float32


def test_a_table_is_used_or_named(tmp_path):
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.ones((2, 3)))
    (tmp_path / "t.csv").write_text("scan,truth\na,1\nb,0\n")
    with pytest.warns(UserWarning, match=r"No labels: t\.csv is not used"):
        assert read(tmp_path)[1] is None
    assert read(tmp_path, bag="scan", label="truth")[1].tolist() == [1, 0]
    (tmp_path / "t.csv").unlink()
    with pytest.raises(FormatError, match="has 0 CSV files with columns: name one with labels="):
        read(tmp_path, label="truth")


def test_damage_beside_the_coordinates_is_named(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["features"], file["coords"] = np.ones((2, 3)), np.ones((2, 2))
        file["coords"].attrs["patch_size"] = "large"
    with pytest.raises(FormatError, match=r"a\.h5: is truncated or not an HDF5 file"):
        read(tmp_path)


def test_features_in_one_piece_stay_in_their_files(trident):
    there, y = read_slides(trident / "features_uni_v1", labels=trident / "slides.csv")
    bags, _ = read_slides(trident / "features_uni_v1", labels=trident / "slides.csv", mapped=True)
    assert isinstance(bags.X, FileRows)
    assert bags.X.is_finite
    assert np.array_equal(np.asarray(bags.X), there.X)
    assert np.array_equal(bags.coords, there.coords)
    assert y.tolist() == ["a", "b", "a"]


@pytest.mark.parametrize("how", [{"chunks": (1, 3)}, {"compression": "gzip"}])
def test_features_in_chunks_are_read(tmp_path, how):
    for name in "ab":
        with h5py.File(tmp_path / f"{name}.h5", "w") as archive:
            archive.create_dataset("features", data=np.ones((5, 3)), **how)
    bags, _ = read_slides(tmp_path, mapped=True)
    assert isinstance(bags.X, np.ndarray)
    assert np.array_equal(bags.X, np.ones((10, 3)))


def test_arrays_by_columns_and_other_files_are_read_beside_mapped_ones(tmp_path):
    values = np.arange(6.0).reshape(3, 2)
    for name, array in (("a", values), ("b", np.asfortranarray(values)), ("c", values > 2)):
        np.save(tmp_path / f"{name}.npy", array)
    bags, _ = read_slides(tmp_path, mapped=True)
    assert np.array_equal(np.asarray(bags.X), np.concatenate([values, values, values > 2]))
    assert [isinstance(part, np.ndarray) for part in bags.X.parts] == [False, True, True]


def test_only_the_slides_asked_for_are_read(trident):
    (trident / "features_uni_v1" / f"{IDS[0]}.0f3a-uuid.h5").write_bytes(b"damaged")
    bags, y = read_slides(trident, only=[IDS[1]])
    assert (bags.ids.tolist(), y.tolist()) == ([IDS[1]], ["b"])
    assert read_slides(trident / "features_uni_v1", only=[IDS[1]])[0].ids == f"{IDS[1]}.0f3a-uuid"
    with pytest.raises(ValueError, match=r"There is no bag .TCGA-AA-0009."):
        read_slides(trident, only=["TCGA-AA-0009"])


def test_a_long_list_of_problems_is_cut(tmp_path):
    for i in range(40):
        (tmp_path / f"{i}.npy").write_bytes(b"damaged")
    with pytest.raises(
        FormatError, match=r"40 problems:\n- (.*\n- )*\.\.\. \(40 in all\)"
    ) as caught:
        read(tmp_path)
    assert str(caught.value).count("\n") < 20


def test_a_slide_truncated_after_it_was_opened_is_named(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((5000, 3)))
    bags, _ = read_slides(tmp_path, mapped=True)
    os.truncate(tmp_path / "a.npy", 4096)
    with pytest.raises(ValueError, match=r"a\.npy: was truncated after it was opened"):
        np.asarray(bags.X)
