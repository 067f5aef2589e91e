"""A file with one bag: .npy, .npz, .h5, .csv or .pt."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.arrays import NUMERIC_KINDS
from bagwise.errors import Argument, Message, suggestion
from bagwise.io import _limits as limits
from bagwise.io._assemble import ROLES, Layout, ignore_parents
from bagwise.io._flatten import rows_as_names
from bagwise.io._source import open_source, require
from bagwise.io.errors import FormatError, MixedTypeError
from bagwise.io.tables import parse_numbers, sniff

_FEATURES = ("features", "feats", "X", "x", "data")
_STORED = {ROLES[role]: role for role in ("instance_labels", "instance_ids", "parents")}


def load_bag(
    file: Path, key: str | None, ids_key: str | None, mapped: bool = False
) -> tuple[Array, dict[str, Array]]:
    """Return the instances of a bag and their attributes; ``mapped`` reads what cannot be mapped.

    Mapped instances are a `numpy.memmap`.
    """
    if file.suffix not in _READERS:
        raise FormatError(file, f"suffix {file.suffix!r}, expected one of {', '.join(_READERS)}.")
    arrays = (_MAPPERS if mapped else {}).get(file.suffix, _READERS[file.suffix])(file)
    values = _unwrap(arrays[_choose(file, arrays, key)])
    if values.ndim != 2 or not len(values):
        raise FormatError(file, f"has shape {values.shape}, expected (instances, features).")
    if values.dtype.kind not in NUMERIC_KINDS:
        raise MixedTypeError(file, f"holds {values.dtype}, expected numbers.")
    extra = {role: np.asarray(arrays[n]) for n, role in _STORED.items() if n in arrays}
    ignore_parents(extra)
    coords = _unwrap(arrays.get("coords", 0))
    if coords.ndim == 2 and coords.shape[1] == 2:  # other programs also store extents there
        extra["coords"] = coords
    if ids_key is not None:
        stored = arrays[_require_array(file, arrays, ids_key)]
        extra["instance_ids"] = rows_as_names(np.asarray(stored))
    for role, column in extra.items():
        if len(column) != len(values):
            raise FormatError(file, f"{len(column)} {role} for {len(values)} instances.")
    return values, extra


def _unwrap(array: Any) -> Array:
    """Return an array without the batch of one that encoders leave around it."""
    array = np.asanyarray(array)
    return array[0] if array.ndim == 3 and len(array) == 1 else array


def read_patch_size(file: Path) -> float | None:
    """Return the side of a patch at full resolution, as pipelines store it beside coordinates."""
    if file.suffix not in (".h5", ".hdf5"):
        return None
    with open_h5(file) as archive:
        attributes = dict(archive["coords"].attrs) if "coords" in archive else {}
        if "patch_size_level0" in attributes:
            return float(attributes["patch_size_level0"])
        if "patch_size" not in attributes:
            return None
        downsample = np.max(attributes.get("downsample", 1.0))  # of the level patches are cut from
        return float(attributes["patch_size"] * downsample)


def _require_array(file: Path, arrays: dict[str, Any], key: str) -> str:
    if key not in arrays:
        raise FormatError(file, f"has no array {key!r}. {suggestion(key, arrays)}")
    return key


def _choose(file: Path, arrays: dict[str, Any], key: str | None) -> str:
    if "" in arrays:  # a format without names
        return ""
    if key is not None:
        return _require_array(file, arrays, key)
    usual = [*arrays] if len(arrays) == 1 else [name for name in _FEATURES if name in arrays]
    if not usual:
        start = f"holds the arrays {[*arrays]}: name one with "
        raise FormatError(file, Message(start, Argument("key")))
    return usual[0]


def _read_npy(file: Path) -> dict[str, Any]:
    return {"": np.array(limits.map_npy(file))}


def _read_npz(file: Path) -> dict[str, Any]:
    with limits.open_zip(file, "a .npz archive") as archive:
        members = limits.unzip(file, archive)
    return {n.removesuffix(".npy"): limits.read_npy(file, n, c) for n, c in members.items()}


@contextmanager
def open_h5(file: Path, expected: str = "an HDF5 file") -> Iterator[Any]:
    """Open an HDF5 file; what h5py raises for damage becomes an error that names the file."""
    require("h5py", "io")
    import h5py

    errors = (OSError, RuntimeError, *limits.NPY_ERRORS)
    with limits.name_damage(file, expected, errors), h5py.File(file, "r") as archive:
        yield archive


def is_dataset(file: Path, name: str, item: Any) -> bool:
    """Return whether a member of an HDF5 file is an array, whose size must be possible."""
    from h5py import Dataset

    if isinstance(item, Dataset):
        limits.refuse_claim(file, name, limits.size_of(item.shape, item.dtype.itemsize))
    return isinstance(item, Dataset)


def _read_h5(file: Path, take: Callable[[Any], Any] = lambda values: values[()]) -> dict[str, Any]:
    with open_h5(file) as archive:
        sets = {n: d for n, d in archive.items() if is_dataset(file, n, d)}
        return {n: d.asstr()[()] if d.dtype.kind == "O" else take(d) for n, d in sets.items()}


def _map_h5(file: Path) -> dict[str, Any]:
    """Map the matrices that lie in one piece; chunks and what is compressed are read."""

    def take(values: Any) -> Any:
        start = values.id.get_offset()
        if start is None or values.ndim < 2 or values.dtype.kind not in NUMERIC_KINDS:
            return values[()]
        return np.memmap(file, values.dtype, "r", start, values.shape)

    return _read_h5(file, take)


def _read_pt(file: Path) -> dict[str, Any]:
    require("torch", "torch")
    import torch

    with limits.name_damage(
        file, "a file of tensors", (RuntimeError, EOFError, pickle.UnpicklingError)
    ):
        loaded = torch.load(file, map_location="cpu", weights_only=True)
    tensors = loaded if isinstance(loaded, dict) else {"": loaded}
    known = {str(n): t for n, t in tensors.items() if isinstance(t, torch.Tensor)}
    # NumPy has no bfloat16; float32 holds its values exactly.
    return {n: (t.float() if t.dtype == torch.bfloat16 else t).numpy() for n, t in known.items()}


def _read_csv(file: Path) -> dict[str, Any]:
    text = sniff(file)
    layout = Layout({}, list(range(len(text.names))), text.names)
    with open_source(file) as opened:
        return {"": parse_numbers(file, list(text.rows(file, opened)), layout)}


_READERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".h5": _read_h5,
    ".hdf5": _read_h5,
    ".csv": _read_csv,
    ".pt": _read_pt,
    ".pth": _read_pt,
}
_MAPPERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    ".npy": lambda file: {"": limits.map_npy(file)},
    ".h5": _map_h5,
    ".hdf5": _map_h5,
}


def save_bag(
    file: Path, rows: Any, extra: dict[str, Array], patch_size: float | None = None
) -> None:
    """Write the instances of a bag, and their attributes if the format can store them."""
    values = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
    arrays: dict[str, Any] = {"features": values, **extra}
    content = io.BytesIO()  # libraries that write files themselves do not say why they fail
    if file.suffix == ".npy":
        np.save(content, values)
    elif file.suffix == ".npz":
        np.savez_compressed(content, **arrays)
    elif file.suffix == ".h5":
        _save_h5(content, arrays, patch_size)
    elif file.suffix == ".csv":
        content.writelines((",".join(map(repr, row)) + "\n").encode() for row in values.tolist())
    elif file.suffix == ".pt":
        require("torch", "torch")
        import torch

        torch.save(torch.from_numpy(values.copy()), content)
    else:
        raise ValueError(f"suffix {file.suffix!r}, expected .npy, .npz, .h5, .csv or .pt.")
    file.write_bytes(content.getvalue())


def _save_h5(file: IO[bytes], arrays: dict[str, Array], patch_size: float | None) -> None:
    require("h5py", "io")
    import h5py

    with h5py.File(file, "w") as archive:
        for name, values in arrays.items():
            is_text = values.dtype.kind == "U"
            archive[name] = values.astype(h5py.string_dtype()) if is_text else values
        if "coords" in archive and patch_size is not None:
            archive["coords"].attrs["patch_size_level0"] = patch_size
