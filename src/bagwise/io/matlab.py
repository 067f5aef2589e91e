"""MATLAB .mat files: instances, the bag of every instance, labels.

By default the reader takes the instances from the first of ``X``, ``features`` and ``data`` that
exists, the bags from ``bag``, ``bag_ids``, ``bag_id`` or ``bags``, and the labels, one per bag or
one per instance, from ``y``, ``labels`` or ``label``. This covers the files of Andrews,
Tsochantaridis & Hofmann (2002). The instances are dense or sparse.

The elements of version 5 are checked before SciPy reads them: it takes types as indices of C
arrays, so that a wrong one ends the process. An element is a tag (type and number of bytes) and its
data. A matrix is made of elements: flags, dimensions, name, contents (MathWorks, MAT-File Format).
"""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.arrays import NAMES, NUMERIC_KINDS, PER_BAG, PER_INSTANCE, in_range
from bagwise.bags.forms import WIDE
from bagwise.bags.frames import check_labels
from bagwise.bags.ids import factorize
from bagwise.bags.segments import bag_index
from bagwise.errors import Argument, Message, list_names
from bagwise.io._assemble import Coded, assemble
from bagwise.io._bagarrays import check_sizes, open_h5
from bagwise.io._columns import LabeledBags, reads, writes
from bagwise.io._files import name_damage, refuse_claim, size_of, writing
from bagwise.io.errors import CorruptFileError, FormatError, LabelError
from bagwise.tolerances import LARGEST_EXACT

_USUAL = {
    "X": ("X", "features", "data"),
    "bag": ("bag", "bag_ids", "bag_id", "bags"),
    "label": ("y", "labels", "label"),
}
_ATTRIBUTES = (*PER_BAG, *PER_INSTANCE, "feature_names")
_NONE = "None: that with the usual name"
_HEADER = struct.calcsize("<124s2H")  # bytes: text, version and byte order
# Types of elements and classes of matrices in the order of their numbers, which begin at 1.
_NUMBERS = ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "", "f8", "", "", "i8", "u8")
_TYPES = dict(enumerate((*_NUMBERS, "matrix", "compressed", "utf8", "utf16", "utf32"), 1))
_CLASSES = ("cell", "struct", "object", "char", "sparse", *["number"] * 10, "function", "opaque")
_NAMES, _INTEGERS = ("i1", "utf8"), ("i4", "u4")
_COMPLEX = 0x800  # in the flags


@reads(
    ".mat",
    bag=f"Variable with the bag of every instance; {_NONE}.",
    label=f"Variable with the labels, one per bag or per instance; {_NONE}.",
    X=f"Variable with the instances; {_NONE}.",
)
def read_mat(
    path: str | Path,
    bag: str | None = None,
    label: str | None = None,
    *,
    X: str | None = None,
    regroup: bool = False,
) -> LabeledBags:
    """Read bags from a MATLAB file of any version (version 7.3 needs h5py, and numeric labels)."""
    path = Path(path)
    if bag is not None and bag == label:
        problem = Message("is used as bag and as label; name another with ", Argument("label"))
        raise FormatError(path, problem, column=bag)
    named = {"bag": bag, "label": label, "X": X}
    with name_damage(path, "a MATLAB file"):
        return _make(path, _load(path, named), named, regroup)


def _make(
    path: Path, stored: dict[str, Any], named: dict[str, str | None], regroup: bool
) -> LabeledBags:
    variables = {n: in_range(value) if sp.issparse(value) else value for n, value in stored.items()}
    X, column = _find(path, variables, "X", named["X"]), named["X"] or "X"
    if not sp.issparse(X) and X.dtype.kind not in NUMERIC_KINDS:
        raise FormatError(path, f"holds {X.dtype}, expected numbers.", column=column)
    if X.ndim != 2 or 0 in X.shape:
        problem = f"has shape {X.shape}, expected (instances, features)."
        raise FormatError(path, problem, column=column)
    X = sp.csr_array(X) if sp.issparse(X) else np.ascontiguousarray(X)
    bag = _names(path, "bag", _find(path, variables, "bag", named["bag"]))
    if len(bag) != X.shape[0]:
        raise FormatError(path, f"{len(bag)} bag ids for {X.shape[0]} instances (rows).")
    labels = _find(path, variables, "label", named["label"], required=named["label"] is not None)
    y = None if labels is None else _names(path, "label", labels)
    columns: dict[str, Any] = {"bag": Coded(*factorize(bag))}
    if y is not None and len(y) == len(bag):
        columns["label"] = Coded(*factorize(y))
    bags, of_rows = assemble(path, X, columns, None, regroup=regroup)
    y = y if of_rows is None else of_rows
    if y is not None and len(y) != len(bags):
        problem = f"{len(y)} labels for {len(bags)} bags with {len(bag)} instances."
        raise LabelError(path, f"{problem} Expected one per bag or one per instance.")
    known = {n: v for n in _ATTRIBUTES if (v := variables.get(n)) is not None}
    return bags.replace(**{n: _attribute(path, v, n) for n, v in known.items()}), y


def _load(path: Path, named: dict[str, str | None]) -> dict[str, Any]:
    from scipy.io import loadmat, whosmat

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # duplicate names: the last one counts
            # SciPy 1.18 announces that sparse matrices become sparse arrays; both are read.
            warnings.simplefilter("ignore", DeprecationWarning)
            source, unread = _check_mat(path)
            for name, shape, kind in whosmat(source):
                if kind != "sparse":
                    refuse_claim(path, name, size_of(shape, 1))  # a byte per entry at least
            return loadmat(source) | dict.fromkeys(unread)
    except NotImplementedError:  # version 7.3 is HDF5
        return _load_hdf5(path, {*named.values(), *chain(*_USUAL.values()), *_ATTRIBUTES})


def _load_hdf5(path: Path, wanted: set[str | None]) -> dict[str, Any]:
    """Return the numeric variables of a version 7.3 file, where matrices are transposed."""
    with open_h5(path, "a MATLAB 7.3 file") as file:
        items = {name: item for name, item in file.items() if name in wanted}
        groups = {name: item for name, item in items.items() if hasattr(item, "items")}
        parts = {f"{name}/{p}": part for name, of in groups.items() for p, part in of.items()}
        check_sizes(path, items | parts)
        return dict.fromkeys(file) | {n: _hdf5_variable(path, n, d) for n, d in items.items()}


def _hdf5_variable(path: Path, name: str, item: Any) -> Any:
    from h5py import Dataset, Group

    if item is None:
        raise CorruptFileError(path, "cannot be opened.", column=name)
    sparse = isinstance(item, Group) and "MATLAB_sparse" in item.attrs
    for each in item.values() if sparse else (item,):
        if isinstance(each, Dataset) and each.dtype.kind == "f" and each.dtype.itemsize > 8:
            problem = f"holds {each.dtype}, which MATLAB does not have."
            raise CorruptFileError(path, problem, column=name)
    if sparse:
        parts = [item[part][()] if part in item else [] for part in ("data", "ir", "jc")]
        shape = (int(item.attrs["MATLAB_sparse"]), len(parts[2]) - 1)
        return sp.csc_array(tuple(parts), shape=shape)
    is_numeric = isinstance(item, Dataset) and item.dtype.kind in "fiu"
    return item[()].T if is_numeric and item.dtype != "uint16" else None  # uint16 is text


def _find(
    path: Path, variables: dict[str, Any], role: str, named: str | None, required: bool = True
) -> Any:
    for name in _USUAL[role] if named is None else (named,):
        if name in variables and variables[name] is None:
            problem = "is not a matrix that can be read: write numbers, or texts in version 7."
            raise FormatError(path, problem, column=name)
        if name in variables:
            return variables[name]
    if not required:
        return None
    there = list_names([name for name in variables if not name.startswith("__")])
    wanted = named or f"any of {', '.join(_USUAL[role])}"
    problem = f"has no variable {wanted}; it has {there}. Name yours with "
    raise FormatError(path, Message(problem, Argument(role)))


def _names(path: Path, role: str, values: Any) -> Array:
    """Return ids or labels; numbers that may stand for several ones are refused."""
    if sp.issparse(values):
        refuse_claim(path, role, size_of(values.shape, 8))
        values = values.toarray()
    flat = np.asarray(values).ravel()
    wrong = ~(np.abs(flat) <= LARGEST_EXACT) if flat.dtype.kind == "f" else np.zeros(1, dtype=bool)
    if wrong.any():
        i = int(np.argmax(wrong))
        problem = f"entry {i + 1} of the {role} is {flat[i]}, expected finite numbers up to 2^53."
        raise FormatError(path, f"{problem} Larger numbers are rounded: write texts or int64.")
    return _vector(flat)


def _vector(values: Any) -> Array:
    flat = np.asarray(values).ravel()
    if flat.dtype.kind == "U":  # MATLAB pads the rows of a char matrix
        return np.char.rstrip(flat)
    if flat.dtype.kind == "O":  # a cell array; an empty text is an empty matrix
        return np.array([str(cell[0]) if np.size(cell) else "" for cell in flat])
    whole = flat.dtype.kind == "f" and np.all(flat == np.floor(flat))
    return flat.astype(np.int64) if whole else flat


def _attribute(path: Path, values: Any, name: str) -> Array:
    if name in NAMES:
        return _names(path, name, values)
    values = values.toarray() if sp.issparse(values) else values
    if name in WIDE:
        wide = _vector(values).reshape(values.shape)
        return wide if wide.dtype.kind == "U" else wide.astype(np.float64)
    return np.asarray(values).ravel() if name in ("priors", "patch_size") else _vector(values)


@writes(".mat", bags="The bags, dense or sparse, but not float16, which MATLAB does not have.")
def write_mat(path: str | Path, bags: Bags, y: Any = None) -> None:
    """Write a MATLAB 5 file with X, bag (1, 2, ... per instance), ids and y (one per bag)."""
    from scipy.io import savemat

    path = Path(path)
    if bags.dtype == np.float16:
        raise FormatError(path, "MATLAB has no float16: convert X with .astype('float32') first.")
    y = check_labels(bags, y)
    variables = {
        "X": sp.csc_array(bags.X) if sp.issparse(bags.X) else np.asarray(bags.X),
        "bag": (bag_index(bags.offsets) + 1)[:, None],
    }
    if y is not None:
        variables["y"] = _column(y)
    for name in _ATTRIBUTES:
        values = getattr(bags, name)
        if values is not None:
            shape = values.shape if name in WIDE else (-1, 1)
            variables[name] = _column(np.asarray(values)).reshape(shape)
    with writing(path) as file:
        savemat(file, variables, do_compression=True)


def _column(values: Array) -> Array:
    """Return a column vector; texts become a cell array, which keeps their length."""
    return (values.astype(object) if values.dtype.kind in "UO" else values).reshape(-1, 1)


# Elements of version 5 ---------------------------------------------------------------------------


class _Element(NamedTuple):
    type: str
    data: memoryview
    whole: memoryview  # the data and what is before them


def _check_mat(path: Path) -> tuple[Any, list[str]]:
    """Return a version 5 file, inflated and checked, and names of variables that are left out.

    These are neither numbers, texts nor cells of them. Other versions are returned as they are.
    What is wrong is a ValueError, struct.error or zlib.error.
    """
    content = memoryview(path.read_bytes())
    order = {b"IM": "<", b"MI": ">"}.get(bytes(content[126:_HEADER]))
    if order is None or 0 in content[:4] or content[125 if order == "<" else 124] != 1:
        return path, []
    checked, left_out = io.BytesIO(), []
    checked.write(content[:_HEADER])
    for element in _elements(content[_HEADER:], order, padded=False):
        if element.type == "compressed":
            (element,) = _elements(_inflate(path, element.data, order), order, padded=False)
        name = _check_matrix(element, order)
        if name is None:
            checked.write(element.whole)
        else:
            left_out.append(name)
    checked.seek(0)
    return checked, left_out


def _elements(data: memoryview, order: str, padded: bool = True) -> Iterator[_Element]:
    while len(data):
        kind, size = struct.unpack_from(f"{order}II", data)
        start = 8
        if padded and kind >> 16:  # a small element: size and type in 4 bytes, 4 bytes of data
            kind, size, start = kind & 0xFFFF, kind >> 16, 4
        end = start + size
        if end > (8 if start == 4 else len(data)):
            raise ValueError(f"an element claims {size} bytes")
        yield _Element(_TYPES.get(kind) or str(kind), data[start:end], data[:end])
        data = data[end + (-end % 8 if padded else 0) :]


def _inflate(path: Path, data: memoryview, order: str) -> memoryview:
    stream = zlib.decompressobj()
    tag = stream.decompress(data, 8)
    size = struct.unpack(f"{order}II", tag)[1]
    refuse_claim(path, "a compressed variable", size, len(data))
    found = stream.decompress(stream.unconsumed_tail, size + 1)
    if len(found) != size or not stream.eof:
        raise ValueError(f"a compressed variable of {size} bytes is damaged")
    return memoryview(tag + found)


def _check_matrix(element: _Element, order: str, in_cell: bool = False) -> str | None:
    """Check a matrix of numbers, texts or cells of them; return the name of any other one."""
    if element.type != "matrix":
        raise ValueError(f"an element of type {element.type}, expected a matrix")
    if in_cell and not len(element.data):
        return None
    flags, *parts = _elements(element.data, order)
    if flags.type != "u4" or len(flags.data) != 8:  # two of them
        raise ValueError("a matrix without flags")
    word = struct.unpack_from(f"{order}I", flags.data)[0]
    if not 0 < word & 0xFF <= len(_CLASSES):
        raise ValueError(f"a matrix of class {word & 0xFF}")
    kind = _CLASSES[(word & 0xFF) - 1]
    heads = [_NAMES] if kind == "opaque" else [_INTEGERS, _NAMES]  # dimensions and name
    _expect(parts[: len(heads)], heads)
    name, contents = bytes(parts[len(heads) - 1].data).decode("latin-1"), parts[len(heads) :]
    shape = [] if kind == "opaque" else np.frombuffer(parts[0].data, f"{order}i4").tolist()
    if min(shape, default=0) < 0:
        raise ValueError(f"a matrix of shape {shape}")
    if len(shape) != 2 or kind in ("struct", "object", "function") or (in_cell and kind == "cell"):
        return name
    if kind == "cell":
        if len(contents) != prod(shape):
            raise ValueError(f"{len(contents)} cells, expected {prod(shape)}")
        others = [_check_matrix(part, order, in_cell=True) for part in contents]
        return None if {*others} <= {None} else name
    if kind == "char":
        _expect(contents, [tuple(_TYPES.values())])
    else:
        _check_numbers(contents, shape, kind == "sparse", bool(word & _COMPLEX))
    return None


def _expect(parts: list[_Element], types: Sequence[tuple[str, ...]]) -> None:
    if len(parts) != len(types) or any(p.type not in t for p, t in zip(parts, types, strict=True)):
        raise ValueError(
            f"elements of types {[part.type for part in parts][:10]}"
        )  # a line of them


def _check_numbers(parts: list[_Element], shape: list[int], sparse: bool, twice: bool) -> None:
    _expect(parts, [*[_INTEGERS] * (2 * sparse), *[_NUMBERS] * (1 + twice)])
    counts = [len(part.data) / np.dtype(part.type).itemsize for part in parts]
    if counts[1] != shape[1] + 1 if sparse else set(counts) != {prod(shape)}:
        raise ValueError(f"{counts} numbers for a matrix of shape {shape}")
