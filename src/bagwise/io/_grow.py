"""Columns that grow while a file is read, so that the file is never in memory twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.io._assemble import CODED, NUMERIC, Coded, refuse_empty
from bagwise.io.errors import MixedTypeError, missing_value

_EXACT = ("bag", "groups", "instance_ids")


class GrowingRows:
    """A matrix to which blocks of rows are appended; its memory is resized, not copied."""

    def __init__(self, path: Path, width: int, dtype: Any) -> None:
        self._path = path
        self._data = np.empty((0, width), dtype=dtype)
        self._count = 0

    def reserve(self, block_rows: int, fraction: float) -> Array:
        """Return room for a block, given the fraction of the file that has been read with it."""
        needed = self._count + block_rows
        if needed > len(self._data):
            # 2 % over the estimate makes further growth rare; 64 times bounds a wrong estimate.
            expected = int(1.02 * needed / min(max(fraction, 1e-3), 1.0))
            capacity = max(needed, min(expected, 64 * needed), len(self._data) * 5 // 4)
            self._data.resize((capacity, self._data.shape[1]), refcheck=False)
        room = self._data[self._count : needed]
        self._count = needed
        return room

    def finish(self) -> Array:
        """Return the rows without the spare room; there must be some."""
        refuse_empty(self._path, self._count)
        self._data.resize((self._count, self._data.shape[1]), refcheck=False)
        return self._data


class TextColumn:
    """A column with few distinct texts, stored as one small number per row."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._codes: list[Array] = []

    def extend(self, texts: list[str]) -> None:
        """Append texts."""
        numbers = self._numbers
        codes = (numbers.setdefault(text, len(numbers)) for text in texts)
        self._codes.append(np.fromiter(codes, np.int32, len(texts)))

    def extend_coded(self, codes: Array, texts: Iterable[str]) -> None:
        """Append texts given as numbers into a dictionary."""
        numbers = self._numbers
        known = np.array([numbers.setdefault(t, len(numbers)) for t in texts], dtype=np.int32)
        self._codes.append(known[codes])

    @property
    def codes(self) -> Array:
        """Number of the text of every row."""
        return np.concatenate(self._codes)

    def first_row(self, text: str) -> int | None:
        """Return the first row that contains a text, if any."""
        number = self._numbers.get(text)
        return None if number is None else int(np.argmax(self.codes == number))

    def code(self, *, exact_text: bool) -> Coded:
        """Return the typed distinct values, and the number of each row's value.

        The values are numbers only if every text of the column is one. With ``exact_text`` (ids)
        the number must also print as the same text: '007' stays a text.
        """
        return Coded(self.codes, type_texts(list(self._numbers), exact_text))


def type_columns(
    path: Path, keys: dict[str, TextColumn], place: Callable[[int], int | str]
) -> dict[str, Any]:
    """Return the columns of a text file by role, as `assemble` takes them."""
    columns: dict[str, Any] = {}
    for key, column in keys.items():
        row = column.first_row("")
        if row is not None:
            raise missing_value(path, key, place(row))
        values = column.code(exact_text=key in _EXACT)
        if key.startswith(NUMERIC):
            values = Coded(values.codes, _as_numbers(path, key, column, values.values, place))
        columns[key] = values if key in CODED else values.at(slice(None))
    return columns


def _as_numbers(path: Path, key: str, column: TextColumn, values: Any, place: Any) -> Any:
    for text in values if values.dtype.kind == "U" else []:
        if not is_number(text):
            row = column.first_row(text) or 0
            raise MixedTypeError(path, f"{str(text)!r} is not a number.", place(row), key)
    return values.astype(np.float64)


def type_column(texts: list[str], *, exact_text: bool) -> Array:
    """Return the typed value of every text of a column."""
    column = TextColumn()
    column.extend(texts)
    return column.code(exact_text=exact_text).at(slice(None))


def type_texts(texts: list[str], exact_text: bool) -> Array:
    """Return distinct texts as booleans, integers or floats if all of them are, else as texts."""
    if set(texts) <= {"True", "False"}:
        return np.array([t == "True" for t in texts])
    for kind in (int, float):
        numbers = _parse(texts, kind)
        if numbers is None or len(set(numbers)) < len(texts):
            continue
        if not exact_text or [repr(n) for n in numbers] == texts:
            return np.array(numbers)
    return np.array(texts)


def _parse(texts: list[str], kind: type) -> list[Any] | None:
    try:
        numbers = [kind(text) for text in texts]
    except ValueError:
        return None
    if kind is int and any(abs(n) > np.iinfo(np.int64).max for n in numbers):
        return None
    return None if any("_" in text for text in texts) else numbers


def is_number(text: str) -> bool:
    """Return whether a field is a number (missing values are not)."""
    return _parse([text], float) is not None
