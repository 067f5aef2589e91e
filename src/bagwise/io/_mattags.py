"""The elements of a MATLAB 5 file, checked before SciPy reads them: it trusts their tags.

An element is a tag (type and number of bytes) and its data. A matrix is an element made of
elements: flags, dimensions, name and contents ("MAT-File Format", MathWorks). SciPy takes types as
indices of C arrays, so that a wrong one ends the process.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bagwise.io._limits import refuse_claim

_HEADER = struct.calcsize("<124s2H")  # bytes: text, version and byte order
_MATRIX, _COMPRESSED = 14, 15
# Bytes of a number by type; 16 to 18 are texts in UTF-8, UTF-16 and UTF-32.
_NUMBERS = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
_NAMES, _INTEGERS, _TEXTS = (1, 16), (5, 6), (16, 17, 18)
_CELL, _STRUCT, _OBJECT, _CHAR, _SPARSE, _FUNCTION, _OPAQUE = 1, 2, 3, 4, 5, 16, 17
_NUMERIC = range(6, 16)  # classes: double to uint64
_COMPLEX = 0x800  # in the flags
_MOST_DIMENSIONS = 32  # of SciPy and NumPy 1
_DEEPEST = 100  # cells within cells: Python's own limit would end the process later


class _Element(NamedTuple):
    type: int
    data: memoryview


def check_mat(path: Path) -> io.BytesIO | None:
    """Return a version 5 file, inflated and checked; None for other versions.

    What is wrong is a ValueError, struct.error or zlib.error.
    """
    content = memoryview(path.read_bytes())
    order = {b"IM": "<", b"MI": ">"}.get(bytes(content[126:_HEADER]))
    if order is None or 0 in content[:4] or content[125 if order == "<" else 124] != 1:
        return None
    checked = io.BytesIO()
    checked.write(content[:_HEADER])
    for element in _elements(content[_HEADER:], order, padded=False):
        if element.type == _COMPRESSED:
            element = _inflate(path, element.data, order)
        _check_matrix(element, order, 0)
        checked.write(struct.pack(f"{order}II", _MATRIX, len(element.data)))
        checked.write(element.data)
    checked.seek(0)
    return checked


def _elements(data: memoryview, order: str, padded: bool = True) -> Iterator[_Element]:
    while len(data):
        kind, size = struct.unpack_from(f"{order}II", data)
        start = 8
        if padded and kind >> 16:  # a small element: size and type in 4 bytes, 4 bytes of data
            kind, size, start = kind & 0xFFFF, kind >> 16, 4
        if start + size > (8 if start == 4 else len(data)):
            raise ValueError(f"an element claims {size} bytes")
        yield _Element(kind, data[start : start + size])
        end = start + size
        data = data[end + (-end % 8 if padded else 0) :]


def _inflate(path: Path, data: memoryview, order: str) -> _Element:
    stream = zlib.decompressobj()
    kind, size = struct.unpack(f"{order}II", stream.decompress(data, 8))
    refuse_claim(path, "a compressed variable", size, len(data))
    found = stream.decompress(stream.unconsumed_tail, size + 1)
    if len(found) != size or not stream.eof:
        raise ValueError(f"a compressed variable of {size} bytes is damaged")
    return _Element(kind, memoryview(found))


def _check_matrix(element: _Element, order: str, depth: int) -> None:
    if element.type != _MATRIX or depth > _DEEPEST:
        raise ValueError(f"an element of type {element.type}, expected a matrix")
    if not len(element.data) and depth:
        return  # an empty cell
    flags, *parts = _elements(element.data, order)
    if flags.type != 6 or len(flags.data) != 8:  # two uint32
        raise ValueError("a matrix without flags")
    word = struct.unpack_from(f"{order}I", flags.data)[0]
    kind = word & 0xFF
    heads = [_NAMES] if kind == _OPAQUE else [_INTEGERS, _NAMES]  # dimensions and name
    _expect(parts[: len(heads)], heads)
    shape = [] if kind == _OPAQUE else np.frombuffer(parts[0].data, f"{order}i4").tolist()
    if kind != _OPAQUE and not (1 < len(shape) <= _MOST_DIMENSIONS and min(shape) >= 0):
        raise ValueError(f"a matrix of shape {shape}")
    contents = parts[len(heads) :]
    if kind in _NUMERIC or kind == _SPARSE:
        _check_numbers(contents, shape, kind == _SPARSE, bool(word & _COMPLEX))
    elif kind == _CHAR:
        _expect(contents, [(*_NUMBERS, *_TEXTS)])
    else:
        _check_nested(contents, kind, prod(shape), order, depth)


def _expect(parts: list[_Element], types: Sequence[tuple[int, ...]]) -> None:
    if len(parts) != len(types) or any(p.type not in t for p, t in zip(parts, types, strict=True)):
        raise ValueError(f"elements of types {[part.type for part in parts][:9]}")  # a line of them


def _check_numbers(parts: list[_Element], shape: list[int], sparse: bool, twice: bool) -> None:
    heads = [_INTEGERS, _INTEGERS] if sparse else []
    _expect(parts, [*heads, *[tuple(_NUMBERS)] * (1 + twice)])
    counts = [len(part.data) / _NUMBERS[part.type] for part in parts]
    if counts[1] != shape[1] + 1 if sparse else set(counts) != {prod(shape)}:
        raise ValueError(f"{counts} numbers for a matrix of shape {shape}")


def _check_nested(parts: list[_Element], kind: int, n: int, order: str, depth: int) -> None:
    """Check cells, structs and objects, whose matrices follow some texts."""
    texts = {_CELL: 0, _STRUCT: 2, _OBJECT: 3, _FUNCTION: 0, _OPAQUE: 2}.get(kind)
    if texts is None:
        raise ValueError(f"a matrix of class {kind}")
    heads = [_NAMES] * texts
    if kind in (_STRUCT, _OBJECT):  # the length of a field's name, and the names
        heads[-2] = _INTEGERS
    _expect(parts[:texts], heads)
    if kind in (_STRUCT, _OBJECT):
        length = int(np.frombuffer(parts[texts - 2].data, f"{order}i4", 1)[0])
        if length <= 0 or len(parts[texts - 1].data) % length:
            raise ValueError(f"names of fields with {length} bytes")
        n *= len(parts[texts - 1].data) // length
    if len(parts) - texts != (1 if kind in (_FUNCTION, _OPAQUE) else n):
        raise ValueError(f"{len(parts) - texts} cells, expected {n}")
    for part in parts[texts:]:
        _check_matrix(part, order, depth + 1)
