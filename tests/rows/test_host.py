"""Where rows are does not change a bit, nor does how shards are divided."""

from itertools import pairwise

import numpy as np
import pytest

from bagwise import AnnealedLabelSVC, AnnealedWitnessSVC, InstanceSVC, WitnessSVC, io
from bagwise.assumptions import AtLeastOne
from bagwise.bags.segments import cut_bags
from bagwise.rows import Assignment, Place, Rows, host
from bagwise.rows.host import add_up
from bagwise.rows.margins import Margins
from bagwise.rowstores.files import FileRows
from rows.planted import label, plant

LEARNED = ("coef_", "intercept_", "objective_", "gap_", "instance_weights_")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(host, "BLOCK_BYTES", 512)
    monkeypatch.setattr(host, "_FEWEST_ROWS", 8)


def fit(model, bags, y):
    model.fit(bags, y)
    return {name: getattr(model, name) for name in LEARNED}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 500.0])
def test_arrays_maps_and_files_have_the_same_bits(tmp_path, dtype, offset):
    bags, y = plant(dtype=dtype, offset=offset)
    np.save(tmp_path / "rows.npy", bags.X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    cuts = (0, 100, 101, len(mapped))
    files = FileRows([mapped[a:b] for a, b in pairwise(cuts)])
    for model in (WitnessSVC(kernel="linear"), AnnealedLabelSVC(kernel="linear", C=0.1)):
        here = fit(model, bags, y)
        for X in (mapped, files):
            for name, value in fit(model, bags.replace(X=X), y).items():
                np.testing.assert_array_equal(value, here[name], err_msg=name)


def test_stores_have_the_bits_of_memory(tmp_path):
    bags, y = plant(dtype=np.float32)
    io.write(tmp_path / "planted.bags", bags, y.astype(int))
    stored, labels = io.read(tmp_path / "planted.bags")
    model = AnnealedWitnessSVC(kernel="linear", threshold="calibrated", calibration_cv=3)
    here, there = fit(model, bags, y.astype(int)), fit(model, stored, labels)
    for name in LEARNED:
        np.testing.assert_array_equal(there[name], here[name], err_msg=name)


def test_half_precision_is_read_as_single():
    bags, y = plant(dtype=np.float16)
    half = fit(InstanceSVC(kernel="linear"), bags, y)
    single = fit(InstanceSVC(kernel="linear"), bags.replace(X=bags.X.astype(np.float32)), y)
    np.testing.assert_array_equal(half["coef_"], single["coef_"])


def test_parts_add_up_to_the_whole():
    bags, positive = plant()
    rows, labels = Rows(bags.X, bags.offsets), label(positive)
    assert len(rows.shards) > 8
    here = Place(np.ones(4), 0.1)
    look = Margins(here, Assignment(AtLeastOne(), here), labels)
    (whole,) = rows.run_pass([look])
    for size in (1, 2, 4):  # powers of two give the same tree
        sums = []
        for i in range(0, len(rows.shards), size):
            group = rows.shards[i : i + size]
            bag = slice(group[0][0].bag, group[-1][-1].end)
            of_rows = slice(*bags.offsets[[bag.start, bag.stop]])
            sums += rows.part(group).run_pass([look.part(bag, of_rows)])
        total = add_up(sums)
        np.testing.assert_array_equal(total.matrix, whole.matrix)
        np.testing.assert_array_equal(total.numbers, whole.numbers)


def test_ranges_have_whole_bags():
    offsets = np.array([0, 2, 3, 10, 11, 12])
    assert cut_bags(offsets, 4) == [0, 2, 3, 5]
    assert cut_bags(offsets, 100) == [0, 5]


def test_folds_of_a_calibration_share_their_passes(monkeypatch):
    bags, y = plant()
    counts, one = [], Rows.run_pass
    monkeypatch.setattr(
        Rows, "run_pass", lambda self, looks: counts.append(len(looks)) or one(self, looks)
    )
    model = AnnealedWitnessSVC(kernel="linear", threshold="calibrated", calibration_cv=3)
    model.fit(bags, y)
    assert max(counts) == 3
    assert sum(counts) > 1.5 * len(counts)
    # A bag that is held out weighs nothing: the same as if it were not there.
    plain = AnnealedWitnessSVC(kernel="linear")
    weight = np.ones(len(y))
    weight[::3] = 0.0
    left = np.flatnonzero(weight)
    np.testing.assert_allclose(
        plain.fit(bags, y, weight).coef_, plain.fit(bags[left], y[left]).coef_, atol=1e-6
    )
