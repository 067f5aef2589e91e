"""bagwise's own format: a folder ``NAME.bags`` of .npy arrays and a file ``bags.json``.

The instances are memory-mapped: opening reads none of them, and several processes share one copy.
They are dense (float16, float32, float64) or CSR. Data types, ids and all attributes are kept. It
is a folder rather than a single .npz file because NumPy ignores ``mmap_mode`` for .npz.

``bags.json`` has a checksum of itself and of every block of every array. Opening compares the
headers of the arrays with it, and verifies all but the values of the instances, of which a block is
verified when it is first read through `Bags`.
"""

from __future__ import annotations

import json
import warnings
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._removed import MEMBERS
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.arrays import NAMES, PER_BAG, PER_INSTANCE, canonical_csr, verify_bags
from bagwise.bags.frames import check_labels
from bagwise.bags.stored import checksums, guard, verify
from bagwise.errors import Argument, Message
from bagwise.io._columns import LabeledBags, reads, writes
from bagwise.io._files import map_npy, replacing, rows_per_block
from bagwise.io._flatten import names_as_rows, rows_as_names
from bagwise.io.errors import CorruptFileError, FormatError, TruncatedFileError
from bagwise.rowstores import RowStore

MANIFEST = "bags.json"
_VERSION = 2  # of the format; version 1, of bagwise 0.1, had no checksums
_INSTANCES = {"dense": ("X",), "csr": ("X_data", "X_indices", "X_indptr")}


@reads(".bags", path="The folder.")
def read_bags(path: str | Path) -> LabeledBags:
    """Open a ``.bags`` folder; the bags are exactly as they were written."""
    path = Path(path)
    before = _identify(path)
    try:
        opened = _open_all(path)
    except FormatError:
        if _identify(path) == before:
            raise
    else:
        if _identify(path) == before:
            return opened
    return _open_all(path)  # it was replaced meanwhile: what was opened may be of both


def _identify(path: Path) -> tuple[int, int]:
    """Return what differs between a folder and the one that replaces it."""
    if not path.exists():
        raise FileNotFoundError(f"There is no folder {path}.")
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def _open_all(path: Path) -> LabeledBags:
    manifest = _manifest(path)
    try:
        return _open(path, manifest)
    except FormatError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise CorruptFileError(path, f"contradicts itself: {error!r}") from error


def _open(path: Path, manifest: dict[str, Any]) -> LabeledBags:
    parts = [_load(path, manifest, name) for name in _INSTANCES[manifest["layout"]]]
    shape = (manifest["n_instances"], manifest["n_features"])
    X = parts[0] if len(parts) == 1 else _sparse(path, parts, shape)
    known = {*manifest["arrays"], *manifest["lists"]}
    names = [name for name in ("offsets", *PER_BAG, *PER_INSTANCE, "y") if name in known]
    others = {name: _load(path, manifest, name) for name in names}
    if "parents" in known:
        warnings.warn(MEMBERS["parents"], stacklevel=4)
    y = np.array(others.pop("y")) if "y" in others else None
    bags = Bags(X, feature_names=manifest["feature_names"], **others)
    found = (X.shape, (len(bags),), (len(bags),) if y is None else y.shape)
    n_bags = (manifest["n_bags"],)
    for name, size, said in zip(("X", "offsets", "y"), found, (shape, n_bags, n_bags), strict=True):
        if size != said:
            raise CorruptFileError(path, f"{name} is of size {size}, {MANIFEST} says {said}.")
    return bags, y


def verify_store(path: str | Path) -> None:
    """Verify a whole ``.bags`` folder: every checksum, every index, every count.

    Parameters
    ----------
    path : str or Path
        The folder. An error names the file that is damaged.

    Examples
    --------
    >>> from bagwise import Bags, io
    >>> path = getfixture("tmp_path") / "slides.bags"
    >>> io.write_bags(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]]))
    >>> io.verify_store(path)
    """
    verify_bags(read_bags(path)[0])


def _sparse(path: Path, parts: list[Any], shape: tuple[int, int]) -> Any:
    """Return sparse rows, whose indices are checked: compiled loops follow them without looking."""
    if any(part.ndim != 1 for part in parts) or len(parts[2]) != shape[0] + 1:
        problem = f"X_indptr has shape {parts[2].shape}, {MANIFEST} says {shape[0]} instances."
        raise CorruptFileError(path, problem)
    rows = sp.csr_array(shape, dtype=parts[0].dtype)
    rows.data, rows.indices, rows.indptr = parts
    try:
        return canonical_csr(rows)
    except ValueError as error:
        raise CorruptFileError(path, f"X_indices or X_indptr: {error}") from error


def _manifest(path: Path) -> dict[str, Any]:
    file = path / MANIFEST
    if not file.is_file():
        raise FormatError(path, f"holds no {MANIFEST}. Expected a folder written by write_bags.")
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(file, f"is not JSON ({error}).") from error
    if not isinstance(manifest, dict) or manifest.get("format") != "bagwise":
        raise CorruptFileError(file, "does not describe bags: 'format' is not 'bagwise'.")
    version = manifest.get("version")
    if version == 1:
        raise FormatError(file, f"has version 1. {MEMBERS['.bags of version 1']}")
    if isinstance(version, int) and version > _VERSION:
        problem = f"has version {version}, this bagwise reads version {_VERSION}."
        raise FormatError(file, f"{problem} Install a newer bagwise.")
    if manifest.pop("checksum", None) != _checksum(manifest):
        problem = "was changed after it was written: its checksum is wrong."
        raise CorruptFileError(file, f"{problem} Restore it, or write the folder again.")
    return manifest


def _checksum(manifest: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(manifest, sort_keys=True).encode())


def _load(path: Path, manifest: dict[str, Any], name: str) -> Any:
    if name in manifest["lists"]:
        values = np.empty(len(manifest["lists"][name]), dtype=object)
        values[:] = manifest["lists"][name]
        return values
    file = path / f"{name}.npy"
    if name not in manifest["arrays"] or not file.is_file():
        raise FormatError(path, f"{file.name} is missing.")
    expected, actual = manifest["arrays"][name], file.stat().st_size
    if actual != expected["bytes"]:
        kind = TruncatedFileError if actual < expected["bytes"] else CorruptFileError
        raise kind(file, f"has {actual} bytes, {MANIFEST} says {expected['bytes']}.")
    values = map_npy(file)
    for what, found in _header(values).items():
        if expected.get(what, found) != found:
            problem = f"its {what} is {found}, {MANIFEST} says {expected[what]}."
            raise CorruptFileError(file, problem)
    guard(values, expected["checksums"], partial(CorruptFileError, file))
    if name not in ("X", "X_data"):  # whose blocks are verified when they are read
        verify(values)
    return rows_as_names(values) if name in NAMES else values


def _header(values: Array) -> dict[str, Any]:
    by_columns = values.flags.f_contiguous and not values.flags.c_contiguous
    return {"dtype": values.dtype.str, "shape": list(values.shape), "by_columns": by_columns}


@writes(
    ".bags",
    path="The folder to write.",
    bags="The bags.",
    overwrite="Whether to replace an existing ``.bags`` folder.",
)
def write_bags(path: str | Path, bags: Bags, y: Any = None, *, overwrite: bool = False) -> None:
    """Write a ``.bags`` folder, block by block: memory-mapped bags may be larger than memory."""
    path = Path(path)
    if path.exists() and not (overwrite and (path / MANIFEST).is_file()):
        remedy = (Argument("overwrite", "True"), " to replace a .bags folder.")
        raise FileExistsError(Message(f"{path} exists. Pass ", *remedy))
    y = check_labels(bags, y, times=True)
    with replacing(path) as partial:
        partial.mkdir(parents=True)
        _write_into(partial, bags, y)


def _write_into(folder: Path, bags: Bags, y: Any) -> None:
    is_sparse = sp.issparse(bags.X)
    layout = "csr" if is_sparse else "dense"
    parts = (bags.X.data, bags.X.indices, bags.X.indptr) if is_sparse else (bags.X,)
    arrays = dict(zip(_INSTANCES[layout], parts, strict=True)) | {"offsets": bags.offsets}
    known = {n: v for n in (*PER_BAG, *PER_INSTANCE) if (v := getattr(bags, n)) is not None}
    arrays |= {n: names_as_rows(v) if n in NAMES else v for n, v in known.items()}
    if not bags.has_ids:
        del arrays["ids"]
    if y is not None:
        arrays["y"] = y
    lists = {n: _as_list(folder, n, v) for n, v in arrays.items() if v.dtype.kind == "O"}
    saved = {n: _save(folder / f"{n}.npy", v) for n, v in arrays.items() if n not in lists}
    names = bags.feature_names
    manifest = {
        "format": "bagwise",
        "version": _VERSION,
        "layout": layout,
        "n_bags": len(bags),
        "n_instances": bags.n_instances,
        "n_features": bags.n_features,
        "feature_names": None if names is None else [str(name) for name in names],
        "arrays": saved,
        "lists": lists,
    }
    manifest["checksum"] = _checksum(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _as_list(folder: Path, name: str, values: Array) -> list[Any]:
    for i, value in enumerate(values):
        if not isinstance(value, str | int | float | bool):
            problem = f"{name}[{i}] is a {type(value).__name__}, expected a text or a number."
            raise FormatError(folder, f"{problem} Convert it.")
    return values.tolist()


def _save(file: Path, values: Array) -> dict[str, Any]:
    """Write an array block by block; return its size, type and checksums."""
    plain = np.asarray(values[:1]) if isinstance(values, RowStore) else values
    header = np.lib.format.header_data_from_array_1_0(plain) | {"shape": values.shape}
    rows = values.T if header["fortran_order"] else values  # as they lie in the file
    step = rows_per_block(np.asarray(rows[:1]).size)
    # Not into a memory map: on a full disk that ends the process without a word.
    with file.open("wb") as target:
        np.lib.format.write_array_header_1_0(target, header)
        for start in range(0, len(rows), step):
            target.write(np.asarray(rows[start : start + step]).tobytes())
    about = _header(plain) | {"shape": list(values.shape)}
    return {"bytes": file.stat().st_size, **about, "checksums": checksums(file)}
