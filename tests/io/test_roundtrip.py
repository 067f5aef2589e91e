"""Every format gives back what was written, to the last bit."""

from __future__ import annotations

import string
import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from bag_helpers import assert_same_bags, full_bags
from bagwise import Bags
from bagwise.bags.segments import offsets_of
from bagwise.io import _files, read, write

pytest.importorskip("pyarrow")
pytest.importorskip("h5py")
pytest.importorskip("openpyxl")

# Texts start with a letter: in a text format "12" comes back as a number, as documented.
LETTERS = string.ascii_letters + string.digits + "_-ü"
PLAIN = st.text(LETTERS, min_size=0, max_size=5).map(lambda t: "a" + t)
AWKWARD = st.text(LETTERS + " ,;'\"\\%{}\t\n|:#", max_size=6).map(lambda t: "a" + t)


@st.composite
def labeled_bags(draw, names=AWKWARD, dtype=np.float64, sparse=False, attributes=True):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    n, d = sum(sizes), draw(st.integers(1, 4))
    width = np.dtype(dtype).itemsize * 8
    X = draw(hnp.arrays(dtype, (n, d), elements=st.floats(width=width)))
    if sparse:
        keep = draw(hnp.arrays(bool, (n, d)))
        X = sp.csr_array(np.where(keep, X, 0))
    kinds = st.sampled_from(["text", "int"])
    ids = _names(draw, draw(kinds), names, len(sizes), unique=True)
    extra = {}
    if attributes and draw(st.booleans()):
        extra["groups"] = _names(draw, draw(kinds), names, len(sizes), unique=False)
        extra["sites"] = _names(draw, draw(kinds), names, len(sizes), unique=False)
        extra["priors"] = draw(hnp.arrays(float, len(sizes), elements=st.floats(0, 1)))
        extra["bag_features"] = draw(
            hnp.arrays(float, (len(sizes), 2), elements=st.floats(-1e9, 1e9))
        )
    if attributes and draw(st.booleans()):
        extra["instance_labels"] = draw(hnp.arrays(np.int64, n, elements=st.integers(0, 1)))
        known = draw(st.sampled_from([[0.0, 1.0, np.nan], ["yes", "no", ""]]))
        extra["known_labels"] = np.array([known[0], *draw(_some(known, n - 1))])
        extra["instance_ids"] = _names(draw, draw(kinds), names, n, unique=True)
        extra["parts"] = _names(draw, draw(kinds), names, n, unique=False)
    if attributes and draw(st.booleans()):
        extra["patch_size"] = 2.0 ** np.arange(len(sizes))
        extra["coords"] = draw(hnp.arrays(float, (n, 2), elements=st.floats(-1e9, 1e9)))
    # Labels that differ in spaces only are refused.
    y = _names(draw, draw(kinds), names.map(str.strip), len(sizes), unique=False)
    return Bags(X, offsets_of(sizes), ids=ids, **extra), y


def _some(values, n):
    return st.lists(st.sampled_from(values), min_size=n, max_size=n)


def _names(draw, kind, texts, count, unique):
    elements = texts if kind == "text" else st.integers(-(2**60), 2**60)
    return np.array(draw(st.lists(elements, min_size=count, max_size=count, unique=unique)))


def same_bits(a, b):
    real = ~np.isnan(a)
    return np.asarray(a)[real].tobytes() == np.asarray(b)[real].tobytes()


@dataclass(frozen=True)
class Trip:
    """A format: the name of its file, options to write it, and the bags it can store."""

    name: str
    written: dict = field(default_factory=dict)
    bags: dict = field(default_factory=dict)
    storage: bool = True  # data type and sparsity come back
    attributes: bool = True


_FOLDER = st.text(string.ascii_letters, min_size=1, max_size=4)
# A table of labels that are all "INF" holds numbers, as far as a reader can tell; "NA" is refused.
_FOLDER = _FOLDER.filter(lambda name: name.lower() not in ("inf", "nan", "na", "null"))
TYPES = (np.float64, np.float32, np.float16)
LINES = {"names": PLAIN, "attributes": False}
TRIPS = [
    *[Trip(name) for name in ("b.csv", "b.tsv.gz")],
    *[
        Trip(name, {"nested": nested}, bags={"dtype": dtype})
        for name in ("b.parquet", "b.arrow")
        for nested in (False, True)
        for dtype in TYPES
    ],
    *[Trip("b.arff", bags={"sparse": sparse}) for sparse in (False, True)],
    *[Trip("b.mat", bags={"sparse": sparse}) for sparse in (False, True)],
    Trip("b.data", bags=LINES),
    *[
        Trip("b.svm.gz", {"style": style}, bags={**LINES, "sparse": sparse}, storage=False)
        for style in ("qid", "triple")
        for sparse in (False, True)
    ],
    *[
        Trip("b.bags", bags={"dtype": dtype, "sparse": sparse})
        for sparse in (False, True)
        for dtype in TYPES[: 3 - sparse]  # SciPy has no float16 matrices
    ],
    *[
        Trip("slides", {"suffix": suffix}, bags={"names": _FOLDER}, attributes=False)
        for suffix in (".npy", ".npz", ".h5", ".csv")
    ],
]


@pytest.mark.parametrize("trip", TRIPS, ids=lambda t: f"{t.name} {t.written}")
def test_what_was_written_comes_back(trip, tmp_path_factory):
    @settings(max_examples=10, deadline=None)
    @given(data=labeled_bags(**trip.bags))
    def check(data):
        path = tmp_path_factory.mktemp("trip") / trip.name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what has no place is left out, with a warning
            write(path, *data, **trip.written)
        back = read(path)
        assert_same_bags(data, back, storage=trip.storage, attributes=trip.attributes)
        if not sp.issparse(data[0].X) and not sp.issparse(back[0].X):
            assert same_bits(data[0].X, back[0].X)
        if trip.written.get("suffix") in (".npz", ".h5"):
            for name in ("instance_labels", "known_labels", "instance_ids"):
                np.testing.assert_array_equal(getattr(data[0], name), getattr(back[0], name))

    check()


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("b.csv", {}),
        *[(n, {"nested": nested}) for n in ("b.parquet", "b.arrow") for nested in (0, 1)],
        ("b.data", {}),
        ("b.svm", {"style": "triple"}),
        ("b.bags", {}),
        ("b.xlsx", {}),
    ],
)
@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, sp.csr_array])
def test_small_blocks_change_nothing(name, written, store, tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "BLOCK_BYTES", 64)
    bags, y = full_bags([1, 2, 40, 1], store), np.array([0, 1, 0, 1])
    if name in ("b.data", "b.svm"):
        bags = Bags(bags.X, bags.offsets, ids=bags.ids, instance_ids=bags.instance_ids)
    write(tmp_path / name, bags, y, **written)
    storage = name == "b.bags" or (store is not sp.csr_array and name != "b.svm")
    back = read(tmp_path / name)
    named = bags.replace(feature_names=back[0].feature_names)
    assert_same_bags((named, y), back, storage=storage)


@pytest.mark.parametrize("name", ["b.csv", "b.parquet", "b.arrow", "b.arff", "b.mat", "b.bags"])
def test_bags_without_labels_come_back_without_and_with_their_names(name, tmp_path):
    bags = Bags.from_list([np.eye(2)], ids=["x"], feature_names=["mean area", "tex,ture"])
    write(tmp_path / name, bags)
    back, y = read(tmp_path / name)
    assert y is None
    np.testing.assert_array_equal(back.X, bags.X)
    assert (list(back.ids), list(back.feature_names)) == (["x"], ["mean area", "tex,ture"])


def test_writing_twice_gives_the_same_bytes(tmp_path):
    bags = Bags.from_list([np.eye(3), np.ones((2, 3))])
    for name in ("b.csv.gz", "b.arff", "b.svm"):
        write(tmp_path / name, bags, [1, 0])
        first = (tmp_path / name).read_bytes()
        write(tmp_path / name, bags, [1, 0])
        assert (tmp_path / name).read_bytes() == first
