"""The syntax of text tables: header, delimiter, rows, numbers, and the line of an error."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from bagwise._typing import Array
from bagwise.errors import Argument, Message
from bagwise.io._assemble import LabeledBags, Layout
from bagwise.io._grow import GrowingRows, TextColumn, is_number, type_columns
from bagwise.io._limits import rows_per_block
from bagwise.io._source import Source, open_source
from bagwise.io.errors import FormatError, MixedTypeError, TruncatedFileError

Row = tuple[int, list[str]]  # line number and fields
Rows = Callable[[Path, Any], Iterator[Row]]  # split the lines of an open file

# Texts that mean NaN in a feature, for both engines.
MISSING = frozenset(["", "?", "NA", "N/A", "NaN", "nan", "NULL", "null"])
ENCODE = ("Encode the column, or name the columns to use with ", Argument("features", "[...]"), ".")
_DELIMITERS = ",\t;"
_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")


@dataclass(frozen=True)
class TableText:
    """How a file is written: the names of its columns, its delimiter, the length of its header."""

    names: list[str]
    delimiter: str
    header_lines: int

    def rows(self, path: Path, file: Any) -> Iterator[Row]:
        """Yield the rows after the header, without blank lines; a bad row raises its line."""
        reader = csv.reader(file, delimiter=self.delimiter, strict=True)
        try:
            for fields in islice(reader, 1 if self.header_lines else 0, None):
                if fields:
                    line = reader.line_num
                    check_width(path, line, fields, len(self.names), reader)
                    yield line, fields
        except csv.Error as error:
            kind = TruncatedFileError if "unexpected end" in str(error) else FormatError
            raise kind(path, f"cannot be split ({error}).", reader.line_num) from error


def sniff(path: Path, header: bool | None = None, delimiter: str | None = None) -> TableText:
    """Guess header and delimiter from the first row of a file."""
    with open_source(path) as source:
        file = source.text()
        first_line = file.readline()
        if delimiter is None:
            delimiter = max(_DELIMITERS, key=first_line.count)
        reader = csv.reader(chain([first_line], file), delimiter=delimiter)
        first = next(reader, [])
        n_lines = reader.line_num
    if not first:
        raise FormatError(path, "is empty. Expected one row per instance.")
    if header is None:
        header = not any(is_number(text) for text in first)
    names = first if header else [f"column {j}" for j in range(len(first))]
    return TableText(names, delimiter, n_lines if header else 0)


def check_width(path: Path, line: int, fields: list[str], width: int, rest: Iterator[Any]) -> None:
    """Refuse a row with too few or too many fields; a short last row means a truncated file."""
    if len(fields) == width:
        return
    is_cut = len(fields) < width and next(rest, None) is None
    kind = TruncatedFileError if is_cut else FormatError
    why = " The file ends in the middle of a row." if is_cut else ""
    raise kind(path, f"{len(fields)} fields, expected {width} as in the first row.{why}", line)


def blocks(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Cut a sequence into lists of a given size; the last one may be shorter."""
    iterator = iter(items)
    while block := list(islice(iterator, size)):
        yield block


def read_rows(
    path: Path, rows: Rows, layout: Layout, dtype: Any, progress: bool | None
) -> LabeledBags:
    """Read the bags of a text file, given how its rows are split."""
    with open_source(path, progress) as source:
        parsed = parse_rows(path, rows(path, source.text()), layout, dtype, source)
    return assemble_rows(path, rows, layout, *parsed)


def assemble_rows(
    path: Path, rows: Rows, layout: Layout, X: Array, keys: dict[str, TextColumn]
) -> LabeledBags:
    """Cut parsed rows into bags; errors name the line of a row, found by reading up to it."""

    def place(row: int) -> int:
        with open_source(path) as source:
            return next(islice(rows(path, source.text()), row, None))[0]

    return layout.assemble(path, X, type_columns(path, keys, place), place)


def parse_rows(
    path: Path, rows: Iterator[Row], layout: Layout, dtype: Any, source: Source
) -> tuple[Array, dict[str, TextColumn]]:
    """Return the features as one matrix, and the texts of all other columns by role."""
    X = GrowingRows(path, len(layout.features), dtype)
    keys = {key: TextColumn() for key in layout.keys}
    for block in blocks(rows, rows_per_block(len(layout.names))):
        X.reserve(len(block), source.advance())[:] = parse_numbers(path, block, layout)
        for key, j in layout.keys.items():
            keys[key].extend([fields[j] for _, fields in block])
    return X.finish(), keys


def parse_numbers(path: Path, block: list[Row], layout: Layout) -> Array:
    """Return the features of a block as numbers; anything else raises its line and column."""
    chosen = layout.features
    first, stop = chosen[0], chosen[-1] + 1
    is_range = chosen == list(range(first, stop))
    numbers = np.empty((len(block), len(chosen)))
    for i, (line, fields) in enumerate(block):
        row = fields[first:stop] if is_range else [fields[j] for j in chosen]
        if layout.decimal == ",":
            row = [text.replace(",", ".") for text in row]
        try:
            numbers[i] = list(map(float, row))
        except ValueError:
            numbers[i] = [_number(path, text, line, layout, k) for k, text in enumerate(row)]
        if "_" in "".join(row):  # float() takes 1_000, no other program does
            k = next(k for k, text in enumerate(row) if "_" in text)
            _refuse(path, row[k], line, layout, k)
    return numbers


def _number(path: Path, text: str, line: int, layout: Layout, k: int) -> float:
    if text.strip() in MISSING:
        return np.nan
    if not is_number(text):
        _refuse(path, text, line, layout, k)
    return float(text)


def _refuse(path: Path, text: str, line: int, layout: Layout, k: int) -> NoReturn:
    remedy: tuple[Any, ...] = ENCODE
    if _COMMA.fullmatch(text.strip()):
        remedy = ("For a decimal comma pass ", Argument("decimal", "','"), ".")
    problem = Message(f"{text!r} is not a number. ", *remedy)
    raise MixedTypeError(path, problem, line, layout.names[layout.features[k]])
