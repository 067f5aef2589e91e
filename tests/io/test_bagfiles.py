"""Folders with one file per bag."""

import numpy as np
import pytest

from bag_helpers import assert_same_bags
from bagwise import Bags
from bagwise.io import CorruptFileError, FormatError, read, read_folder, write

h5py = pytest.importorskip("h5py")


def test_pathology_h5_with_coordinates(tmp_path):
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(n, 4)).astype(np.float32) for n in (3, 2)]
    for name, block in zip("ab", features, strict=True):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["features"] = block
            file["coords"] = np.arange(2 * len(block)).reshape(-1, 2)
    (tmp_path / "labels.csv").write_text("file,label,patient\na.h5,tumor,p1\nb.h5,normal,p2\n")
    bags, y = read(tmp_path / "labels.csv", groups="patient", instance_ids="coords")
    assert bags.dtype == np.float32
    np.testing.assert_array_equal(bags.X, np.concatenate(features))
    assert bags.instance_ids[4] == (2, 3)
    write(tmp_path / "b.bags", bags, y)
    assert read(tmp_path / "b.bags")[0].instance_ids[4] == (2, 3)
    assert bags.groups.tolist() == ["p1", "p2"]
    assert (bags.ids.tolist(), y.tolist()) == (["a", "b"], ["tumor", "normal"])


@pytest.mark.torch
def test_pt_files_round_trip(tmp_path):
    bags = Bags.from_list([np.ones((3, 2), np.float32), np.zeros((1, 2), np.float32)])
    write(tmp_path / "slides", bags, [1, 0], suffix=".pt")
    assert_same_bags((bags, np.array([1, 0])), read(tmp_path / "slides"))


def test_pickles_are_never_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "s.csv").write_text("path,label\na.npy,1\n")
    with pytest.raises(CorruptFileError, match="Python objects"):
        read(tmp_path)


def test_attributes_must_be_in_all_files_or_in_none(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    np.savez(tmp_path / "c.npz", features=np.ones((2, 3)), instance_label=[0, 1])
    (tmp_path / "s.csv").write_text("path,label\na.npy,1\nc.npz,0\n")
    with pytest.raises(FormatError, match=r"c\.npz.*holds \['instance_labels'\], a.npy holds \[\]"):
        read(tmp_path)


def test_a_folder_has_one_listing_whose_columns_can_be_named(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("path,label\na.npy,1\n")
    with pytest.raises(FormatError, match=r"expected one CSV file .* found one\.csv, two\.csv"):
        read(tmp_path)
    (tmp_path / "bags.csv").write_text("path,bag,prior,label\na.npy,x,0.5,1\n")
    bags, _ = read(tmp_path)  # a listing of the usual name comes first
    assert (bags.ids.tolist(), bags.priors.tolist()) == (["x"], [0.5])
    (tmp_path / "s.csv").write_text("slide,stage,who\na.npy,late,p1\n")
    bags, y = read_folder(tmp_path / "s.csv", file="slide", label="stage", groups="who", bag="who")
    assert (bags.ids.tolist(), bags.groups.tolist(), y.tolist()) == (["p1"], ["p1"], ["late"])


@pytest.mark.parametrize("name", ["a" * 5000, "a\x01" * 200])
def test_names_that_no_file_can_have_are_named(name, tmp_path):
    (tmp_path / "bags.csv").write_text(f"path,label\n{name},1\n")
    with pytest.raises(FormatError, match=r"bags\.csv, line 2: there is no file"):
        read_folder(tmp_path)


@pytest.mark.parametrize("place", ["../secret.npy", "in/../../secret.npy", "{folder}/in/a.npy"])
def test_paths_outside_the_folder_are_refused(tmp_path, place):
    (tmp_path / "in").mkdir()
    for name in ("secret.npy", "in/a.npy"):
        np.save(tmp_path / name, np.eye(2))
    (tmp_path / "in" / "bags.csv").write_text(f"path\n{place.format(folder=tmp_path)}\n")
    with pytest.raises(FormatError, match="not inside this folder, and other files are not read"):
        read(tmp_path / "in")
