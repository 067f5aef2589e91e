"""A malformed file gets its named error, with the file, the place and what was expected."""

from __future__ import annotations

import gzip
import pickle

import numpy as np
import pytest

from bagwise import Bags
from bagwise.io import (
    CorruptFileError,
    DuplicateColumnError,
    FormatError,
    LabelError,
    MixedTypeError,
    ShuffledBagError,
    TruncatedFileError,
    read,
    read_csv,
    write,
)

pytest.importorskip("pyarrow")
pytest.importorskip("h5py")

GOOD = "bag,label,f1,f2\na,1,0.5,1\na,1,0.7,2\nb,0,0.1,3\n"
BAGS = Bags.from_list([np.arange(6.0).reshape(3, 2), np.ones((2, 2))], ids=["a", "b"])


@pytest.mark.parametrize("engine", ["csv", "pyarrow"])
@pytest.mark.parametrize(
    ("text", "error", "line", "says"),
    [
        (GOOD + "b,0,0.2", TruncatedFileError, 5, "3 fields, expected 4"),
        (GOOD + 'b,0,"0.2', TruncatedFileError, 5, "unexpected end"),
        (GOOD.replace("a,1,0.7,2", "a,1,0.7"), FormatError, 3, "3 fields, expected 4"),
        (GOOD.replace("a,1,0.7,2", "a,1,0.7,2,9"), FormatError, 3, "5 fields, expected 4"),
        (GOOD + "a,1,4,5\n", ShuffledBagError, 5, "bag 'a' appears again"),
        (GOOD.replace("f2", "f1"), DuplicateColumnError, 1, "columns 3 and 4"),
        (GOOD.replace("0.7", "high"), MixedTypeError, 3, "'high' is not a number"),
        (GOOD.replace("0.7", "1_000"), MixedTypeError, 3, "'1_000' is not a number"),
        (GOOD.replace("a,1,0.7", "a,0,0.7"), LabelError, 3, "has the label 1 and here 0"),
        (GOOD.replace("a,1,0.7", "a,,0.7"), LabelError, 3, "label is missing"),
        (GOOD.replace("b,0", ",0"), FormatError, 4, "bag is missing"),
        (GOOD.replace("bag,", "slide,"), FormatError, 1, "name yours with bag="),
        ("bag,label\na,1\n", FormatError, 1, "no feature columns"),
        ("bag,label,f1\n", FormatError, None, "holds no rows"),
        ("", FormatError, None, "is empty"),
        ("bag,label,prior,f1\na,1,much,3\n", MixedTypeError, 2, "'much' is not a number"),
    ],
)
def test_csv(text, error, line, says, engine, tmp_path):
    path = tmp_path / "bags.csv"
    path.write_text(text)
    with pytest.raises(error, match="(?s).*" + says.replace("(", r"\(")) as caught:
        read_csv(path, engine=engine)
    assert type(caught.value) is error
    assert caught.value.line == line
    assert str(path) in str(caught.value)


def test_mixed_type_names_the_column(tmp_path):
    (tmp_path / "b.csv").write_text(GOOD.replace("0.7", "high"))
    with pytest.raises(MixedTypeError, match="column 'f1'"):
        read(tmp_path / "b.csv")


def test_line_numbers_count_blank_lines_and_quoted_breaks(tmp_path):
    text = 'bag,label,f1\n"a\nx",1,0.5\n\nb,0,1\n"a\nx",1,2\n'
    (tmp_path / "b.csv").write_text(text)
    with pytest.raises(ShuffledBagError) as caught:
        read(tmp_path / "b.csv")
    assert caught.value.line == 7  # where the row that starts on line 6 ends


@pytest.mark.parametrize("engine", ["csv", "pyarrow"])
def test_gzip_cut_short_and_damaged(engine, tmp_path):
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(4000, 5)), [0, 2000, 4000])
    write(tmp_path / "b.csv.gz", bags, [0, 1])
    whole = (tmp_path / "b.csv.gz").read_bytes()
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TruncatedFileError, match=r"cut\.csv\.gz.*ends too early"):
        read_csv(tmp_path / "cut.csv.gz", engine=engine)
    damaged = bytearray(whole)
    damaged[len(whole) // 2 : len(whole) // 2 + 50] = b"x" * 50
    (tmp_path / "bad.csv.gz").write_bytes(bytes(damaged))
    with pytest.raises(CorruptFileError, match=r"bad\.csv\.gz.*damaged"):
        read_csv(tmp_path / "bad.csv.gz", engine=engine)


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "b.csv").write_bytes(GOOD.encode() + b"c\xff,1,2,3\n")
    with pytest.raises(CorruptFileError, match="UTF-8"):
        read(tmp_path / "b.csv")


def test_regroup_brings_scattered_bags_together(tmp_path):
    (tmp_path / "b.csv").write_text(GOOD + "a,1,9,9\n")
    bags, y = read(tmp_path / "b.csv", regroup=True)
    assert bags.sizes.tolist() == [3, 1]
    assert bags.instance_ids.tolist() == [0, 1, 3, 2]
    assert y.tolist() == [1, 0]
    (tmp_path / "c.csv").write_text(GOOD + "a,0,9,9\n")
    with pytest.raises(LabelError) as caught:
        read(tmp_path / "c.csv", regroup=True)
    assert caught.value.line == 5


@pytest.mark.parametrize("name", ["b.parquet", "b.arrow"])
@pytest.mark.parametrize("nested", [False, True])
def test_columnar_cut_short(name, nested, tmp_path):
    write(tmp_path / name, BAGS, [1, 0], nested=nested)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[:-20])
    with pytest.raises(TruncatedFileError, match=name):
        read(tmp_path / name)
    (tmp_path / name).write_bytes(b"not what the name says")
    with pytest.raises(CorruptFileError, match=name):
        read(tmp_path / name)


def _parquet(path, **columns):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), path)
    return path


def test_parquet_contents(tmp_path):
    path = tmp_path / "b.parquet"
    bag, f = ["a", "a", "b"], [1.0, 2.0, 3.0]
    with pytest.raises(LabelError, match="row 2"):
        read(_parquet(path, bag=bag, label=[1, 0, 0], f=f))
    with pytest.raises(LabelError, match=r"row 2.*missing"):
        read(_parquet(path, bag=bag, label=[1, None, 0], f=f))
    with pytest.raises(ShuffledBagError, match="row 3"):
        read(_parquet(path, bag=["a", "b", "a"], label=[1, 0, 1], f=f))
    with pytest.raises(MixedTypeError, match="column 'f'"):
        read(_parquet(path, bag=bag, label=[1, 1, 0], f=["1", "2", "x"]))
    with pytest.raises(FormatError, match="row 2"):
        read(_parquet(path, bag=["a", "b"], instances=[[[1.0, 2.0]], [[1.0]]]))
    with pytest.raises(FormatError, match=r"row 1.*no instances"):
        read(_parquet(path, bag=["a", "b"], instances=[[], [[1.0]]]))
    with pytest.raises(ShuffledBagError, match="two rows"):
        read(_parquet(path, bag=["a", "a"], instances=[[[2.0]], [[1.0]]]))


ARFF = """@relation r
@attribute id {a,b}
@attribute bag relational
  @attribute f1 numeric
  @attribute f2 numeric
@end bag
@attribute class {0,1}
@data
a,"1,2\\n3,4",1
b,"5,6",0
"""


@pytest.mark.parametrize(
    ("old", "new", "error", "line", "says"),
    [
        ('"5,6",0', '"5,6', TruncatedFileError, 10, "not closed"),
        ('b,"5,6",0\n', 'b,"5,6"', FormatError, 10, "2 values, 3 are declared"),
        ("b,", "a,", ShuffledBagError, 10, "line 9"),
        ("f2", "f1", DuplicateColumnError, 5, "twice"),
        ("3,4", "3,x", MixedTypeError, 9, "instance 2: 'x' is not a number"),
        ("3,4", "3", FormatError, 9, "instance 2 of the bag has 1 values"),
        ('",0', '",7', LabelError, 10, "'7' is not among"),
        ('",0', '",?', LabelError, 10, "missing"),
        ("@end bag\n", "", FormatError, 7, "no @end"),
        ("f2 numeric", "f2 date", FormatError, 5, "'date' is not supported"),
        ("f2 numeric", "f2 string", MixedTypeError, None, "type string"),
        ("@relation", "@relations", FormatError, 1, "not a declaration"),
        (ARFF[ARFF.index("@data") :], "", TruncatedFileError, 7, "Expected @data"),
        (ARFF[ARFF.index('a,"') :], "", FormatError, None, "no rows after @data"),
        ("relational", "numeric", FormatError, 6, "without an open"),
        ('"5,6"', '"{0 5,7 1}"', FormatError, 10, "index '7', expected 0 to 1"),
        ('"5,6"', '""', FormatError, 10, "no instances"),
    ],
)
def test_arff(old, new, error, line, says, tmp_path):
    path = tmp_path / "b.arff"
    path.write_text(ARFF.replace(old, new, 1))
    with pytest.raises(error, match=says.replace("(", r"\(")) as caught:
        read(path)
    assert type(caught.value) is error
    assert caught.value.line == line


C45 = "m1,1_1,42,-198,1.\nm1,1_2,42,-191,1.\nm2,2_1,7,8,0.\n"


@pytest.mark.parametrize(
    ("old", "new", "error", "line"),
    [
        ("m2,2_1,7,8,0.", "m2,2_1", TruncatedFileError, 3),
        ("m1,1_2,42", "m1,1_2,42,3", FormatError, 2),
        ("-191", "?!", MixedTypeError, 2),
        ("-191,1.", "-191,0.", LabelError, 2),
        ("-191,1.", "-191,.", LabelError, 2),
        ("m2,2_1,7,8,0.", "m2,2_1,7,8,0.\nm1,1_3,1,1,1.", ShuffledBagError, 4),
    ],
)
def test_c45(old, new, error, line, tmp_path):
    (tmp_path / "b.data").write_text(C45.replace(old, new))
    with pytest.raises(error) as caught:
        read(tmp_path / "b.data")
    assert type(caught.value) is error
    assert caught.value.line == line


SVM = "1 qid:1 1:0.5 3:2\n1 qid:1 2:1\n-1 qid:2 3:4\n"


@pytest.mark.parametrize(
    ("old", "new", "error", "line"),
    [
        ("3:4\n", "3:", TruncatedFileError, 3),
        ("2:1", "2:x", MixedTypeError, 2),
        ("2:1", "2", MixedTypeError, 2),
        ("2:1", "0:1", FormatError, 2),
        ("2:1", "1.5:1", FormatError, 2),
        ("1 qid:1 2:1", "-1 qid:1 2:1", LabelError, 2),
        ("-1 qid:2 3:4\n", "-1 qid:2 3:4\n1 qid:1 1:1\n", ShuffledBagError, 4),
        ("1 qid:1 2:1", "1 2:1", FormatError, 2),
        ("1 qid:1 2:1", "1 qid: 2:1", FormatError, 2),
    ],
)
def test_svmlight(old, new, error, line, tmp_path):
    (tmp_path / "b.svm").write_text(SVM.replace(old, new))
    with pytest.raises(error) as caught:
        read(tmp_path / "b.svm")
    assert type(caught.value) is error
    assert caught.value.line == line


def test_mat(tmp_path):
    from scipy.io import savemat

    path = tmp_path / "b.mat"
    write(path, BAGS, [1, 0])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorruptFileError, match=r"b\.mat"):
        read(path)
    savemat(path, {"X": np.eye(3), "bag": [1, 1, 2], "y": [0, 1, 0]})
    with pytest.raises(LabelError, match="row 2"):
        read(path)
    savemat(path, {"X": np.eye(3), "bag": [1, 1, 2], "y": [0, 1, 0, 1]})
    with pytest.raises(LabelError, match="4 labels for 2 bags"):
        read(path)
    savemat(path, {"X": np.eye(3), "bag": [1, 2, 1]})
    with pytest.raises(ShuffledBagError, match="row 3"):
        read(path)
    savemat(path, {"Z": np.eye(3), "bag": [1, 2, 1]})
    with pytest.raises(FormatError, match=r"no variable any of X, features, data; it has \['Z'"):
        read(path)
    (tmp_path / "c.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"x" * 999)
    with pytest.raises(CorruptFileError, match=r"7\.3"):
        read(tmp_path / "c.mat")


def test_bags_folder(tmp_path):
    path = tmp_path / "b.bags"
    write(path, BAGS, [1, 0])
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write(path, BAGS, [1, 0])
    write(path, BAGS, [1, 0], overwrite=True)
    whole = (path / "X.npy").read_bytes()
    (path / "X.npy").write_bytes(whole[:-8])
    with pytest.raises(TruncatedFileError, match=r"X\.npy"):
        read(path)
    (path / "X.npy").write_bytes(b"y" * len(whole))
    with pytest.raises(CorruptFileError, match=r"X\.npy"):
        read(path)
    (path / "X.npy").unlink()
    with pytest.raises(FormatError, match=r"X\.npy is missing"):
        read(path)
    manifest = path / "bags.json"
    manifest.write_text(manifest.read_text().replace('"version": 1', '"version": 99'))
    with pytest.raises(FormatError, match="version 99"):
        read(path)
    manifest.write_text("{")
    with pytest.raises(CorruptFileError, match="JSON"):
        read(path)
    manifest.unlink()
    with pytest.raises(FormatError, match=r"no bags\.json"):
        read(path)


def test_a_folder_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    odd = np.empty(2, dtype=object)
    odd[:] = [("a", 1), ("b", 2)]
    with pytest.raises(FormatError, match="is a tuple"):
        write(tmp_path / "b.bags", BAGS.replace(ids=odd))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5"])
def test_folder_of_files(suffix, tmp_path):
    folder = tmp_path / "slides"
    write(folder, BAGS, [1, 0], suffix=suffix)
    with pytest.raises(FileExistsError, match="not empty"):
        write(folder, BAGS, [1, 0], suffix=suffix)
    listing = folder / "bags.csv"
    text = listing.read_text()

    def with_listing(old, new):
        listing.write_text(text.replace(old, new))
        return folder

    with pytest.raises(FormatError, match=r"line 3: there is no file"):
        read(with_listing("000001", "000007"))
    with pytest.raises(DuplicateColumnError, match="'path'"):
        read(with_listing("label", "path"))
    with pytest.raises(ShuffledBagError, match="line 2 already"):
        read(with_listing(",b,", ",a,"))
    with pytest.raises(LabelError, match="line 3"):
        read(with_listing(",b,0", ",b,"))
    with pytest.raises(FormatError, match="no column 'stage'"):
        read(folder, label="stage")
    listing.write_text(text)
    bag = folder / f"000001{suffix}"
    bag.write_bytes(bag.read_bytes()[:90])
    with pytest.raises(CorruptFileError, match=bag.name):
        read(folder)


def test_folder_of_unequal_files(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    (tmp_path / "s.csv").write_text("path,label\na.npy,1\nb.npy,0\n")
    for wrong, error, says in [
        (np.ones((2, 4)), FormatError, "4 features, a.npy has 3"),
        (np.ones((2, 3), np.float32), MixedTypeError, "float32"),
        (np.ones(3), FormatError, r"shape \(3,\)"),
        (np.array([["x", "y", "z"]]), MixedTypeError, "expected numbers"),
    ]:
        np.save(tmp_path / "b.npy", wrong)
        with pytest.raises(error, match=rf"b\.npy.*{says}"):
            read(tmp_path)
    np.save(tmp_path / "b.npy", np.ones((2, 3), np.float32))
    assert read(tmp_path, dtype="float32")[0].dtype == np.float32
    np.savez(tmp_path / "c.npz", features=np.ones((2, 3)), instance_label=[0, 1])
    (tmp_path / "s.csv").write_text("path,label\na.npy,1\nc.npz,0\n")
    with pytest.raises(FormatError, match=r"c\.npz.*holds \['instance_labels'\], a.npy holds \[\]"):
        read(tmp_path)
    (tmp_path / "other.csv").write_text("path\n")
    with pytest.raises(FormatError, match="2 CSV files"):
        read(tmp_path)


def test_pickles_are_never_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "s.csv").write_text("path,label\na.npy,1\n")
    with pytest.raises(CorruptFileError, match="allow_pickle"):
        read(tmp_path)


def test_unknown_and_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read(tmp_path / "nothing.csv")
    (tmp_path / "b.bin").write_bytes(b"\0\1\2")
    with pytest.raises(FormatError, match="no known format"):
        read(tmp_path / "b.bin")
    with pytest.raises(ValueError, match=r"suffix .\.bin. says no format"):
        write(tmp_path / "c.bin", BAGS)
    with pytest.raises(ValueError, match="There is no format 'excel'"):
        read(tmp_path / "b.bin", format="excel")


def test_errors_survive_pickling():
    error = MixedTypeError("a.csv", "no number.", 3, "f1")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "a.csv, line 3, column 'f1': no number."


@pytest.mark.parametrize("name", ["b.data", "b.svm", "b.mat", "slides"])
def test_what_a_format_cannot_hold_is_said(name, tmp_path):
    bags = BAGS.replace(bag_features=np.ones((2, 1)))
    if name == "b.mat":
        with pytest.raises(FormatError, match="float16"):
            write(tmp_path / name, bags.replace(X=bags.X.astype(np.float16)), [1, 0])
        return
    with pytest.warns(UserWarning, match="bag_features; left out"):
        write(tmp_path / name, bags, [1, 0])


@pytest.mark.parametrize("name", ["b.csv", "b.parquet", "b.svm", "b.data"])
def test_ids_that_a_format_cannot_hold(name, tmp_path):
    ids = np.array(["a", ""]) if name != "b.parquet" else np.array(["a", 1], dtype=object)
    with pytest.raises(FormatError):
        write(tmp_path / name, BAGS.replace(ids=ids), [1, 0])
    assert not (tmp_path / name).exists()


def test_gzip_without_the_suffix_is_recognised(tmp_path):
    (tmp_path / "b.csv").write_bytes(gzip.compress(GOOD.encode()))
    assert len(read(tmp_path / "b.csv")[0]) == 2
