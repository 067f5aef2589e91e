"""`read`, `write` and `open`: the format follows from the suffix, else from the first bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from bagwise.bags import Bags
from bagwise.bags.forms import join, join_values
from bagwise.errors import Argument, Message, list_names, suggestion
from bagwise.io._columns import LabeledBags, reads, writes
from bagwise.io._files import open_source, refuse_stream
from bagwise.io.arff import read_arff, write_arff
from bagwise.io.bagfiles import PATH_COLUMNS, read_folder, write_folder
from bagwise.io.c45 import read_c45, write_c45
from bagwise.io.columnar import read_arrow, read_parquet, write_arrow, write_parquet
from bagwise.io.errors import FormatError
from bagwise.io.excel import read_excel, write_excel
from bagwise.io.h5ad import read_h5ad, write_h5ad
from bagwise.io.matlab import read_mat, write_mat
from bagwise.io.molecules import read_molecules
from bagwise.io.slides import SLIDE_SUFFIXES, is_slide_folder, read_slides, write_slides
from bagwise.io.store import MANIFEST, read_bags, write_bags
from bagwise.io.svmlight import read_svmlight, write_svmlight
from bagwise.io.tables import read_csv, sniff, write_csv
from bagwise.rowstores.files import FileRows

# Reader, writer and suffixes of every format.
_FORMATS: dict[str, tuple[Callable[..., LabeledBags], Callable[..., None], tuple[str, ...]]] = {
    "csv": (read_csv, write_csv, (".csv", ".tsv")),
    "excel": (read_excel, write_excel, (".xlsx",)),
    "parquet": (read_parquet, write_parquet, (".parquet", ".pq")),
    "arrow": (read_arrow, write_arrow, (".arrow", ".feather", ".ipc")),
    "arff": (read_arff, write_arff, (".arff",)),
    "c45": (read_c45, write_c45, (".data", ".names")),
    "svmlight": (read_svmlight, write_svmlight, (".svm", ".svmlight", ".libsvm")),
    "mat": (read_mat, write_mat, (".mat",)),
    "h5ad": (read_h5ad, write_h5ad, (".h5ad",)),
    "bags": (read_bags, write_bags, (".bags",)),
    "folder": (read_folder, write_folder, ()),
    "slides": (read_slides, write_slides, ()),
}
READERS = {name: reader for name, (reader, _, _) in _FORMATS.items()}
READERS["molecules"] = read_molecules  # a table that nobody writes
SUFFIXES = {suffix: name for name, (_, _, suffixes) in _FORMATS.items() for suffix in suffixes}
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"MATLAB 5.0": "mat"}
_SVMLIGHT = re.compile(r"(#.*\n)*\s*(\S+\s+qid:\S+|[^\s:,]+:[^\s:,]+:[^\s:,]+)(\s|$)")


_NONE = "the reader of the format says what None means"


@reads(
    ".tsv",
    path="The file or folder.",
    bag=("str or int", f"Column of the bag ids; {_NONE}."),
    label=("str or int", f"Column of the labels; {_NONE}."),
    format="csv, excel, parquet, arrow, arff, c45, svmlight, mat, h5ad, bags, folder or slides; "
    'None: from the suffix, else from the first bytes. A CSV with a column of paths is a "folder".',
    options='Options of the reader of the format, such as ``groups="patient"``.',
)
def read(
    path: str | Path,
    bag: Any = None,
    label: Any = None,
    *,
    format: str | None = None,
    **options: Any,
) -> LabeledBags:
    """Read bags from a file or folder of any format that bagwise knows."""
    path = Path(path)
    reader = _choose(format or recognize(path), READERS)
    named = {k: v for k, v in (("bag", bag), ("label", label)) if v is not None}
    return reader(path, **named, **options)


@writes(
    ".arff",
    path="The file or folder to write.",
    bags="The bags.",
    format="As in `read`; None: from the suffix. Without one: a folder with one file per bag.",
    options="Options of the writer of the format, such as ``nested=True``.",
)
def write(
    path: str | Path, bags: Bags, y: Any = None, *, format: str | None = None, **options: Any
) -> None:
    """Write bags in the format of the suffix."""
    path = Path(path)
    if format is None:
        format = "folder" if not path.suffix else SUFFIXES.get(suffix_of(path))
        if format is None:
            unknown = f"{path}: the suffix {suffix_of(path)!r} belongs to no format. Pass "
            raise ValueError(
                Message(unknown, Argument("format"), f" or use {list_names(SUFFIXES)}.")
            )
    _, writer, _ = _choose(format, _FORMATS)
    writer(path, bags, y, **options)


def _choose(format: str, known: dict[str, Any]) -> Any:
    if format not in known:
        raise ValueError(f"There is no format {format!r}. {suggestion(format, known)}")
    return known[format]


def suffix_of(path: Path) -> str:
    """Return the suffix of the format, without that of compression."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def recognize(path: Path) -> str:
    """Return the name of a file's format."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    refuse_stream(path)
    if path.is_dir():
        if (path / MANIFEST).is_file() or path.suffix == ".bags":
            return "bags"
        lists_paths = any({*PATH_COLUMNS} & {*sniff(file).names} for file in path.glob("*.csv"))
        return "slides" if is_slide_folder(path) and not lists_paths else "folder"
    if path.suffix.lower() in SLIDE_SUFFIXES:
        return "slides"
    format = SUFFIXES.get(suffix_of(path)) or _by_content(path)
    names = sniff(path).names if format == "csv" else []
    is_listing = "bag" not in names[1:] and any(name in PATH_COLUMNS for name in names)
    return "folder" if is_listing else format


def _by_content(path: Path) -> str:
    with open_source(path) as file:
        start = bytes(file.buffer.read(io.DEFAULT_BUFFER_SIZE))
    for magic, format in _MAGIC.items():
        if start.startswith(magic):
            return format
    if b"\0" in start:
        problem = "is a binary file of no known format. Pass "
        raise FormatError(path, Message(problem, Argument("format"), " to name it."))
    text = start.decode("utf-8", errors="replace")
    if re.search(r"^\s*@relation", text, re.IGNORECASE | re.MULTILINE):
        return "arff"
    return "svmlight" if _SVMLIGHT.match(text) else "csv"


# Several stores as one ---------------------------------------------------------------------------


@reads(
    path="A ``.bags`` folder, a list of them, or a folder that contains some (in the order of "
    "their names). They must have the same features. All else goes to `read`, which also leaves "
    "features of slides in their files where they lie there in one piece."
)
def open(path: str | Path | Sequence[str | Path]) -> LabeledBags:
    """Open stores of bags, several of them as one; instances are read when a fit passes over them.

    Examples
    --------
    >>> from bagwise import Bags, io
    >>> folder = getfixture("tmp_path")
    >>> io.write_bags(folder / "a.bags", Bags.from_list([[[0.1], [0.2]], [[0.3]]]), [1, 0])
    >>> io.write_bags(folder / "b.bags", Bags.from_list([[[0.4]]]), [1])
    >>> io.open(folder)
    (Bags(3 bags, 4 instances, 1 features, 1-2 instances per bag, float64), array([1, 0, 1]))
    """
    if isinstance(path, str | Path):
        path = Path(path)
        stores = sorted(path.glob("*.bags")) if path.is_dir() else []
        if not stores or (path / MANIFEST).is_file():
            return read(path)
    else:
        stores = [Path(each) for each in path]
        if not stores:
            raise ValueError("There are no stores: the list of paths is empty.")
    return _join(stores, [read_bags(store) for store in stores])


def _join(stores: list[Path], opened: list[LabeledBags]) -> LabeledBags:
    parts = [bags for bags, _ in opened]
    for store, bags in zip(stores, parts, strict=True):
        if sp.issparse(bags.X):
            raise FormatError(store, "holds sparse instances, which several stores cannot share.")
        if bags.dtype != parts[0].dtype:
            problem = f"holds {bags.dtype}, {stores[0]} holds {parts[0].dtype}."
            raise FormatError(store, f"{problem} Write all stores alike.")
    names = [str(store) for store in stores]
    joined = join(parts, names, stack=FileRows)
    return Bags(**joined), join_values([y for _, y in opened], "labels", names)
