"""A file with one bag: .npy, .npz, .h5, .csv or .pt."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.arrays import NUMERIC_KINDS
from bagwise.errors import Argument, Message, suggestion
from bagwise.io import _files
from bagwise.io._assemble import OF_INSTANCES, ROLES, Layout, ignore_parents
from bagwise.io._files import open_source, refuse_stream, require
from bagwise.io._flatten import rows_as_names
from bagwise.io.errors import FormatError, MixedTypeError
from bagwise.io.tables import parse_numbers, sniff

_FEATURES = ("features", "feats", "X", "x", "data")
_STORED = {ROLES[role]: role for role in (*OF_INSTANCES, "parents")}


def load_bag(
    file: Path, key: str | None, ids_key: str | None, mapped: bool = False
) -> tuple[Array, dict[str, Array]]:
    """Return the instances of a bag and their attributes; ``mapped`` reads what cannot be mapped.

    Mapped instances are a `numpy.memmap`.
    """
    refuse_stream(file)
    suffix = file.suffix.lower()
    if suffix not in _READERS:
        raise FormatError(file, f"suffix {suffix!r}, expected one of {', '.join(_READERS)}.")

    def choose(names: list[str]) -> list[str]:
        beside = [name for name in (*_STORED, "coords") if name in names]
        return [_choose(file, names, key), *beside, *([] if ids_key not in names else [ids_key])]

    arrays = (_MAPPERS if mapped else {}).get(suffix, _READERS[suffix])(file, choose)
    values = _unwrap(arrays[_choose(file, [*arrays], key)])
    if values.ndim != 2 or not len(values):
        raise FormatError(file, f"has shape {values.shape}, expected (instances, features).")
    if values.dtype.kind not in NUMERIC_KINDS or values.dtype.itemsize > 8:
        raise MixedTypeError(file, f"holds {values.dtype}, expected numbers.")
    extra = {role: np.asarray(arrays[n]) for n, role in _STORED.items() if n in arrays}
    ignore_parents(extra)
    coords = _unwrap(arrays.get("coords", 0))
    if coords.ndim == 2 and coords.shape[1] == 2:  # other programs also store extents there
        extra["coords"] = coords
    if ids_key is not None:
        stored = arrays[_require_array(file, [*arrays], ids_key)]
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
    if file.suffix.lower() not in (".h5", ".hdf5"):
        return None
    with open_h5(file) as archive:
        attributes = dict(archive["coords"].attrs) if "coords" in archive else {}
        if "patch_size_level0" in attributes:
            return float(attributes["patch_size_level0"])
        if "patch_size" not in attributes:
            return None
        downsample = np.max(attributes.get("downsample", 1.0))  # of the level patches are cut from
        return float(attributes["patch_size"] * downsample)


def _require_array(file: Path, names: list[str], key: str) -> str:
    if key not in names:
        raise FormatError(file, f"has no array {key!r}. {suggestion(key, names)}")
    return key


def _choose(file: Path, names: list[str], key: str | None) -> str:
    if "" in names:  # a format without names
        return ""
    if key is not None:
        return _require_array(file, names, key)
    usual = names if len(names) == 1 else [name for name in _FEATURES if name in names]
    if not usual:
        start = f"holds the arrays {names}: name one with "
        raise FormatError(file, Message(start, Argument("key")))
    return usual[0]


# Readers return the arrays of which they are told the names, or the only one as "".
_Choice = Callable[[list[str]], list[str]]


def _read_npz(file: Path, choose: _Choice) -> dict[str, Any]:
    with _files.open_zip(file, "a .npz archive") as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        wanted = [members[name] for name in choose([*members])]
        content = _files.unzip(file, archive, wanted)
    return {n.removesuffix(".npy"): _files.read_npy(file, n, c) for n, c in content.items()}


@contextmanager
def open_h5(file: Path, expected: str = "an HDF5 file") -> Iterator[Any]:
    """Open an HDF5 file that reads no other file; damage is an error that names the file."""
    require("h5py", "io")
    import h5py

    with _files.name_damage(file, expected), h5py.File(file, "r") as archive:
        _refuse_outside(file, archive)
        yield archive


def _refuse_outside(file: Path, archive: Any) -> None:
    """Refuse links to other files, and arrays whose values lie in some."""
    from h5py import Dataset, h5l

    kinds: dict[bytes, int] = {}
    archive.id.links.visit(lambda name, link: kinds.update({name: link.type}), info=True)
    for name, kind in kinds.items():
        outside = kind not in (h5l.TYPE_HARD, h5l.TYPE_SOFT)
        item: Any = archive[name] if kind == h5l.TYPE_HARD else None
        if isinstance(item, Dataset):
            outside = item.is_virtual or item.external is not None
        if outside:
            problem = "lies in another file, which is not read. Copy it into this one."
            raise FormatError(file, problem, column=name.decode(errors="replace"))


def check_sizes(file: Path, items: dict[str, Any]) -> None:
    """Refuse arrays that their bytes in the file cannot hold, or the memory not all of them."""
    from h5py import Dataset

    sets = {n: d for n, d in items.items() if isinstance(d, Dataset) and d.shape is not None}
    sizes = {n: _files.size_of(d.shape, d.dtype.itemsize) for n, d in sets.items()}
    for name, each in sets.items():
        _files.refuse_claim(file, name, sizes[name], each.id.get_storage_size())
    _files.refuse_claim(file, "the sum of its arrays", sum(sizes.values()))


def _read_h5(
    file: Path, choose: _Choice, take: Callable[[Any], Any] = lambda values: values[()]
) -> dict[str, Any]:
    from h5py import Dataset

    with open_h5(file) as archive:
        there = {n: d for n, d in archive.items() if isinstance(d, Dataset) and d.shape is not None}
        sets = {name: there[name] for name in choose([*there])}
        check_sizes(file, sets)
        return {n: d.asstr()[()] if d.dtype.kind == "O" else take(d) for n, d in sets.items()}


def _map_h5(file: Path, choose: _Choice) -> dict[str, Any]:
    """Map the matrices that lie in one piece and as NumPy has them; all others are read."""

    def take(values: Any) -> Any:
        start = values.id.get_offset()
        if start is None or values.ndim < 2 or not _is_plain(values):
            return values[()]
        return np.memmap(file, values.dtype, "r", start, values.shape)

    return _read_h5(file, choose, take)


def _is_plain(values: Any) -> bool:
    """Return whether an array is stored as its data type says; h5py converts bfloat16 and more."""
    from h5py import h5t

    stored = h5t.py_create(values.dtype, logical=True).equal(values.id.get_type())
    size = _files.size_of(values.shape, values.dtype.itemsize)
    is_number = values.dtype.kind in NUMERIC_KINDS
    return is_number and stored and values.id.get_storage_size() == size


def _read_pt(file: Path, choose: _Choice) -> dict[str, Any]:
    require("torch", "torch")
    import torch

    with _files.name_damage(file, "a file of tensors"):
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                _files.check_members(file, archive)
        loaded = torch.load(file, map_location="cpu", weights_only=True)
        tensors = loaded if isinstance(loaded, dict) else {"": loaded}
        known = {str(n): t for n, t in tensors.items() if isinstance(t, torch.Tensor)}
        return {name: _as_array(file, name, known[name]) for name in choose([*known])}


def _as_array(file: Path, name: str, tensor: Any) -> Array:
    """Return a tensor as an array; those that NumPy does not have become float32."""
    import torch

    if tensor.layout != torch.strided or tensor.is_quantized:
        raise FormatError(file, "holds a sparse or quantized tensor. Save it as a dense one.")
    stored = tensor.untyped_storage().nbytes()
    if tensor.nbytes > stored:
        what = f"{name or 'the tensor'} has {tensor.nbytes} bytes of which {stored} are stored."
        raise FormatError(file, f"{what} Save tensor.clone().")
    exact = (torch.float16, torch.float32, torch.float64)
    if tensor.is_floating_point() and tensor.dtype not in exact:  # float32 holds their values
        tensor = tensor.float()
    return tensor.detach().numpy()


def _read_csv(file: Path, choose: _Choice) -> dict[str, Any]:
    text = sniff(file)
    layout = Layout({}, list(range(len(text.names))), text.names)
    with open_source(file) as opened:
        return {"": parse_numbers(file, list(text.rows(file, opened)), layout)}


_READERS: dict[str, Callable[[Path, _Choice], dict[str, Any]]] = {
    ".npy": lambda file, _: {"": np.array(_files.map_npy(file))},
    ".npz": _read_npz,
    ".h5": _read_h5,
    ".hdf5": _read_h5,
    ".csv": _read_csv,
    ".pt": _read_pt,
    ".pth": _read_pt,
}
_MAPPERS: dict[str, Callable[[Path, _Choice], dict[str, Any]]] = {
    ".npy": lambda file, _: {"": _files.map_npy(file)},
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
