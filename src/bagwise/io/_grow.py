"""Columns that grow while a file is read, without holding the file twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagwise.io._assemble import Coded

Array = NDArray[Any]


class GrowingRows:
    """A matrix that takes blocks of rows; its memory is moved, not copied, when it grows."""

    def __init__(self, width: int, dtype: Any) -> None:
        self._data = np.empty((0, width), dtype=dtype)
        self._count = 0

    def reserve(self, block_rows: int, fraction: float) -> Array:
        """Return room for a block, given how much of the file has been read with it."""
        needed = self._count + block_rows
        if needed > len(self._data):
            # A margin of 2 % over the estimate spares nearly every further growth.
            expected = int(1.02 * needed / min(max(fraction, 1e-3), 1.0))
            capacity = max(needed, min(expected, 64 * needed), len(self._data) * 5 // 4)
            self._data.resize((capacity, self._data.shape[1]), refcheck=False)
        room = self._data[self._count : needed]
        self._count = needed
        return room

    def finish(self) -> Array:
        """Return the rows, with the spare room given back."""
        self._data.resize((self._count, self._data.shape[1]), refcheck=False)
        return self._data


class TextColumn:
    """A column of few different texts: one small number a row."""

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
        """Return the first row that holds a text."""
        number = self._numbers.get(text)
        return None if number is None else int(np.argmax(self.codes == number))

    def coded(self, *, exact_text: bool) -> Coded:
        """Return the typed values and the number of every row's.

        Numbers are recognised only where every text of the column is one. With ``exact_text``
        (ids) the number must also print as the same text: '007' stays a text.
        """
        return Coded(self.codes, typed(list(self._numbers), exact_text))


def typed_column(texts: list[str], *, exact_text: bool) -> Array:
    """Return the typed value of every text of a column."""
    column = TextColumn()
    column.extend(texts)
    return column.coded(exact_text=exact_text).at(slice(None))


def typed(texts: list[str], exact_text: bool) -> Array:
    """Return different texts as booleans, integers or floats where all are such, else as texts."""
    if set(texts) <= {"True", "False"}:
        return np.array([t == "True" for t in texts])
    for kind in (int, float):
        numbers = _parsed(texts, kind)
        if numbers is None or len(set(numbers)) < len(texts):
            continue
        if not exact_text or [repr(n) for n in numbers] == texts:
            return np.array(numbers)
    return np.array(texts)


def _parsed(texts: list[str], kind: type) -> list[Any] | None:
    try:
        numbers = [kind(text) for text in texts]
    except ValueError:
        return None
    if kind is int and any(abs(n) > np.iinfo(np.int64).max for n in numbers):
        return None
    return None if any("_" in text for text in texts) else numbers
