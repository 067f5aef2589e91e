"""Every format gives back what was written, to the last bit."""

from __future__ import annotations

import string
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from bag_helpers import assert_same_bags
from bagwise import Bags
from bagwise.bags.segments import offsets_of
from bagwise.io import read, read_csv, write

pytest.importorskip("pyarrow")
pytest.importorskip("h5py")

SETTINGS = settings(max_examples=25, deadline=None)

# Texts start with a letter: in a text format "12" comes back as a number, as documented.
LETTERS = string.ascii_letters + string.digits + "_-ü"
PLAIN = st.text(LETTERS, min_size=0, max_size=5).map(lambda t: "a" + t)
AWKWARD = st.text(LETTERS + " ,;'\"\\%{}\t\n|:#", max_size=6).map(lambda t: "a" + t)
NUMBERS = st.floats(width=64, allow_nan=True, allow_infinity=True)


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
        extra["priors"] = draw(hnp.arrays(float, len(sizes), elements=st.floats(0, 1)))
        extra["bag_features"] = draw(
            hnp.arrays(float, (len(sizes), 2), elements=st.floats(-1e9, 1e9))
        )
    if attributes and draw(st.booleans()):
        extra["instance_labels"] = draw(hnp.arrays(np.int64, n, elements=st.integers(0, 1)))
        extra["instance_ids"] = _names(draw, draw(kinds), names, n, unique=True)
    if attributes and draw(st.booleans()):
        extra["patch_size"] = 2.0 ** np.arange(len(sizes))
        extra["coords"] = draw(hnp.arrays(float, (n, 2), elements=st.floats(-1e9, 1e9)))
    y = _names(draw, draw(kinds), names, len(sizes), unique=False)
    return Bags(X, offsets_of(sizes), ids=ids, **extra), y


def _names(draw, kind, texts, count, unique):
    elements = texts if kind == "text" else st.integers(-(2**60), 2**60)
    return np.array(draw(st.lists(elements, min_size=count, max_size=count, unique=unique)))


def same_bits(a, b):
    real = ~np.isnan(a)
    return np.asarray(a)[real].tobytes() == np.asarray(b)[real].tobytes()


@pytest.mark.parametrize("engine", ["csv", "pyarrow"])
@pytest.mark.parametrize("name", ["bags.csv", "bags.tsv.gz"])
@SETTINGS
@given(data=labeled_bags())
def test_tables(data, name, engine, tmp_path_factory):
    path = tmp_path_factory.mktemp("csv") / name
    write(path, *data)
    back = read_csv(path, engine=engine)
    assert_same_bags(data, back)
    assert same_bits(data[0].X, back[0].X)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("name", ["bags.parquet", "bags.arrow"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@settings(max_examples=10, deadline=None)
@given(st.data())
def test_columnar(name, nested, dtype, tmp_path_factory, data):
    bags, y = data.draw(labeled_bags(dtype=dtype))
    path = tmp_path_factory.mktemp("arrow") / name
    write(path, bags, y, nested=nested)
    back = read(path)
    assert_same_bags((bags, y), back)
    assert same_bits(bags.X, back[0].X)


@pytest.mark.parametrize("sparse", [False, True])
@SETTINGS
@given(st.data())
def test_arff(sparse, tmp_path_factory, data):
    bags, y = data.draw(labeled_bags(sparse=sparse))
    path = tmp_path_factory.mktemp("arff") / "bags.arff"
    write(path, bags, y)
    assert_same_bags((bags, y), read(path))


@SETTINGS
@given(data=labeled_bags(names=PLAIN, attributes=False))
def test_c45(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("c45") / "bags.data"
    write(path, *data)
    assert_same_bags(data, read(path))


@pytest.mark.parametrize("style", ["qid", "triple"])
@pytest.mark.parametrize("sparse", [False, True])
@SETTINGS
@given(st.data())
def test_svmlight(style, sparse, tmp_path_factory, data):
    bags, y = data.draw(labeled_bags(names=PLAIN, sparse=sparse, attributes=False))
    path = tmp_path_factory.mktemp("svm") / "bags.svm.gz"
    write(path, bags, y, style=style)
    back = read(path)
    assert sp.issparse(back[0].X)
    assert_same_bags((bags, y), back, storage=False)


@pytest.mark.parametrize("sparse", [False, True])
@SETTINGS
@given(st.data())
def test_mat(sparse, tmp_path_factory, data):
    bags, y = data.draw(labeled_bags(sparse=sparse))
    path = tmp_path_factory.mktemp("mat") / "bags.mat"
    write(path, bags, y)
    assert_same_bags((bags, y), read(path))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("mmap", [False, True])
@settings(max_examples=10, deadline=None)
@given(st.data())
def test_bags_folder(dtype, sparse, mmap, tmp_path_factory, data):
    if sparse and dtype == np.float16:
        dtype = np.float32  # SciPy has no float16 matrices
    bags, y = data.draw(labeled_bags(dtype=dtype, sparse=sparse))
    path = tmp_path_factory.mktemp("store") / "bags.bags"
    write(path, bags, y)
    back = read(path, mmap=mmap)
    assert_same_bags((bags, y), back)
    values = (bags.X.data, back[0].X.data) if sparse else (bags.X, back[0].X)
    assert same_bits(*values)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5", ".csv"])
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_folder(suffix, tmp_path_factory, data):
    names = st.text(string.ascii_letters, min_size=1, max_size=4)
    # A table of labels that are all "INF" holds numbers, as far as a reader can tell.
    names = names.filter(lambda name: name.lower() not in ("inf", "nan"))
    bags, y = data.draw(labeled_bags(names=names))
    path = tmp_path_factory.mktemp("folder") / "slides"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what has no place is left out, with a warning
        write(path, bags, y, suffix=suffix)
    back = read(path)
    assert_same_bags((bags, y), back, attributes=False)
    if suffix in (".npz", ".h5") and bags.instance_labels is not None:
        np.testing.assert_array_equal(bags.instance_labels, back[0].instance_labels)
        np.testing.assert_array_equal(bags.instance_ids, back[0].instance_ids)


@pytest.mark.parametrize("name", ["b.csv", "b.parquet", "b.arrow", "b.arff", "b.mat", "b.bags"])
def test_bags_without_labels_come_back_without(name, tmp_path):
    bags = Bags.from_list([np.eye(2), np.ones((1, 2))], ids=["x", "y"])
    write(tmp_path / name, bags)
    back, y = read(tmp_path / name)
    assert y is None
    np.testing.assert_array_equal(back.X, bags.X)
    np.testing.assert_array_equal(back.ids, ["x", "y"])


@pytest.mark.parametrize("name", ["b.csv", "b.parquet", "b.arrow", "b.arff", "b.mat", "b.bags"])
def test_feature_names_survive(name, tmp_path):
    bags = Bags.from_list([np.eye(2)], feature_names=["mean area", "tex,ture"])
    write(tmp_path / name, bags, [1])
    assert list(read(tmp_path / name)[0].feature_names) == ["mean area", "tex,ture"]


def test_writing_twice_gives_the_same_bytes(tmp_path):
    bags = Bags.from_list([np.eye(3), np.ones((2, 3))])
    for name in ("b.csv.gz", "b.arff", "b.svm"):
        write(tmp_path / name, bags, [1, 0])
        first = (tmp_path / name).read_bytes()
        write(tmp_path / name, bags, [1, 0])
        assert (tmp_path / name).read_bytes() == first


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("musk1.csv.gz", {}),
        ("musk1.parquet", {}),
        ("musk1.parquet", {"nested": True}),
        ("musk1.feather", {}),
        ("musk1.arff", {}),
        ("clean1.data", {}),
        ("musk1.svm", {"style": "triple"}),
        ("musk1.mat", {}),
        ("musk1.bags", {}),
        ("musk1", {"suffix": ".npy"}),
        ("musk1", {"suffix": ".h5"}),
    ],
)
def test_musk1_loads_in_one_line(name, options, dataset, tmp_path):
    bags, y = dataset("musk1")
    write(tmp_path / name, bags, y, **options)
    back, z = read(tmp_path / name)
    assert_same_bags((bags, y), (back, z), storage=not name.endswith("svm"), attributes=False)
