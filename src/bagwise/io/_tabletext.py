"""The language of long CSV files: header, delimiter, numbers, and where an error is."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bagwise.io._assemble import Layout
from bagwise.io._source import open_source
from bagwise.io.errors import FormatError, MixedTypeError, TruncatedFileError

Array = NDArray[Any]

# Texts that stand for NaN in a feature, in both engines.
MISSING = frozenset(["", "?", "NA", "N/A", "NaN", "nan", "NULL", "null"])
_DELIMITERS = ",\t;"


@dataclass(frozen=True)
class TableText:
    """How a file is written: names of its columns, delimiter, length of its header."""

    names: list[str]
    delimiter: str
    header_lines: int

    @property
    def header_rows(self) -> int:
        """Rows to skip (a header is one row, over however many lines)."""
        return 1 if self.header_lines else 0

    def fields(self, path: Path, reader: Any) -> Iterator[list[str]]:
        """Yield the rows of a csv reader; what cannot be split gets its line."""
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                kind = TruncatedFileError if "unexpected end" in str(error) else FormatError
                raise kind(path, f"cannot be split ({error}).", reader.line_num) from error
            yield row


def sniff(path: Path, header: bool | None, delimiter: str | None) -> TableText:
    """Look at the first row of a file."""
    with open_source(path) as source:
        file = source.text()
        first_line = file.readline()
        if delimiter is None:
            delimiter = max(_DELIMITERS, key=first_line.count)
        reader = csv.reader(_chain(first_line, file), delimiter=delimiter)
        first = next(reader, [])
        n_lines = reader.line_num
    if not first:
        raise FormatError(path, "is empty. Expected one row an instance.")
    if header is None:
        header = not any(is_number(text) for text in first)
    names = first if header else [f"column {j}" for j in range(len(first))]
    return TableText(names, delimiter, n_lines if header else 0)


def _chain(first_line: str, rest: Iterator[str]) -> Iterator[str]:
    yield first_line
    yield from rest


def is_number(text: str) -> bool:
    """Tell whether a field is a number (missing values are not)."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def parse_numbers(path: Path, block: list[list[str]], lines: list[int], layout: Layout) -> Array:
    """Return the feature fields of a block as numbers; what is none gets its line and column."""
    chosen = layout.features
    first, last = chosen[0], chosen[-1]
    if chosen == list(range(first, last + 1)):
        fields = [row[first : last + 1] for row in block]
    else:
        fields = [[row[j] for j in chosen] for row in block]
    numbers = np.empty((len(block), len(chosen)))
    for i, row in enumerate(fields):
        try:
            numbers[i] = list(map(float, row))
        except ValueError:
            numbers[i] = [_number(path, text, lines[i], layout, k) for k, text in enumerate(row)]
        if "_" in "".join(row):  # float() takes 1_000, no other program does
            k = next(k for k, text in enumerate(row) if "_" in text)
            _refuse(path, row[k], lines[i], layout, k)
    return numbers


def _number(path: Path, text: str, line: int, layout: Layout, k: int) -> float:
    if text.strip() in MISSING:
        return np.nan
    if not is_number(text):
        _refuse(path, text, line, layout, k)
    return float(text)


def _refuse(path: Path, text: str, line: int, layout: Layout, k: int) -> NoReturn:
    raise MixedTypeError(
        path,
        f"{text!r} is not a number. Encode the column, or leave it out with features=[...].",
        line,
        layout.names[layout.features[k]],
    )


def check_width(path: Path, row: list[str], width: int, reader: Any) -> NoReturn:
    """Name what is wrong with a row that has too few or too many fields."""
    line = reader.line_num
    is_last = next(reader, None) is None
    kind = TruncatedFileError if is_last and len(row) < width else FormatError
    why = " The file ends in the middle of a row." if kind is TruncatedFileError else ""
    raise kind(path, f"{len(row)} fields, expected {width} as in the first line.{why}", line)


def line_of_row(path: Path, text: TableText, row: int) -> int:
    """Return the line of a data row, by reading the file again up to it."""
    with open_source(path) as source:
        reader = csv.reader(source.text(), delimiter=text.delimiter)
        wanted = row + text.header_rows
        for fields in reader:
            if fields:
                wanted -= 1
            if wanted < 0:
                break
        return reader.line_num
