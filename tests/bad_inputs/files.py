"""Bad files of every format: what is changed in a good one, the error, and words of its message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.io import savemat

from bagwise import io, persistence
from bagwise.bags import Bags
from bagwise.io import (
    CorruptFileError,
    DuplicateColumnError,
    FormatError,
    LabelError,
    MixedTypeError,
    ShuffledBagError,
    TruncatedFileError,
)
from bagwise.models.witness import WitnessSVC

Edit = Callable[[Path], Any]

BAGS = Bags.from_list([np.arange(6.0).reshape(3, 2), np.ones((2, 2))], ids=["a", "b"])
MANY = Bags(np.random.default_rng(0).normal(size=(4000, 5)), [0, 2000, 4000])

CSV = "bag,label,f1,f2\na,1,0.5,1\na,1,0.7,2\nb,0,0.1,3\n"
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
C45 = "m1,1_1,42,-198,1.\nm1,1_2,42,-191,1.\nm2,2_1,7,8,0.\n"
SVM = "1 qid:1 1:0.5 3:2\n1 qid:1 2:1\n-1 qid:2 3:4\n"


def _save(path: Path) -> None:
    persistence.save(WitnessSVC(kernel="linear").fit(BAGS, [1, 0]), path)


def _write(path: Path, bags: Bags = BAGS, y: Any = (1, 0), **options: Any) -> None:
    io.write(path, bags, list(y), **options)


# Form, its text or how it is written, and the file in it that is damaged.
FORMS: dict[str, tuple[str | Callable[..., None], str]] = {
    "b.csv": (CSV, ""),
    "b.tsv": (_write, ""),
    "b.csv.gz": (partial(_write, bags=MANY), ""),
    "b.parquet": (_write, ""),
    "nested.parquet": (partial(_write, nested=True), ""),
    "b.arrow": (_write, ""),
    "nested.arrow": (partial(_write, nested=True), ""),
    "b.arff": (ARFF, ""),
    "b.data": (C45, ""),
    "b.svm": (SVM, ""),
    "b.mat": (_write, ""),
    "b.xlsx": (_write, ""),
    "b.h5ad": (_write, ""),
    "b.bags": (_write, "X.npy"),
    "of_npy": (partial(_write, suffix=".npy"), "000001.npy"),
    "of_npz": (partial(_write, suffix=".npz"), "000001.npz"),
    "of_h5": (partial(_write, suffix=".h5"), "000001.h5"),
    "of_slides": (partial(_write, format="slides"), "h5_files/a.h5"),
    "m.bagwise": (_save, ""),
}


def make_form(name: str, folder: Path) -> Path:
    """Make the good file or folder of a form, and return its path."""
    how = FORMS[name][0]
    if isinstance(how, str):
        (folder / name).write_text(how)
    else:
        how(folder / name)
    return folder / name


def _read(path: Path, **options: Any) -> Any:
    if path.suffix == ".bagwise":
        return persistence.load(path)
    named = {"format": "folder"} if path.name in ("of_npy", "of_npz", "of_h5") else {}
    return io.read(path, **named, **options)


# Edits of a file ---------------------------------------------------------------------------------


def swap(old: str, new: str, inside: str = "") -> Edit:
    """Replace a text, in the file or in a file of the folder."""

    def edit(path):
        file = path / inside
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new, 1))

    return edit


def add(text):
    """Append a text."""
    return lambda path: path.write_text(path.read_text() + text)


def only(text, inside=""):
    """Write another content."""
    content = text if isinstance(text, bytes) else text.encode()
    return lambda path: (path / inside).write_bytes(content)


def cut(keep, inside=""):
    """Keep a part of the bytes: their fraction, their number, or all but -keep."""

    def edit(path):
        content = (path / inside).read_bytes()
        end = int(keep * len(content)) if isinstance(keep, float) else keep
        (path / inside).write_bytes(content[:end])

    return edit


def damage(path):
    """Overwrite fifty bytes in the middle."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 50] = b"x" * 50
    path.write_bytes(bytes(content))


def flip(inside):
    """Flip the lowest bit of the last number of an array."""

    def edit(path):
        content = bytearray((path / inside).read_bytes())
        content[-8] ^= 1
        (path / inside).write_bytes(bytes(content))

    return edit


def remove(inside):
    """Remove a file of the folder."""
    return lambda path: (path / inside).unlink()


def columns(**named):
    """Write another Parquet table."""

    def edit(path):
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(named), path)

    return edit


def variables(**named):
    """Write other MATLAB variables."""
    return lambda path: savemat(path, named)


def cells(**named):
    """Write another Excel sheet."""
    return lambda path: pd.DataFrame(named).to_excel(path, index=False)


def bag(values, inside="000001.npy"):
    """Write another bag into a folder."""
    return lambda path: np.save(path / inside, values)


F = [1.0, 2.0, 3.0]
EYE = np.eye(3)
MAT_7_3 = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"x" * 999

# format, edit, error, words of the message
CASES = [
    ("b.csv", add("b,0,0.2"), TruncatedFileError, "line 5: 3 fields, expected 4"),
    ("b.csv", add('b,0,"0.2'), TruncatedFileError, "line 5", "unexpected end"),
    ("b.csv", swap("0.7,2", "0.7"), FormatError, "line 3: 3 fields, expected 4"),
    ("b.csv", swap("0.7,2", "0.7,2,9"), FormatError, "line 3: 5 fields, expected 4"),
    ("b.csv", add("a,1,4,5\n"), ShuffledBagError, "line 5: bag 'a' appears again", "regroup=True"),
    ("b.csv", swap("f2", "f1"), DuplicateColumnError, "line 1, column 'f1': columns 3 and 4"),
    ("b.csv", swap("0.7", "high"), MixedTypeError, "line 3, column 'f1': 'high' is not a number"),
    ("b.csv", swap("0.7", "1_000"), MixedTypeError, "line 3", "'1_000' is not a number"),
    ("b.csv", swap("a,1,0.7", "a,0,0.7"), LabelError, "line 3", "has the label 1 and here 0"),
    ("b.csv", swap("a,1,0.7", "a,,0.7"), LabelError, "line 3: the label is missing"),
    ("b.csv", swap("b,0", ",0"), FormatError, "line 4: the bag is missing"),
    ("b.csv", swap("bag,", "slide,"), FormatError, "line 1", "name yours with bag="),
    ("b.csv", only("bag,label\na,1\n"), FormatError, "line 1: has no feature columns"),
    ("b.csv", only("bag,label,f1\n"), FormatError, "holds no rows. Expected one row per instance"),
    ("b.csv", only(""), FormatError, "is empty. Expected one row per instance"),
    ("b.csv", only("bag,label,prior,f\na,1,much,3\n"), MixedTypeError, "line 2, column 'priors'"),
    ("b.csv", only(CSV.encode() + b"c\xff,1,2,3\n"), CorruptFileError, "is not UTF-8 text"),
    ("b.csv.gz", cut(0.5), TruncatedFileError, "the gzip stream ends too early"),
    ("b.csv.gz", damage, CorruptFileError, "the gzip stream is damaged"),
    ("b.arff", swap('"5,6",0', '"5,6'), TruncatedFileError, "line 10: a quote is not closed"),
    ("b.arff", swap(",0\n", ""), FormatError, "line 10: 2 values, expected 3 as declared"),
    ("b.arff", swap("b,", "a,"), ShuffledBagError, "line 10: bag 'a'", "on line 9"),
    ("b.arff", swap("f2", "f1"), DuplicateColumnError, "line 5, column 'f1': is declared twice"),
    (
        "b.arff",
        swap("3,4", "3,x"),
        MixedTypeError,
        "line 9, instance 2, column 'f2': 'x' is not a number",
    ),
    ("b.arff", swap("3,4", "3,1_0"), MixedTypeError, "line 9, instance 2", "'1_0' is not a number"),
    ("b.arff", swap("3,4", "3"), FormatError, "line 9, instance 2: 1 values, expected 2"),
    ("b.arff", swap('",0', '",7'), LabelError, "line 10", "'7' is not among", "0, 1"),
    ("b.arff", swap('",0', '",?'), LabelError, "line 10: the label is missing"),
    ("b.arff", swap("b,", "?,"), FormatError, "line 10: the id is missing"),
    ("b.arff", swap("@end bag\n", ""), FormatError, "line 7, column 'bag'", "has no @end"),
    ("b.arff", swap("f2 numeric", "f2 date"), FormatError, "line 5", "'date' is not supported"),
    ("b.arff", swap("f2 numeric", "f2 string"), MixedTypeError, "column 'f2': has type string"),
    ("b.arff", swap("f2 numeric", "f2 {u"), FormatError, "line 5", "not closed by }"),
    ("b.arff", swap("f2 numeric", "f2"), FormatError, "line 5", "declares no name and type"),
    ("b.arff", swap("@relation", "@relations"), FormatError, "line 1", "not a declaration"),
    ("b.arff", cut(ARFF.index("@data")), TruncatedFileError, "line 7", "Expected @data"),
    ("b.arff", cut(ARFF.index('a,"')), FormatError, "holds no rows after @data"),
    ("b.arff", swap("relational", "numeric"), FormatError, "line 6: @end without an open"),
    ("b.arff", swap('"5,6"', '"{0 5,7 1}"'), FormatError, "line 10", "index '7', expected 0 to 1"),
    ("b.arff", swap('"5,6"', '"{0 5,1}"'), FormatError, "line 10", "an index has no value"),
    ("b.arff", swap('"5,6"', '""'), FormatError, "line 10: the bag has no instances"),
    ("b.data", swap("m2,2_1,7,8,0.", "m2,2_1"), TruncatedFileError, "line 3: 2 fields, expected 5"),
    ("b.data", swap("1_2,42", "1_2,42,3"), FormatError, "line 2: 6 fields, expected 5"),
    ("b.data", swap("-191", "?!"), MixedTypeError, "line 2, column 'f2': '?!' is not a number"),
    ("b.data", swap("-191,1.", "-191,0."), LabelError, "line 2", "has the label 1 and here 0"),
    ("b.data", swap("-191,1.", "-191,."), LabelError, "line 2: the label is missing"),
    ("b.data", add("m1,1_3,1,1,1.\n"), ShuffledBagError, "line 4: bag 'm1' appears again"),
    ("b.data", only("| only a comment\n"), FormatError, "is empty. Expected one line per instance"),
    ("b.svm", swap("3:4\n", "3:"), TruncatedFileError, "line 3: '3:' is not a pair index:value"),
    ("b.svm", swap("2:1", "2:x"), MixedTypeError, "line 2: '2:x' is not a pair"),
    ("b.svm", swap("2:1", "2"), MixedTypeError, "line 2: '2' is not a pair"),
    ("b.svm", swap("2:1", "0:1"), FormatError, "line 2", "at least 1. Pass zero_based=True"),
    ("b.svm", swap("2:1", "1.5:1"), FormatError, "line 2: an index is not an integer"),
    ("b.svm", swap("1 qid:1 2:1", "-1 qid:1 2:1"), LabelError, "line 2", "and here -1"),
    ("b.svm", add("1 qid:1 1:1\n"), ShuffledBagError, "line 4: bag 1 appears again"),
    ("b.svm", swap("1 qid:1 2:1", "1 2:1"), FormatError, "line 2: begins with '1 2:1'"),
    ("b.svm", swap("1 qid:1 2:1", "1 qid: 2:1"), FormatError, "line 2: the bag is missing"),
    ("b.svm", swap("1 qid:1 2:1", "4:1: 2:1"), LabelError, "line 2: the label is missing"),
    ("b.svm", only("# nothing\n"), FormatError, "holds no lines. Expected one line per instance"),
    *[
        (name, edit, error, words)
        for name in ("b.parquet", "nested.parquet", "b.arrow", "nested.arrow")
        for edit, error, words in (
            (cut(-20), TruncatedFileError, "ends too early"),
            (only(b"not what the name says"), CorruptFileError, "of another format"),
        )
    ],
    ("b.parquet", columns(bag=[*"aab"], label=[1, 0, 0], f=F), LabelError, "row 2: bag 'a' has"),
    ("b.parquet", columns(bag=[*"aab"], label=[1, None, 0], f=F), LabelError, "row 2: the label"),
    ("b.parquet", columns(bag=[*"aba"], label=[1, 0, 1], f=F), ShuffledBagError, "row 3: bag 'a'"),
    ("b.parquet", columns(bag=[*"aab"], f=[*"xyz"]), MixedTypeError, "column 'f': holds string"),
    ("b.parquet", columns(bag=[], f=[]), MixedTypeError, "column 'f': holds null"),
    ("b.parquet", columns(bag=np.array([], str), f=np.empty(0)), FormatError, "holds no rows"),
    ("b.parquet", columns(slide=[*"aab"], f=F), FormatError, "name yours with bag=..., one of"),
    ("nested.parquet", columns(bag=[*"ab"], x=[[[1.0, 2]], [[1.0]]]), FormatError, "row 2: an"),
    ("nested.parquet", columns(bag=[*"ab"], x=[[], [[1.0]]]), FormatError, "row 1: the bag has no"),
    ("nested.parquet", columns(bag=[*"ab"], x=[None, [[1.0]]]), FormatError, "is missing (null)"),
    ("nested.parquet", columns(bag=[*"aa"], x=[[[2.0]], [[1.0]]]), ShuffledBagError, "two rows"),
    ("nested.parquet", columns(label=[1, None], x=[[[2.0]], [[1.0]]]), LabelError, "row 2: the"),
    ("nested.parquet", columns(u=[[[2.0]]], v=[[[1.0]]]), FormatError, "name one with instances="),
    (
        "nested.parquet",
        columns(bag=[*"ab"], instance=[[1], [2, 3]], x=[[[2.0]], [[1.0]]]),
        FormatError,
        "row 2, column 'instance_ids': 2 instance_ids for 1 instances",
    ),
    ("b.xlsx", cells(bag=[*"ab"], f=[1, "x"]), MixedTypeError, "line 3, column 'f': 'x' is not a"),
    ("b.xlsx", cells(bag=["a", None], f=[1, 2]), FormatError, "line 3: the bag is missing"),
    ("b.xlsx", cells(bag=[], f=[]), FormatError, "holds no rows"),
    ("b.xlsx", cells(bag=[*"aba"], f=F), ShuffledBagError, "line 4: bag 'a' appears again"),
    ("b.xlsx", only("bag,f\n"), CorruptFileError, "not an Excel workbook"),
    ("b.mat", cut(0.5), CorruptFileError, "is truncated or not a MATLAB file"),
    ("b.mat", only(MAT_7_3), CorruptFileError, "not a MATLAB 7.3 file"),
    ("b.mat", variables(X=EYE, bag=[1, 1, 2], y=[0, 1, 0]), LabelError, "row 2: bag 1 has the"),
    ("b.mat", variables(X=EYE, bag=[1, 1, 2], y=[0] * 4), LabelError, "4 labels for 2 bags with 3"),
    ("b.mat", variables(X=EYE, bag=[1, 2, 1]), ShuffledBagError, "row 3: bag 1 appears again"),
    ("b.mat", variables(X=EYE, bag=[1, 2]), FormatError, "2 bag ids for 3 instances"),
    ("b.mat", variables(X=["a", "b"], bag=[1, 2]), FormatError, "column 'X': holds <U1"),
    ("b.mat", variables(Z=EYE, bag=[1]), FormatError, "no variable any of X, features, data", "Z"),
    ("b.bags", cut(-8, "X.npy"), TruncatedFileError, "X.npy: has", "bags.json says"),
    (
        "b.bags",
        only(b"y" * 208, "X.npy"),
        CorruptFileError,
        "X.npy: is truncated or not a .npy array",
    ),
    ("b.bags", remove("X.npy"), FormatError, "X.npy is missing"),
    ("b.bags", swap('"version": 2', '"version": 9', "bags.json"), FormatError, "has version 9"),
    (
        "b.bags",
        swap('"n_features": 2', '"n_features": 3', "bags.json"),
        CorruptFileError,
        "changed",
    ),
    ("b.bags", swap('"version": 2', '"version": 1', "bags.json"), FormatError, "with bagwise 0.2"),
    ("b.bags", swap('"version": 2', '"verzion": 2', "bags.json"), CorruptFileError, "changed"),
    ("b.bags", flip("y.npy"), CorruptFileError, "y.npy: was changed", "block 0"),
    ("b.bags", flip("offsets.npy"), CorruptFileError, "offsets.npy: was changed"),
    ("b.bags", only("{", "bags.json"), CorruptFileError, "bags.json: is not JSON"),
    ("b.bags", only("[]", "bags.json"), CorruptFileError, "'format' is not 'bagwise'"),
    ("b.bags", remove("bags.json"), FormatError, "holds no bags.json"),
    *[
        (f"of_{name}", edit, error, *words)
        for name in ("npy", "npz", "h5")
        for edit, error, *words in (
            (swap("000001", "000007", "bags.csv"), FormatError, "line 3: there is no file"),
            (swap("label", "path", "bags.csv"), DuplicateColumnError, "column 'path'"),
            (swap(",b,", ",a,", "bags.csv"), ShuffledBagError, "'a' is on line 2 already"),
            (swap(",b,0", ",b,", "bags.csv"), LabelError, "line 3: the label is missing"),
            (swap(",b,0", ",b", "bags.csv"), TruncatedFileError, "line 3: 2 fields, expected 3"),
            (swap("path", "place", "bags.csv"), FormatError, "name it with file=..., one of place"),
            (only("path,label\n", "bags.csv"), FormatError, "lists no bags"),
            (cut(90, f"000001.{name}"), CorruptFileError, f"000001.{name}", "is truncated or not"),
        )
    ],
    ("of_npy", bag(np.ones((2, 4))), FormatError, "000001.npy: has 4 features, 000000.npy has 2"),
    ("of_npy", bag(np.ones(3)), FormatError, "has shape (3,), expected (instances, features)"),
    ("of_npy", bag(np.ones((0, 2))), FormatError, "has shape (0, 2)"),
    ("of_npy", bag(np.array([["x", "y"]])), MixedTypeError, "holds <U1, expected numbers"),
    ("of_npy", remove("bags.csv"), FormatError, "expected one CSV file", "found none"),
    ("b.svm", swap("2:1", f"{10**30}:1"), FormatError, "line 2: an index is not below 2^53"),
    ("b.svm", swap("2:1", "9007199254740993:1"), FormatError, "line 2: an index is not below 2^53"),
]


def _noise(file: Path) -> None:
    file.write_bytes(b"\x00\xff" * (file.stat().st_size // 2 + 1))


# What is done to every form.
EVERY: dict[str, Edit] = {
    "missing": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "noise": _noise,
    "half": cut(0.5),
}
# What is still valid: a shorter table, and a slide that is left out with a warning.
_VALID = {("b.tsv", "half"), ("of_slides", "missing")}

# Options of the reader of a good CSV that it refuses, and words of the message.
OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"bag": "slide"}, "'slide'|bag, label, f1, f2"),
    ({"bag": "label", "label": "label"}, "bag|label"),
    ({"bag": -1}, "-1"),
    ({"features": ["f9"]}, "'f9'"),
    ({"features": ["f1", "f1"]}, "'f1'"),
]


def _refuse(name: str, edit: Edit, inside: str, folder: Path, **options: Any) -> Any:
    path = make_form(name, folder)
    edit(path / inside)
    return _read(path, **options)


def rows() -> Iterator[tuple[Any, ...]]:
    """Yield name, words of the message, what to run in an empty folder, and the error."""
    for name, (_, inside) in FORMS.items():
        for what, edit in EVERY.items():
            error = (ValueError, FileNotFoundError) if what == "missing" else ValueError
            if (name, what) not in _VALID:
                yield f"{name}, {what}", name, partial(_refuse, name, edit, inside), error
    for name, edit, error, *words in CASES:
        yield (
            f"{name}: {words[0]}",
            "|".join([name, *words]),
            partial(_refuse, name, edit, ""),
            error,
        )
    for options, words in OPTIONS:
        run = partial(_refuse, "b.csv", lambda path: None, "", **options)
        yield f"b.csv: {words}", f"b.csv|{words}", run
    yield "b.xyz", "b.xyz|'.xyz'|format=", lambda folder: io.write(folder / "b.xyz", BAGS, [1, 0])
    yield "format cvs", "'cvs'|known names|csv", lambda folder: io.read(folder, format="cvs")
