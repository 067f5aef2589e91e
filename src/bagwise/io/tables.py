"""Long CSV / TSV: one row an instance, a column with its bag, a column with the bag's label.

Two engines read the same language and give the same bags: pyarrow where it is installed (fast),
and Python's ``csv`` (always there). Wherever pyarrow refuses a file, the ``csv`` engine has the
last word: it either reads it or names the line and the column that are wrong. Both read block by
block into one growing matrix, so that a file never costs much more than its array.
"""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from bagwise.bags import Bags
from bagwise.io._assemble import BAG_FEATURE, Coded, Column, Labelled, Layout, assemble, lay_out
from bagwise.io._flatten import dense_blocks, long_columns, written_feature_names
from bagwise.io._grow import GrowingRows, TextColumn
from bagwise.io._source import open_source, write_text
from bagwise.io._tabletext import (
    TableText,
    check_width,
    is_number,
    line_of_row,
    parse_numbers,
    sniff,
)
from bagwise.io.errors import FormatError, LabelError, MixedTypeError

__all__ = ["read_csv", "write_csv"]

_BLOCK_FIELDS = 1 << 18
_BLOCK_BYTES = 1 << 22


def read_csv(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    instance_labels: Column | None = None,
    groups: Column | None = None,
    priors: Column | None = None,
    instance_ids: Column | None = None,
    features: Sequence[Column] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    dtype: DTypeLike = np.float64,
    regroup: bool = False,
    engine: str = "auto",
    progress: bool | None = None,
) -> Labelled:
    """Read a long CSV or TSV file, plain or gzip: one row an instance.

    Parameters
    ----------
    path : str or Path
        The file.
    bag : str or int, default=None
        Column of the bag ids, by name or position; "bag", or the first without a header.
    label : str or int, default=None
        Column of the bag labels, the same on all rows of a bag; "label" where there is one, or the
        second without a header.
    instance_labels, groups, priors, instance_ids : str or int, default=None
        Columns of other attributes of `Bags`; "instance_label", "group", "prior" and "instance"
        where there are such.
    features : sequence of str or int, default=None
        The feature columns; all others when not given.
    header : bool, default=None
        Whether the first line holds names; None: it does unless it holds a number.
    delimiter : str, default=None
        Between the fields; None: the commonest of comma, tab and semicolon in the first line.
    dtype : dtype, default=float64
        Of the instances.
    regroup : bool, default=False
        Accept a file whose bags are scattered over it, and bring their rows together.
    engine : {"auto", "pyarrow", "csv"}, default="auto"
        Which parser; "auto" takes pyarrow where it is installed. The result is the same.
    progress : bool, default=None
        Show a progress bar; None: on a terminal, when reading takes more than two seconds.

    Returns
    -------
    bags : Bags
        The bags, in the order of the file.
    y : ndarray of shape (n_bags,) or None
        Their labels: integers, floats or texts as the column is; None where there is none.

    Examples
    --------
    >>> from bagwise.io import read_csv
    >>> path = getfixture("tmp_path") / "drugs.csv"
    >>> _ = path.write_text("molecule,active,f1,f2\\nm1,1,0.5,1\\nm1,1,0.7,2\\nm2,0,0.1,3\\n")
    >>> bags, y = read_csv(path, bag="molecule", label="active")
    >>> bags.ids, bags.sizes, y
    (array(['m1', 'm2'], dtype='<U2'), array([2, 1]), array([1, 0]))
    """
    path = Path(path)
    text = sniff(path, header, delimiter)
    named = {
        "bag": bag,
        "label": label,
        "instance_labels": instance_labels,
        "groups": groups,
        "priors": priors,
        "instance_ids": instance_ids,
    }
    layout = lay_out(path, text.names, named, features, has_header=text.header_lines > 0)
    X, keys = _parse(path, text, layout, np.dtype(dtype), engine, progress)

    def place(row: int) -> int:
        return line_of_row(path, text, row)

    columns = _typed_columns(path, keys, place)
    return assemble(path, X, columns, layout.feature_names, place, regroup=regroup)


def _parse(
    path: Path, text: TableText, layout: Layout, dtype: np.dtype, engine: str, progress: Any
) -> tuple[Any, dict[str, TextColumn]]:
    if engine not in ("auto", "pyarrow", "csv"):
        raise ValueError(f"engine must be 'auto', 'pyarrow' or 'csv', it is {engine!r}.")
    if engine == "pyarrow" or (engine == "auto" and importlib.util.find_spec("pyarrow")):
        from bagwise.io._arrowcsv import Refused, parse_with_arrow

        try:
            return parse_with_arrow(path, text, layout, dtype, _BLOCK_BYTES, progress)
        except Refused:
            pass  # the csv engine reads it, or says what is wrong and where
    return _parse_with_csv(path, text, layout, dtype, progress)


def _parse_with_csv(
    path: Path, text: TableText, layout: Layout, dtype: np.dtype, progress: bool | None
) -> tuple[Any, dict[str, TextColumn]]:
    rows = GrowingRows(len(layout.features), dtype)
    keys = {key: TextColumn() for key in layout.keys}
    with open_source(path, progress) as source:
        for lines, block in _blocks(path, text, source.text()):
            numbers = parse_numbers(path, block, lines, layout)
            rows.reserve(len(block), source.advance())[:] = numbers
            for key, j in layout.keys.items():
                keys[key].extend([row[j] for row in block])
    X = rows.finish()
    if len(X) == 0:
        raise FormatError(path, "holds no rows. Expected one row an instance.")
    return X, keys


def _blocks(path: Path, text: TableText, file: Any) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Yield (line numbers, rows of fields), blank lines left out."""
    reader = csv.reader(file, delimiter=text.delimiter, strict=True)
    for _ in range(text.header_rows):
        next(reader)
    width, size = len(text.names), max(1, _BLOCK_FIELDS // len(text.names))
    lines: list[int] = []
    block: list[list[str]] = []
    for row in text.fields(path, reader):
        if not row:
            continue
        if len(row) != width:
            check_width(path, row, width, reader)
        lines.append(reader.line_num)
        block.append(row)
        if len(block) == size:
            yield lines, block
            lines, block = [], []
    if block:
        yield lines, block


_CODED = ("bag", "label", "groups")
_EXACT = ("bag", "groups", "instance_ids")
_NUMERIC = ("priors", BAG_FEATURE)


def _typed_columns(path: Path, keys: dict[str, TextColumn], place: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for key, column in keys.items():
        row = column.first_row("")
        if row is not None:
            error = LabelError if key == "label" else FormatError
            raise error(path, f"the {key} is missing. Expected one on every row.", place(row))
        values = column.coded(exact_text=key in _EXACT)
        if key.startswith(_NUMERIC):
            values = Coded(values.codes, _as_numbers(path, key, column, values.values, place))
        columns[key] = values if key in _CODED else values.at(slice(None))
    return columns


def _as_numbers(path: Path, key: str, column: TextColumn, values: Any, place: Any) -> Any:
    for text in values if values.dtype.kind == "U" else []:
        if not is_number(text):
            row = column.first_row(text) or 0
            raise MixedTypeError(path, f"{str(text)!r} is not a number.", place(row), key)
    return values.astype(np.float64)


def write_csv(path: str | Path, bags: Bags, y: Any = None, *, delimiter: str | None = None) -> None:
    """Write a long CSV or TSV file, gzip where the name ends in ``.gz``.

    Numbers are written so that reading gives the same bits. The columns are those `read_csv` looks
    for: bag, label, instance_label, group, prior, instance (each where it is known), features.

    Parameters
    ----------
    path : str or Path
        The file to write.
    bags : Bags
        The bags; sparse ones are written with their zeros.
    y : array-like of shape (n_bags,), default=None
        Their labels.
    delimiter : str, default=None
        Between the fields; None: tab for ``.tsv``, comma otherwise.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import read_csv, write_csv
    >>> path = getfixture("tmp_path") / "bags.csv.gz"
    >>> write_csv(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]], ids=["a", "b"]), [1, 0])
    >>> read_csv(path)
    (Bags(2 bags, 3 instances, 1 features, 1-2 instances a bag, float64), array([1, 0]))
    """
    path = Path(path)
    keys = long_columns(path, bags, y)
    _refuse_empty_texts(path, keys)
    if delimiter is None:
        delimiter = "\t" if ".tsv" in path.suffixes else ","
    with write_text(path) as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow([*keys, *written_feature_names(path, bags, keys)])
        for start, block in dense_blocks(bags):
            columns = [values[start : start + len(block)].tolist() for values in keys.values()]
            rows = zip(*columns, block.tolist(), strict=True)
            writer.writerows([*key, *numbers] for *key, numbers in rows)


def _refuse_empty_texts(path: Path, keys: dict[str, Any]) -> None:
    for name, values in keys.items():
        if values.dtype.kind in "UO" and any(v == "" for v in values.tolist()):
            raise FormatError(path, f"an empty text in {name} cannot be written as CSV.")
