"""Bad files of every format: what is changed, and words of the message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bagwise import io, persistence
from bagwise.bags import Bags
from bagwise.models.witness import WitnessSVC

Edit = Callable[[Path], Any]

B = Bags.from_list([np.arange(6.0).reshape(3, 2), np.ones((2, 2))], ids=["a", "b"])
Y = [1, 0]
TABLE = "bag,label,f1,f2\na,1,0.5,1\na,1,0.7,2\nb,0,0.1,3\nc,1,0.6,2\nd,0,0.2,3\n"
SVM = "1 qid:1 1:0.5 3:2\n1 qid:1 2:1\n-1 qid:2 3:4\n"
DATA = "m1,1_1,42,-198,1.\nm1,1_2,42,-191,1.\nm2,2_1,7,8,0.\n"
ARFF = (
    "@relation r\n@attribute id {a,b}\n@attribute bag relational\n@attribute f1 numeric\n"
    '@end bag\n@attribute class {0,1}\n@data\na,"1\\n3",1\nb,"5",0\n'
)


def _save(path: Path) -> None:
    persistence.save(WitnessSVC(kernel="linear").fit(B, Y), path)


def _write(path: Path, **options: Any) -> None:
    io.write(path, B, Y, **options)


# Form, how it is written, and the file in it that is damaged.
FORMS: dict[str, tuple[Callable[..., None], str]] = {
    "b.csv": (_write, ""),
    "b.tsv": (_write, ""),
    "b.csv.gz": (_write, ""),
    "b.parquet": (_write, ""),
    "nested.parquet": (partial(_write, nested=True), ""),
    "b.arrow": (_write, ""),
    "nested.arrow": (partial(_write, nested=True), ""),
    "b.arff": (_write, ""),
    "b.data": (_write, ""),
    "b.svm": (_write, ""),
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


def _read(path: Path, **options: Any) -> Any:
    return persistence.load(path) if path.suffix == ".bagwise" else io.read(path, **options)


def _noise(file: Path) -> None:
    file.write_bytes(b"\x00\xff" * (file.stat().st_size // 2 + 1))


def _half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


# What is done to every form.
EVERY: dict[str, Edit] = {
    "missing": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "noise": _noise,
    "half": _half,
}


# What is still valid: a shorter table, and a slide that is left out with a warning.
_VALID = {("b.csv", "half"), ("b.tsv", "half"), ("of_slides", "missing")}


def _damaged(name: str, edit: Edit, folder: Path) -> Any:
    write, inside = FORMS[name]
    write(folder / name)
    edit(folder / name / inside if inside else folder / name)
    return _read(folder / name)


def _text(name: str, text: str, options: dict[str, Any], folder: Path) -> Any:
    (folder / name).write_text(text)
    return _read(folder / name, **options)


def _swap(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new, 1)


# Form, words of the message, text of the file, options of the reader.
# fmt: off
TEXTS: list[tuple[Any, ...]] = [
    ("b.csv", "line 3|3 fields|4", _swap(TABLE, "0.7,2", "0.7")),
    ("b.csv", "line 7|'a' appears again|regroup", TABLE + "a,1,4,5\n"),
    ("b.csv", "line 1|'f1'|3|4", _swap(TABLE, "f2", "f1")),
    ("b.csv", "line 3|'f1'|'high' is not a number", _swap(TABLE, "0.7", "high")),
    ("b.csv", "line 3|label 1|0", _swap(TABLE, "a,1,0.7", "a,0,0.7")),
    ("b.csv", "line 3|label is missing", _swap(TABLE, "a,1,0.7", "a,,0.7")),
    ("b.csv", "bag=", _swap(TABLE, "bag,", "slide,")),
    ("b.csv", "no rows", "bag,label,f1\n"),
    ("b.csv", "'slide'|bag, label, f1, f2", TABLE, {"bag": "slide"}),
    ("b.csv", "bag|label", TABLE, {"bag": "label", "label": "label"}),
    ("b.csv", "-1", TABLE, {"bag": -1}),
    ("b.csv", "'f9'", TABLE, {"features": ["f9"]}),
    ("b.csv", "'f1'", TABLE, {"features": ["f1", "f1"]}),
    ("b.arff", "line 9|1 values|3", _swap(ARFF, 'b,"5",0', 'b')),
    ("b.arff", "line 9|'7'|0, 1", _swap(ARFF, '"5",0', '"5",7')),
    ("b.arff", "line 8|instance 2|'x' is not a number", _swap(ARFF, "n3", "nx")),
    ("b.arff", "line 4|date", _swap(ARFF, "f1 numeric", "f1 date")),
    ("b.arff", "@data", ARFF.partition("@data")[0]),
    ("b.data", "line 2|6 fields|5", _swap(DATA, "1_2,42", "1_2,42,3")),
    ("b.data", "line 2|'f2'|'?!' is not a number", _swap(DATA, "-191", "?!")),
    ("b.data", "line 4|'m1' appears again", DATA + "m1,1_3,1,1,1.\n"),
    ("b.svm", "line 2|'2:x'", _swap(SVM, "2:1", "2:x")),
    ("b.svm", "line 2|at least 1|zero_based", _swap(SVM, "2:1", "0:1")),
    ("b.svm", "line 2", _swap(SVM, "2:1", f"{10**30}:1")),
    ("b.svm", "line 2", _swap(SVM, "2:1", "9007199254740993:1")),
    ("b.svm", "line 2|-1", _swap(SVM, "1 qid:1 2:1", "-1 qid:1 2:1")),
]
# fmt: on


def rows() -> Iterator[tuple[Any, ...]]:
    """Yield name, words of the message and what to run in an empty folder."""
    for name in FORMS:
        for what, edit in EVERY.items():
            if (name, what) in _VALID:
                continue
            error = (ValueError, FileNotFoundError) if what == "missing" else ValueError
            yield f"{name}, {what}", name, partial(_damaged, name, edit), error
    for name, words, text, *options in TEXTS:
        run = partial(_text, name, text, *(options or [{}]))
        yield f"{name}: {words}", f"{name}|{words}", run
    yield "b.xyz", "b.xyz|'.xyz'|format=", lambda folder: io.write(folder / "b.xyz", B, Y)
    yield "format cvs", "'cvs'|known names|csv", lambda folder: io.read(folder, format="cvs")
