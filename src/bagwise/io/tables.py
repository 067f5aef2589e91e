"""CSV and TSV with one row per instance: a column for its bag, one for the bag's label.

A file is read block by block, so that it is never in memory twice. Other formats of text share the
syntax: header, delimiter, rows, numbers, the line of an error.
"""

from __future__ import annotations

import csv
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn, Unpack

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.frames import long_columns
from bagwise.errors import Argument, Message
from bagwise.io._assemble import (
    CODED,
    MISSING,
    NUMERIC,
    ROLES,
    Coded,
    Layout,
    lay_out,
    refuse_empty,
)
from bagwise.io._columns import Column, Columns, LabeledBags, reads, writes
from bagwise.io._files import open_source, rows_per_block, write_text
from bagwise.io._flatten import long_rows, name_features
from bagwise.io.errors import FormatError, MixedTypeError, TruncatedFileError, missing_value

Row = tuple[int, list[str]]  # line number and fields
Rows = Callable[[Path, Any], Iterator[Row]]  # split the lines of an open file

# Texts that mean NaN in a feature, and are refused as labels.
_AS_NUMBERS = {**dict.fromkeys(MISSING, "nan"), "True": "1", "False": "0"}
ENCODE = ("Encode the column, or name the columns to use with ", Argument("features", "[...]"), ".")
_DELIMITERS = ",\t;"
_EXACT = ("bag", "groups", "sites", "parts", "instance_ids")  # whose numbers print as their texts


@reads(
    ".csv",
    header="Whether the first line contains names; None: it does if it has no number, or the name "
    "of a bag or label, or rising whole numbers above fractions.",
    delimiter="Field separator; None: the most frequent of comma, tab and semicolon in the first "
    "line.",
    decimal=('{".", ","}', "Decimal separator of all numbers."),
)
def read_csv(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    **columns: Unpack[Columns],
) -> LabeledBags:
    """Read a CSV or TSV file, plain or gzip, with one row per instance."""
    path = Path(path)
    text = sniff(path, header, delimiter, (bag, label, *columns.values()))
    if decimal not in (".", ",") or decimal == text.delimiter:
        separated = f" The fields are separated by {text.delimiter!r}."
        raise ValueError(f"decimal must be '.' or ',', got {decimal!r}.{separated}")
    layout = lay_out(
        *(path, text.names),
        has_header=text.header_lines > 0,
        decimal=decimal,
        bag=bag,
        label=label,
        **columns,
    )
    return read_rows(path, text.rows, layout)


@writes(".csv.gz", delimiter="Field separator; None: tab for ``.tsv``, comma otherwise.")
def write_csv(path: str | Path, bags: Bags, y: Any = None, *, delimiter: str | None = None) -> None:
    """Write a CSV or TSV file, compressed if the name ends in ``.gz``.

    Numbers are written so that reading gives the same bits. The columns are those that `read_csv`
    looks for: bag, label, instance_label, group, prior, instance (where known), features.
    """
    path = Path(path)
    keys = long_columns(bags, y)
    _refuse_empty_texts(path, keys)
    if delimiter is None:
        delimiter = "\t" if ".tsv" in path.suffixes else ","
    with write_text(path) as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow([*keys, *name_features(path, bags, keys)])
        writer.writerows(long_rows(bags, keys))


def _refuse_empty_texts(path: Path, keys: dict[str, Any]) -> None:
    for name, values in keys.items():
        if name == ROLES["known_labels"]:  # where an empty text is unknown
            continue
        if values.dtype.kind in "UO" and any(v == "" for v in values.tolist()):
            raise FormatError(path, f"an empty text in {name} cannot be written as CSV.")


# Syntax -------------------------------------------------------------------------------------------


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


def sniff(
    path: Path, header: bool | None = None, delimiter: str | None = None, named: Iterable[Any] = ()
) -> TableText:
    """Guess header and delimiter from the first rows of a file; a header may have ``named``."""
    with open_source(path) as file:
        first_line = file.readline()
        if first_line.startswith("sep="):
            raise FormatError(path, f"{first_line.strip()!r} is for Excel alone. Delete it.", 1)
        if delimiter is None:
            delimiter = max(_DELIMITERS, key=first_line.count)
        reader = csv.reader(chain([first_line], file), delimiter=delimiter)
        first = next(reader, [])
        n_lines = reader.line_num
        second = file.readline().strip().replace('"', "").split(delimiter)
    if not first:
        raise FormatError(path, "is empty. Expected one row per instance.")
    if header is None:
        known = {"bag", "label", *(name for name in named if isinstance(name, str))}
        header = not known.isdisjoint(first) or _are_names(first, second)
    names = first if header else [f"column {j}" for j in range(len(first))]
    return TableText(names, delimiter, n_lines if header else 0)


def _are_names(first: list[str], second: list[str]) -> bool:
    """Tell a header by its texts: without numbers, or with wavelengths or positions (0, 1, 2)."""
    numbers = [text for text in first if is_number(text)]
    if len(numbers) < 2 or not all(text.isdecimal() for text in numbers):
        return not numbers
    rising = sorted(set(map(int, numbers))) == list(map(int, numbers))
    below = [text for name, text in zip(first, second, strict=False) if name in numbers]
    fractions = bool(below) and not any(text.isdecimal() for text in below)
    return rising and fractions and not is_number(first[0])


def check_width(path: Path, line: int, fields: list[str], width: int, rest: Iterator[Any]) -> None:
    """Refuse a row with too few or too many fields; a short last row means a truncated file."""
    if len(fields) == width:
        return
    is_cut = len(fields) < width and next(rest, None) is None
    kind = TruncatedFileError if is_cut else FormatError
    why = " The file ends in the middle of a row." if is_cut else ""
    raise kind(path, f"{len(fields)} fields, expected {width} as in the first row.{why}", line)


def read_rows(path: Path, rows: Rows, layout: Layout) -> LabeledBags:
    """Read the bags of a text file, given how its rows are split."""
    blocks: list[Array] = []
    keys, lines = {key: list[str]() for key in layout.keys}, array("q")
    with open_source(path) as file:
        split = rows(path, file)
        while block := list(islice(split, rows_per_block(len(layout.names)))):
            blocks.append(parse_numbers(path, block, layout))
            lines.extend(line for line, _ in block)
            for key, j in layout.keys.items():
                keys[key].extend(sys.intern(fields[j]) for _, fields in block)
    columns = type_columns(path, keys, lines.__getitem__, layout.decimal)
    return layout.assemble(path, join_blocks(path, blocks), columns, lines.__getitem__)


def parse_numbers(path: Path, block: list[Row], layout: Layout) -> Array:
    """Return the features of a block as numbers; anything else raises its line and column."""
    texts = [fields[j] for _, fields in block for j in layout.features]
    numbers = parse_all(texts, float, layout.decimal)
    if numbers is None:
        texts = [_AS_NUMBERS.get(text.strip(), text) for text in texts]
        numbers = parse_all(texts, float, layout.decimal)
    if numbers is None:
        _refuse(path, block, texts, layout)
    return np.array(numbers).reshape(len(block), -1)


def _refuse(path: Path, block: list[Row], texts: list[str], layout: Layout) -> NoReturn:
    """Raise the line and the column of the first text that is not a number."""
    at = next(i for i, text in enumerate(texts) if not is_number(text, layout.decimal))
    row, k = divmod(at, len(layout.features))
    remedy: tuple[Any, ...] = ENCODE
    if layout.decimal == "," and is_number(texts[at]):
        remedy = ("It has a point: write decimals with a comma, thousands without separator.",)
    elif is_number(texts[at], ","):
        comma = ("For a decimal comma pass ", Argument("decimal", "','"))
        remedy = (*comma, "; write thousands without a separator.")
    problem = Message(f"{texts[at]!r} is not a number. ", *remedy)
    raise MixedTypeError(path, problem, block[row][0], layout.names[layout.features[k]])


def join_blocks(path: Path, blocks: list[Array]) -> Array:
    """Return blocks of rows as one matrix, and empty the list: the rows are in memory once."""
    n_rows = sum(map(len, blocks))
    refuse_empty(path, n_rows)
    X = np.empty((n_rows, blocks[0].shape[1]), blocks[0].dtype)
    while blocks:  # from the end, where the system takes memory back
        block = blocks.pop()
        X[n_rows - len(block) : n_rows] = block
        n_rows -= len(block)
    return X


def type_columns(
    path: Path, keys: dict[str, list[str]], place: Callable[[int], int | str], decimal: str = "."
) -> dict[str, Any]:
    """Return the columns of a text file by role, as `assemble` takes them."""
    columns: dict[str, Any] = {}
    for key, texts in keys.items():
        if key == "known_labels":
            columns[key] = type_column(texts, key, decimal)
            continue
        codes, distinct = _number_texts(texts)
        missing = next((t for t in distinct if not t or (key == "label" and t in MISSING)), None)
        if missing is not None:
            raise missing_value(path, key, place(texts.index(missing)), missing)
        values = type_texts(distinct, key in _EXACT, decimal)
        is_text = key not in _EXACT and values.dtype.kind == "U"
        strange = next((t for t in distinct if is_text and not is_number(t, decimal)), None)
        if strange is not None and (key.startswith(NUMERIC) or is_number(strange)):
            problem = f"{strange!r} is not a number{' with a decimal comma' * (decimal == ',')}."
            raise MixedTypeError(path, problem, place(texts.index(strange)), key)
        if key.startswith(NUMERIC):
            values = values.astype(np.float64)
        columns[key] = Coded(codes, values) if key in CODED else values[codes]
    return columns


def type_column(texts: list[str], role: str, decimal: str = ".") -> Array:
    """Return the typed value of every text of a column of a role.

    Labels of instances may be missing: they are NaN or an empty text there.
    """
    codes, distinct = _number_texts(texts)
    if role != "known_labels":
        return type_texts(distinct, role in _EXACT, decimal)[codes]
    known = [text for text in distinct if text not in MISSING]
    typed = dict(zip(known, type_texts(known, False, decimal).tolist(), strict=True))
    return np.array([typed.get(text) for text in distinct], dtype=object)[codes]


def _number_texts(texts: list[str]) -> tuple[Array, list[str]]:
    """Return the number of the text of every row, and the distinct texts by number."""
    numbers: dict[str, int] = {}
    codes = (numbers.setdefault(text, len(numbers)) for text in texts)
    return np.fromiter(codes, np.int32, len(texts)), list(numbers)


def type_texts(texts: list[str], exact_text: bool, decimal: str = ".") -> Array:
    """Return distinct texts as booleans, integers or floats if all of them are, else as texts.

    With ``exact_text`` (ids) a number must also print as the same text: '007' stays a text.
    """
    if set(texts) <= {"True", "False"}:
        return np.array([t == "True" for t in texts])
    for kind in (int, float):
        numbers = parse_all(texts, kind, decimal)
        if numbers is None or len(set(numbers)) < len(texts):
            continue
        if not exact_text or [repr(n) for n in numbers] == texts:
            return np.array(numbers)
    return np.array(texts)


def parse_all(texts: list[str], kind: type, decimal: str = ".") -> list[Any] | None:
    """Return texts as numbers of a type; None if one of them is none."""
    if decimal == ",":  # and what has a point, which may separate thousands, is no number
        texts = ["" if "." in text else text.replace(",", ".") for text in texts]
    try:
        numbers = list(map(kind, texts))
    except ValueError:
        return None
    if kind is int and any(abs(n) > np.iinfo(np.int64).max for n in numbers):
        return None
    return None if "_" in "".join(texts) else numbers  # Python takes 1_000, other programs do not


def is_number(text: str, decimal: str = ".") -> bool:
    """Return whether a field is a number (missing values are not)."""
    return parse_all([text], float, decimal) is not None
