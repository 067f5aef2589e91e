"""Several stores as one."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import AnnealedLabelSVC, Bags, InstanceSVC, MarkovNetworkClassifier, WitnessSVC, io
from bagwise.datasets import make_gaussian_bags
from bagwise.estimators import sweeping
from bagwise.io.errors import CorruptFileError, FormatError


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


def test_one_store_is_opened_as_it_is(stores):
    folder, bags, _ = stores
    found, _ = io.open(folder / "a.bags")
    assert isinstance(found.X, np.memmap)
    np.testing.assert_array_equal(found.X, bags[:20].X)


@pytest.mark.parametrize(
    "model",
    [
        InstanceSVC(kernel="linear"),
        WitnessSVC(kernel="linear"),
        AnnealedLabelSVC(kernel="linear"),
        AnnealedLabelSVC(kernel="linear", probability="sigmoid", calibration_cv=2),
        MarkovNetworkClassifier(tol=0.05),
    ],
    ids=str,
)
def test_fits_do_not_depend_on_how_many_stores_there_are(stores, monkeypatch, model):
    folder, bags, y = stores
    monkeypatch.setattr(sweeping, "_MANY_ROWS", 0)
    one = model.fit(bags, y)
    objective, scores = one.objective_, one.decision_function(bags)
    found, labels = io.open(folder)
    many = model.fit(found, labels)
    np.testing.assert_array_equal(many.objective_, objective)
    np.testing.assert_array_equal(many.decision_function(found), scores)


def test_stores_that_differ_are_refused_by_name(stores):
    folder, bags, y = stores
    io.write(folder / "d.bags", Bags(bags.X[:, :3], bags.offsets, ids=bags.ids), y)
    with pytest.raises(FormatError, match=r"d\.bags.*features: 4 and 3"):
        io.open(folder)
    io.write(folder / "d.bags", bags[:5], overwrite=True)
    with pytest.raises(FormatError, match=r"d\.bags.*no labels"):
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
