"""bagwise's own format: a folder ``NAME.bags`` of .npy arrays and a file ``bags.json``.

The instances are memory-mapped: opening reads none of them, and several processes share one copy.
They are dense (float16, float32, float64) or CSR. Data types, ids and all attributes are kept. It
is a folder rather than a single .npz file because NumPy ignores ``mmap_mode`` for .npz.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.forms import PER_BAG, PER_INSTANCE
from bagwise.errors import Argument, Message
from bagwise.io._assemble import LabeledBags, returns_bags
from bagwise.io._flatten import checked_labels, names_as_rows, rows_as_names
from bagwise.io._source import replacing
from bagwise.io.errors import CorruptFileError, FormatError, TruncatedFileError

MANIFEST = "bags.json"
_VERSION = 1  # of the format; goes up when older versions of bagwise cannot read it
_BLOCK_BYTES = 1 << 24  # 16 MiB are copied at a time
_NAMES = ("ids", "instance_ids", "groups")
_INSTANCES = {"dense": ("X",), "csr": ("X_data", "X_indices", "X_indptr")}


@returns_bags
def read_bags(path: str | Path, *, mmap: bool = True) -> LabeledBags:
    """Open a ``.bags`` folder; the bags are exactly as they were written.

    Parameters
    ----------
    path : str or Path
        The folder.
    mmap : bool, default=True
        Whether to map the instances into memory, which reads them only when they are used.

    Examples
    --------
    >>> from bagwise import Bags, io
    >>> path = getfixture("tmp_path") / "slides.bags"
    >>> io.write_bags(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]], ids=["a", "b"]), [1, 0])
    >>> bags, y = io.read_bags(path)
    >>> type(bags.X).__name__, y
    ('memmap', array([1, 0]))
    """
    path = Path(path)
    manifest = _manifest(path)
    mode = "r" if mmap else None
    parts = [_load(path, manifest, name, mode) for name in _INSTANCES[manifest["layout"]]]
    shape = (manifest["n_instances"], manifest["n_features"])
    X = parts[0] if len(parts) == 1 else sp.csr_array(tuple(parts), shape=shape, copy=False)
    if X.shape != shape:
        raise CorruptFileError(path / "X.npy", f"has shape {X.shape}, {MANIFEST} says {shape}.")
    others = {
        name: _load(path, manifest, name, mode if name in PER_INSTANCE else None)
        for name in ("offsets", *PER_BAG, *PER_INSTANCE, "y")
        if name in manifest["arrays"] or name in manifest["lists"]
    }
    y = others.pop("y", None)
    return Bags(X, feature_names=manifest["feature_names"], **others), y


def _manifest(path: Path) -> dict[str, Any]:
    file = path / MANIFEST
    if not path.exists():
        raise FileNotFoundError(f"There is no folder {path}.")
    if not file.is_file():
        raise FormatError(path, f"holds no {MANIFEST}. Expected a folder written by write_bags.")
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CorruptFileError(file, f"is not JSON ({error}).") from error
    if not isinstance(manifest, dict) or manifest.get("format") != "bagwise":
        raise CorruptFileError(file, "does not describe bags: 'format' is not 'bagwise'.")
    if manifest["version"] > _VERSION:
        problem = f"has version {manifest['version']}, this bagwise reads up to {_VERSION}."
        raise FormatError(file, f"{problem} Install a newer bagwise.")
    return manifest


def _load(path: Path, manifest: dict[str, Any], name: str, mode: Any) -> Any:
    if name in manifest["lists"]:
        values = np.empty(len(manifest["lists"][name]), dtype=object)
        values[:] = manifest["lists"][name]
        return values
    file = path / f"{name}.npy"
    if name not in manifest["arrays"] or not file.is_file():
        raise FormatError(path, f"{file.name} is missing.")
    actual, expected = file.stat().st_size, manifest["arrays"][name]
    if actual != expected:
        kind = TruncatedFileError if actual < expected else CorruptFileError
        raise kind(file, f"has {actual} bytes, {MANIFEST} says {expected}.")
    try:
        values = np.load(file, mmap_mode=mode, allow_pickle=False)
        return rows_as_names(values) if name in _NAMES else values
    except (ValueError, EOFError) as error:
        raise CorruptFileError(file, f"is not a .npy array ({error}).") from error


def write_bags(path: str | Path, bags: Bags, y: Any = None, *, overwrite: bool = False) -> None:
    """Write a ``.bags`` folder, block by block: memory-mapped bags may be larger than memory.

    Parameters
    ----------
    path : str or Path
        The folder to write.
    bags : Bags
        The bags.
    y : array-like of shape (n_bags,), default=None
        Their labels.
    overwrite : bool, default=False
        Whether to replace an existing ``.bags`` folder.

    Examples
    --------
    >>> from bagwise import Bags, io
    >>> path = getfixture("tmp_path") / "slides.bags"
    >>> io.write_bags(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]]))
    >>> sorted(file.name for file in path.iterdir())
    ['X.npy', 'bags.json', 'instance_ids.npy', 'offsets.npy']
    """
    path = Path(path)
    if path.exists() and not (overwrite and (path / MANIFEST).is_file()):
        remedy = (Argument("overwrite", "True"), " to replace a .bags folder.")
        raise FileExistsError(Message(f"{path} exists. Pass ", *remedy))
    y = checked_labels(bags, y)
    with replacing(path) as partial:
        partial.mkdir(parents=True)
        _write_into(partial, bags, y)


def _write_into(folder: Path, bags: Bags, y: Any) -> None:
    is_sparse = sp.issparse(bags.X)
    layout = "csr" if is_sparse else "dense"
    parts = (bags.X.data, bags.X.indices, bags.X.indptr) if is_sparse else (bags.X,)
    arrays = dict(zip(_INSTANCES[layout], parts, strict=True)) | {"offsets": bags.offsets}
    known = {n: v for n in (*PER_BAG, *PER_INSTANCE) if (v := getattr(bags, n)) is not None}
    arrays |= {n: names_as_rows(v) if n in _NAMES else v for n, v in known.items()}
    if not bags.has_ids:
        del arrays["ids"]
    if y is not None:
        arrays["y"] = y
    lists = {n: _as_list(folder, n, v) for n, v in arrays.items() if v.dtype.kind == "O"}
    sizes = {n: _save(folder / f"{n}.npy", v) for n, v in arrays.items() if n not in lists}
    names = bags.feature_names
    manifest = {
        "format": "bagwise",
        "version": _VERSION,
        "layout": layout,
        "n_bags": len(bags),
        "n_instances": bags.n_instances,
        "n_features": bags.n_features,
        "feature_names": None if names is None else [str(name) for name in names],
        "arrays": sizes,
        "lists": lists,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _as_list(folder: Path, name: str, values: Array) -> list[Any]:
    for i, value in enumerate(values):
        if not isinstance(value, str | int | float | bool):
            problem = f"{name}[{i}] is a {type(value).__name__}, expected a text or a number."
            raise FormatError(folder, f"{problem} Convert it.")
    return values.tolist()


def _save(file: Path, values: Array) -> int:
    """Write an array block by block; return the size of the file."""
    order = values.flags.f_contiguous and not values.flags.c_contiguous
    target = np.lib.format.open_memmap(
        file, mode="w+", dtype=values.dtype, shape=values.shape, fortran_order=order
    )
    step = max(1, _BLOCK_BYTES // max(1, values[:1].nbytes))
    for start in range(0, len(values), step):
        target[start : start + step] = values[start : start + step]
    target.flush()
    return file.stat().st_size
