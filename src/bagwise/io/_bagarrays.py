"""One bag in one file: .npy, .npz, .h5, .csv or .pt."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bagwise.io._assemble import Layout
from bagwise.io._flatten import rows_as_names
from bagwise.io._source import open_source, require
from bagwise.io._tabletext import parse_numbers, sniff
from bagwise.io.errors import CorruptFileError, FormatError, MixedTypeError

Array = NDArray[Any]

_FEATURES = ("features", "feats", "X", "x", "data")
_STORED = {"instance_label": "instance_labels", "instance": "instance_ids"}


def load_bag(file: Path, key: str | None, ids_key: str | None) -> tuple[Array, dict[str, Array]]:
    """Return the instances of a bag and what is known of them."""
    arrays = _reader(file)(file)
    name = _choose(file, arrays, key)
    values = np.asarray(arrays[name])
    if values.ndim != 2 or not len(values):
        raise FormatError(
            file, f"holds an array of shape {values.shape}, expected (instances, features)."
        )
    if values.dtype.kind not in "fiub":
        raise MixedTypeError(file, f"holds {values.dtype}, expected numbers.")
    extra = {role: np.asarray(arrays[n]) for n, role in _STORED.items() if n in arrays}
    if ids_key is not None:
        if ids_key not in arrays:
            raise FormatError(file, f"has no array {ids_key!r}; it has {list(arrays)}.")
        extra["instance_ids"] = rows_as_names(np.asarray(arrays[ids_key]))
    for role, column in extra.items():
        if len(column) != len(values):
            raise FormatError(file, f"{len(column)} {role} for {len(values)} instances.")
    return values, extra


def _choose(file: Path, arrays: dict[str, Any], key: str | None) -> str:
    there = list(arrays)
    if key is not None:
        if len(arrays) == 1 and there == [""]:
            return ""
        if key not in arrays:
            raise FormatError(file, f"has no array {key!r}; it has {there}.")
        return key
    if len(there) == 1:
        return there[0]
    for name in _FEATURES:
        if name in arrays:
            return name
    raise FormatError(file, f"holds the arrays {there}: name one with key=...")


def _reader(file: Path) -> Callable[[Path], dict[str, Any]]:
    if file.suffix not in _READERS:
        raise FormatError(file, f"suffix {file.suffix!r}, expected one of {list(_READERS)}.")
    return _READERS[file.suffix]


def _read_npy(file: Path) -> dict[str, Any]:
    try:
        return {"": np.load(file, allow_pickle=False)}
    except (ValueError, EOFError) as error:
        raise CorruptFileError(file, f"is cut short or no .npy array ({error}).") from error


def _read_npz(file: Path) -> dict[str, Any]:
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise CorruptFileError(file, f"is cut short or no .npz archive ({error}).") from error


def _read_h5(file: Path) -> dict[str, Any]:
    require("h5py", "io")
    import h5py

    try:
        with h5py.File(file, "r") as archive:
            sets = {n: d for n, d in archive.items() if isinstance(d, h5py.Dataset)}
            return {n: d.asstr()[()] if d.dtype.kind == "O" else d[()] for n, d in sets.items()}
    except OSError as error:
        raise CorruptFileError(file, f"is cut short or no HDF5 file ({error}).") from error


def _read_pt(file: Path) -> dict[str, Any]:
    require("torch", "torch")
    import torch

    try:
        loaded = torch.load(file, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise CorruptFileError(file, f"holds no tensors ({error}).") from error
    tensors = loaded if isinstance(loaded, dict) else {"": loaded}
    return {str(n): t.numpy() for n, t in tensors.items() if isinstance(t, torch.Tensor)}


def _read_csv(file: Path) -> dict[str, Any]:
    import csv

    text = sniff(file, None, None)
    layout = Layout({}, list(range(len(text.names))), None, [], text.names)
    with open_source(file) as source:
        reader = csv.reader(source.text(), delimiter=text.delimiter, strict=True)
        rows = [(reader.line_num, row) for row in text.fields(file, reader) if row]
    rows = rows[text.header_rows :]
    for line, row in rows:
        if len(row) != len(text.names):
            raise FormatError(file, f"{len(row)} fields, expected {len(text.names)}.", line)
    return {"": parse_numbers(file, [row for _, row in rows], [line for line, _ in rows], layout)}


_READERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".h5": _read_h5,
    ".hdf5": _read_h5,
    ".csv": _read_csv,
    ".pt": _read_pt,
    ".pth": _read_pt,
}


def save_bag(file: Path, rows: Any, extra: dict[str, Array]) -> None:
    """Write the instances of a bag, and what is known of them where the format can hold it."""
    values = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
    if file.suffix == ".npy":
        np.save(file, values)
    elif file.suffix == ".npz":
        arrays: dict[str, Any] = {"features": values, **extra}
        np.savez_compressed(file, **arrays)
    elif file.suffix == ".h5":
        _save_h5(file, {"features": values, **extra})
    elif file.suffix == ".csv":
        lines = (",".join(map(repr, row)) + "\n" for row in values.tolist())
        file.write_text("".join(lines), encoding="utf-8")
    elif file.suffix == ".pt":
        require("torch", "torch")
        import torch

        torch.save(torch.from_numpy(values.copy()), file)
    else:
        raise ValueError(f"suffix {file.suffix!r}, expected .npy, .npz, .h5, .csv or .pt.")


def _save_h5(file: Path, arrays: dict[str, Array]) -> None:
    require("h5py", "io")
    import h5py

    with h5py.File(file, "w") as archive:
        for name, values in arrays.items():
            is_text = values.dtype.kind == "U"
            kind = h5py.string_dtype() if is_text else values.dtype
            archive.create_dataset(
                name, data=values.astype(object) if is_text else values, dtype=kind
            )
