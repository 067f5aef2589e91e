"""Mutate valid files of every format, and model files, and read them.

``python tests/fuzz/fuzz_files.py --count 1000000`` is the long run (docs/results/robustness.md has
its counts); ``--case N`` runs one case again in this process, keeps its files in a temporary folder
``bagwise_fuzz_case`` and prints what happened.

Every case takes a small valid file (or folder), damages one of its files by one to four of: flip
bits, overwrite bytes, truncate, splice another file, duplicate a range, insert bytes, zero a range,
put an interesting number, delete. Then it reads it and touches everything it contains.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # for the harness, also where pytest imports this

import h5py
import harness
import numpy as np
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet  # noqa: F401
import scipy.io
import scipy.sparse as sp
from harness import NAMED, OK, SILENT, UNCLEAR, Result
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

try:
    import torch
except ImportError:  # it is optional
    torch = None

import bagwise
from bagwise import Bags, io, persistence
from bagwise.bags import check_bags
from bagwise.bags.arrays import PER_BAG, PER_INSTANCE
from bagwise.preprocessing import PerInstance

_SPECIAL = [b"\xff" * 8, b"\x00" * 8, b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\x01", b"\x7f"]
_TEXTS = [b"1e999", b"nan", b"-1", b"99999999999999999999", b'"', b",", b"\n", b"{", b":", b"\xc3"]
_MUTATIONS = 4  # at most, per case: more only hide each other


# The valid files ---------------------------------------------------------------------------------


def _data(sparse: bool = False, attributes: bool = True) -> tuple[Bags, Any]:
    rng = np.random.default_rng(0)
    sizes = [3, 1, 2, 4, 2]
    X = rng.normal(size=(sum(sizes), 3)) * (rng.random((sum(sizes), 3)) < 0.6)
    ids = [f"s{i}" for i in range(len(sizes))]
    extra: dict[str, Any] = {"feature_names": ["red", "green", "blue"]}
    if attributes:
        extra |= {"groups": ["p", "p", "q", "q", "r"], "instance_ids": np.arange(sum(sizes))}
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Bags(sp.csr_array(X) if sparse else X, offsets, ids=ids, **extra), [1, 0, 1, 0, 1]


def _mat(path: Path, bags: Bags, y: Any, *, kind: str) -> None:
    """Write what write_mat does not: sparse without compression, and MATLAB 7.3."""
    rows = np.repeat(np.arange(len(bags)), bags.sizes) + 1.0
    if kind == "5":
        scipy.io.savemat(path, {"X": sp.csc_array(bags.X), "bag": rows[:, None], "y": y})
        return
    with h5py.File(path, "w", userblock_size=512) as file:
        X = sp.csc_array(bags.X)
        if kind == "7.3 sparse":
            group = file.create_group("X")
            group.attrs["MATLAB_sparse"] = np.uint64(X.shape[0])
            group["data"], group["ir"], group["jc"] = X.data, X.indices.astype("u8"), X.indptr
        else:
            file["X"] = X.toarray().T
        file["bag"], file["y"] = rows[None, :], np.asarray(y, float)[None, :]
    with open(path, "r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, fuzz".ljust(124) + b"\x00\x02IM")


def _model(path: Path, bags: Bags, y: Any, *, model: Any) -> None:
    bagwise.save(model.fit(bags.replace(feature_names=None), y), path)


def _by(name: str, kind: str = "", /, **options: Any) -> Callable[..., None]:
    return lambda path, sparse=False: _write(path / name, kind, sparse, options)


def _write(path: Path, kind: str, sparse: bool, options: dict[str, Any]) -> None:
    bags, y = _data(sparse, kind not in ("plain", "slides"))
    if kind == "slides":
        squares = 8.0 * np.arange(2 * bags.n_instances).reshape(-1, 2)
        bags = bags.replace(coords=squares, patch_size=[8.0] * len(bags))
    writer = {"mat": _mat, "model": _model}.get(kind, io.write)
    writer(path, bags, y, **options)


def _models() -> dict[str, Any]:
    return {
        "witness": bagwise.WitnessSVC(),
        "linear": make_pipeline(PerInstance(StandardScaler()), bagwise.WitnessSVC(kernel="linear")),
        "trees": bagwise.MILBoost(n_estimators=2),
        "bag kernel": bagwise.BagKernelSVC(),
        "citation": bagwise.CitationKNN(),
        "density": bagwise.DiverseDensity(n_init=1),
        "markov": bagwise.MarkovNetworkClassifier(),
    }


# Kind of file: its name in the counts, the format that is read, how it is written, sparse or not.
FORMS: list[tuple[str, str, Callable[..., None], bool]] = [
    ("csv", "b.csv", _by("b.csv"), False),
    ("csv", "b.tsv", _by("b.tsv"), False),
    ("csv", "b.csv.gz", _by("b.csv.gz"), False),
    ("parquet", "b.parquet", _by("b.parquet"), False),
    ("parquet", "b.parquet", _by("b.parquet", nested=True), False),
    ("arrow", "b.arrow", _by("b.arrow"), False),
    ("arrow", "b.arrow", _by("b.arrow", nested=True), False),
    ("arff", "b.arff", _by("b.arff"), False),
    ("arff", "b.arff", _by("b.arff"), True),
    ("c45", "b.data", _by("b.data", "plain"), False),
    ("svmlight", "b.svm", _by("b.svm", "plain"), True),
    ("svmlight", "b.svm", _by("b.svm", "plain", style="triple"), False),
    ("mat 5", "b.mat", _by("b.mat"), False),
    ("mat 5", "b.mat", _by("b.mat", "mat", kind="5"), True),
    ("mat 7.3", "b.mat", _by("b.mat", "mat", kind="7.3"), False),
    ("mat 7.3", "b.mat", _by("b.mat", "mat", kind="7.3 sparse"), True),
    ("bags", "b.bags", _by("b.bags"), False),
    ("bags", "b.bags", _by("b.bags"), True),
    ("folder", "b", _by("b", suffix=".npy"), False),
    ("folder", "b", _by("b", suffix=".npz"), False),
    ("folder", "b", _by("b", suffix=".h5"), False),
    *(
        ("model", "m.bagwise", _by("m.bagwise", "model", model=m), False)
        for m in _models().values()
    ),
    ("slides", "s", _by("s", "slides", format="slides"), False),
    ("xlsx", "b.xlsx", _by("b.xlsx"), False),
    *([("pt", "b", _by("b", suffix=".pt"), False)] if torch else []),
]
EXACT = {"model", "bags", "parquet", "arrow"}  # a change that loads must change nothing


def _forget_date(file: Path) -> None:
    """Write a MATLAB header without the time, so that a case is the same at any time."""
    data = file.read_bytes()
    if data.startswith(b"MATLAB 5.0"):
        file.write_bytes(b"MATLAB 5.0 MAT-file".ljust(116) + data[116:])  # the length of the text


class Originals:
    """The valid files as bytes, and what reading them gives."""

    def __init__(self, folder: Path) -> None:
        self.files: list[dict[str, bytes]] = []
        self.contents: list[Any] = []
        for number, (kind, name, write, sparse) in enumerate(FORMS):
            place = folder / str(number)
            place.mkdir()
            write(place, sparse)
            found = sorted(file for file in place.rglob("*") if file.is_file())
            for file in found:
                _forget_date(file)
            self.files.append({str(f.relative_to(place)): f.read_bytes() for f in found})
            self.contents.append(content(kind, place / name))
        self.pool = [data for files in self.files for data in files.values()]


def content(kind: str, path: Path) -> list[Any]:
    """Read a file and return everything in it as comparable values; an invalid one is refused."""
    return _of_model(path) if kind == "model" else _of_bags(*_read(path))


def _read(path: Path) -> tuple[Bags, Any]:
    bags, y = found if isinstance(found := io.read(path), tuple) else (found, None)
    return check_bags(bags, finite=False), y  # the door of all estimators: it verifies checksums


class Invalid(AssertionError):
    """A reader returned something that is no valid table."""


def _of_bags(bags: Bags, y: Any) -> list[Any]:
    X = bags.X
    if sp.issparse(X):
        X.check_format(full_check=True)
        X = X.toarray()
    offsets = np.asarray(bags.offsets)
    lengths = {name: getattr(bags, name) for name in (*PER_BAG, *PER_INSTANCE)}
    sound = offsets[0] == 0 and offsets[-1] == len(X) and (np.diff(offsets) >= 0).all()
    sound &= y is None or len(y) == len(bags)
    sound &= all(v is None or len(v) == len(bags) for n, v in lengths.items() if n in PER_BAG)
    sound &= all(v is None or len(v) == len(X) for n, v in lengths.items() if n in PER_INSTANCE)
    if not sound:
        raise Invalid(f"{bags} is not valid")
    named = [X, offsets, y, bags.feature_names, *lengths.values()]
    return [_plain(values) for values in named]


def _of_model(path: Path) -> list[Any]:
    model = bagwise.load(path)
    bags, _ = _data()
    persistence.describe(path)
    bags = bags.replace(feature_names=None)
    scores = model.decision_function(bags)
    return [repr(model), _plain(scores), _plain(model.predict(bags))]


def _plain(values: Any) -> Any:
    if values is None:
        return None
    array = np.array(values)
    return (
        str(array.dtype),
        array.shape,
        array.tolist() if array.dtype == object else array.tobytes(),
    )


# Mutations ---------------------------------------------------------------------------------------


def mutated(data: bytes, rng: random.Random, pool: list[bytes]) -> bytes:
    """Damage bytes once."""
    n, at = len(data), rng.randrange(len(data) + 1)
    end = min(n, at + rng.choice((1, 2, 4, 8, 16, 64, 256)))
    what = rng.randrange(9)
    if what == 0 and n:
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            changed[rng.randrange(n)] ^= 1 << rng.randrange(8)
        return bytes(changed)
    if what == 1:
        return data[:at] + rng.randbytes(end - at) + data[end:]
    if what == 2:
        return data[:at]
    if what == 3:
        other = rng.choice(pool)
        begin = rng.randrange(len(other) + 1)
        return data[:at] + other[begin : begin + rng.choice((8, 64, 1024))] + data[end:]
    if what == 4:
        return data[:end] + data[at:end] * rng.choice((1, 2, 50)) + data[end:]
    if what == 5:
        return data[:at] + rng.randbytes(rng.choice((1, 4, 32))) + data[at:]
    if what == 6:
        return data[:at] + bytes(end - at) + data[end:]
    if what == 7:
        put = rng.choice(_SPECIAL)
        return data[:at] + put + data[at + len(put) :]
    put = rng.choice(_TEXTS)
    return data[:at] + put + data[at + rng.choice((0, len(put))) :]


def damaged(files: dict[str, bytes], rng: random.Random, pool: list[bytes]) -> dict[str, bytes]:
    """Damage one file of a form, or delete one of several."""
    name = rng.choice(sorted(files))
    if len(files) > 1 and rng.random() < 0.01:
        return {other: data for other, data in files.items() if other != name}
    data = files[name]
    for _ in range(rng.randint(1, _MUTATIONS) if rng.random() < 0.4 else 1):
        data = mutated(data, rng, pool)
    return files | {name: data}


# One case ----------------------------------------------------------------------------------------


def is_clear(error: BaseException, path: Path) -> bool:
    """Return whether an error is bagwise's own, about this file, and names it."""
    own = isinstance(error, ValueError | OSError) and raised_by_bagwise(error)
    return own and str(path.parent) in str(error)  # a companion file may be at fault


def raised_by_bagwise(error: BaseException) -> bool:
    """Return whether the line that raised the error is one of bagwise."""
    frames = traceback.extract_tb(error.__traceback__)
    return "/bagwise/" in frames[-1].filename


def judge(kind: str, path: Path, original: Any) -> Result:
    """Read a damaged file and say how that ended."""
    try:
        found = content(kind, path)
    except Invalid as error:
        return Result(kind, SILENT, str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever comes is judged
        clear = is_clear(error, path)
        return Result(kind, NAMED if clear else UNCLEAR, "" if clear else harness.last_place(error))
    if kind in EXACT and found != original:
        names = ["X", "offsets", "y", "feature_names", *PER_BAG, *PER_INSTANCE]
        names = ["repr", "scores", "labels"] if kind == "model" else names
        changed = [name for name, a, b in zip(names, found, original, strict=True) if a != b]
        return Result(kind, SILENT, f"{', '.join(changed)} changed")
    return Result(kind, OK)


class Case:
    """Run case ``number``: form ``number`` modulo their count, damaged by ``rng``."""

    def __init__(self, originals: Originals) -> None:
        self.originals = originals

    def kind(self, number: int) -> str:
        """Return the format."""
        return FORMS[number % len(FORMS)][0]

    def __call__(self, rng: random.Random, number: int, folder: Path) -> Result:
        """Write the damaged form, read it and judge."""
        form = number % len(FORMS)
        kind, name, _, _ = FORMS[form]
        files = damaged(self.originals.files[form], rng, self.originals.pool)
        place = folder / "case"
        shutil.rmtree(place, ignore_errors=True)
        for inner, data in files.items():
            (place / inner).parent.mkdir(parents=True, exist_ok=True)
            (place / inner).write_bytes(data)
        return judge(kind, place / name, self.originals.contents[form])


def originals() -> Originals:
    """Write the valid files."""
    with tempfile.TemporaryDirectory() as folder:
        return Originals(Path(folder))


def main() -> None:
    """Run from the command line."""
    options = harness.parser(__doc__ or "", count=20_000, batch=2_000).parse_args()
    case = Case(harness.apart(originals))
    if options.case is not None:
        print(harness.run_one(case, options, Path(tempfile.gettempdir(), "bagwise_fuzz_case")))
        return
    harness.finish(case, options)


if __name__ == "__main__":
    main()
