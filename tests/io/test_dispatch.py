"""The format follows from the suffix, else from the content."""

import os
from pathlib import Path

import numpy as np
import pytest

from bagwise import (
    AnnealedLabelSVC,
    Bags,
    InstanceSVC,
    MarkovNetworkClassifier,
    WitnessSVC,
    io,
    load,
)
from bagwise.datasets import make_gaussian_bags
from bagwise.io import CorruptFileError, FormatError, read, read_parquet, write
from bagwise.io.dispatch import READERS, SUFFIXES, recognize, suffix_of
from bagwise.models.markov import descents

pytest.importorskip("pyarrow")

BAGS = Bags.from_list([np.arange(6.0).reshape(3, 2), np.ones((2, 2))], ids=["a", "b"])


@pytest.mark.parametrize("name", ["b.csv", "b.parquet", "b.arrow", "b.arff", "b.mat", "b.svm"])
def test_format_by_content(name, tmp_path):
    bags = Bags.from_list([np.eye(2), np.ones((1, 2))])
    write(tmp_path / name, bags, [1, 0])
    (tmp_path / name).rename(tmp_path / "unnamed")
    back, y = read(tmp_path / "unnamed")
    assert len(back) == 2
    assert y.tolist() == [1, 0]


def test_unknown_and_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read(tmp_path / "nothing.csv")
    (tmp_path / "b.bin").write_bytes(b"\0\1\2")
    with pytest.raises(FormatError, match="of no known format"):
        read(tmp_path / "b.bin")
    with pytest.raises(ValueError, match=r"suffix '\.bin' belongs to no format\. Pass format="):
        write(tmp_path / "c.bin", BAGS)
    with pytest.raises(ValueError, match=r"no format 'word'\. Known names: csv, excel, parquet"):
        read(tmp_path / "b.bin", format="word")
    with pytest.raises(ValueError, match=r"no format 'parkuet'\. Did you mean 'parquet'\?"):
        write(tmp_path / "b.bin", BAGS, format="parkuet")


def test_every_suffix_belongs_to_a_format():
    assert set(SUFFIXES.values()) == set(READERS) - {"folder", "slides", "molecules"}
    assert suffix_of(Path("a.b/Data.CSV.gz")) == ".csv"


def test_folders_and_listings_are_recognized(tmp_path):
    write(tmp_path / "b.bags", BAGS)
    write(tmp_path / "slides", BAGS)
    assert recognize(tmp_path / "b.bags") == "bags"
    assert recognize(tmp_path / "slides") == "folder"
    assert recognize(tmp_path / "slides" / "bags.csv") == "csv"  # it has a column "bag", too
    (tmp_path / "list.csv").write_text("path,label\na.npy,1\n")
    assert recognize(tmp_path / "list.csv") == "folder"


@pytest.mark.parametrize("name", ["b.data", "b.svm", "slides"])
def test_what_a_format_cannot_store_is_said(name, tmp_path):
    with pytest.warns(UserWarning, match="cannot store bag_features; left out"):
        write(tmp_path / name, BAGS.replace(bag_features=np.ones((2, 1))), [1, 0])
    with pytest.warns(UserWarning, match="cannot store coords; left out"):
        write(tmp_path / f"2{name}", BAGS.replace(coords=np.ones((BAGS.n_instances, 2))), [1, 0])


@pytest.mark.parametrize("suffix", sorted({*SUFFIXES, ""} - {".bags"}))
@pytest.mark.filterwarnings("ignore:.*cannot store")
def test_events_and_times_are_kept_by_bags_only(suffix, tmp_path):
    times = np.array([(True, 1.5), (False, 2.0)], dtype=[("event", bool), ("time", float)])
    with pytest.raises(ValueError, match=r"Only \.bags folders keep events and times"):
        write(tmp_path / f"b{suffix}", BAGS, times)
    assert not (tmp_path / f"b{suffix}").exists()
    write(tmp_path / "b.bags", BAGS, times)
    assert read(tmp_path / "b.bags")[1].tolist() == times.tolist()


@pytest.mark.parametrize("name", ["b.csv", "b.parquet", "b.svm", "b.data"])
def test_ids_that_a_format_cannot_store(name, tmp_path):
    ids = np.array(["a", ""]) if name != "b.parquet" else np.array(["a", 1], dtype=object)
    with pytest.raises(FormatError, match="cannot"):
        write(tmp_path / name, BAGS.replace(ids=ids), [1, 0])
    assert not (tmp_path / name).exists()


# Several stores as one ---------------------------------------------------------------------------


@pytest.fixture
def stores(tmp_path):
    rng = np.random.default_rng(0)
    bags, y = make_gaussian_bags(60, 4, bag_size=rng.integers(1, 12, 60), shift=2.0, random_state=0)
    bags = Bags(bags.X, bags.offsets, ids=[f"s{i}" for i in range(60)], groups=np.arange(60) // 2)
    for name, part in {"b": slice(20, 50), "a": slice(0, 20), "c": slice(50, 60)}.items():
        io.write(tmp_path / f"{name}.bags", bags[part], y[part])
    return tmp_path, bags, y


def test_a_folder_and_a_list_of_stores_are_one_set_of_bags(stores):
    folder, bags, y = stores
    for found, labels in (io.open(folder), io.open([folder / f"{n}.bags" for n in "abc"])):
        np.testing.assert_array_equal(np.asarray(found.X), bags.X)
        np.testing.assert_array_equal(found.offsets, bags.offsets)
        np.testing.assert_array_equal(found.ids, bags.ids)
        np.testing.assert_array_equal(found.groups, bags.groups)
        np.testing.assert_array_equal(labels, y)
    assert isinstance(io.open(folder / "a.bags")[0].X, np.memmap)  # one store is opened as it is


@pytest.mark.parametrize(
    "model",
    [
        WitnessSVC(kernel="linear"),
        AnnealedLabelSVC(kernel="linear", probability="sigmoid", calibration_cv=2),
        MarkovNetworkClassifier(tol=0.05),
    ],
    ids=str,
)
def test_fits_do_not_depend_on_how_many_stores_there_are(stores, monkeypatch, model):
    folder, bags, y = stores
    monkeypatch.setattr(descents, "MANY_ROWS", 0)
    one = model.fit(bags, y)
    objective, scores = one.objective_, one.decision_function(bags)
    found, labels = io.open(folder)
    many = model.fit(found, labels)
    np.testing.assert_array_equal(many.objective_, objective)
    np.testing.assert_array_equal(many.decision_function(found), scores)


def test_stores_that_differ_are_refused_by_name(stores):
    folder, bags, y = stores
    io.write(folder / "d.bags", Bags(bags.X[:, :3], bags.offsets, ids=bags.ids), y)
    with pytest.raises(ValueError, match=r"d\.bags.*features: 4 and 3"):
        io.open(folder)
    io.write(folder / "d.bags", bags[:5], overwrite=True)
    with pytest.raises(ValueError, match=r"d\.bags.*no labels"):
        io.open(folder)
    with pytest.raises(ValueError, match="empty"):
        io.open([])


def test_damage_is_found_when_the_rows_are_first_read(stores):
    folder, _, _ = stores
    file = folder / "b.bags" / "X.npy"
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    found, y = io.open(folder)
    with pytest.raises(CorruptFileError, match="checksum"):
        InstanceSVC(kernel="linear").fit(found, y)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.mat", "a", "a.h5", "a.bagwise"])
def test_pipes_are_refused(name, tmp_path):
    os.mkfifo(tmp_path / name)
    reader = {"a.parquet": read_parquet, "a.bagwise": load}.get(name, read)
    with pytest.raises(FormatError, match="is no regular file"):
        reader(tmp_path / name)
    if name == "a.h5":
        with pytest.raises(FormatError, match="is no regular file"):
            read(tmp_path)
