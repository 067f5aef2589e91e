"""CSV and TSV with one row per instance: a column for its bag, one for the bag's label.

Two engines read the same syntax and give the same bags: pyarrow if it is installed (fast), and
Python's ``csv`` (always available). If pyarrow refuses a file, the ``csv`` engine decides: it reads
the file, or names the line and the column of the error. Both read block by block into one growing
matrix, so that reading takes little more memory than the matrix itself.
"""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from bagwise.bags import Bags
from bagwise.io._assemble import (
    Column,
    LabeledBags,
    Layout,
    assemble,
    by_role,
    lay_out,
    reads,
    round_trip,
    writes,
)
from bagwise.io._flatten import dense_blocks, long_columns, written_feature_names
from bagwise.io._grow import TextColumn, typed_columns
from bagwise.io._source import open_source, write_text
from bagwise.io._tabletext import TableText, parse_rows, sniff
from bagwise.io.errors import FormatError


@reads(
    header=("Whether the first line contains names; None: it does unless it contains a number."),
    delimiter=(
        "Field separator; None: the most frequent of comma, tab and semicolon in the first line."
    ),
    decimal=('{".", ","}', "Decimal separator of the features."),
    dtype="Data type of the instances.",
    engine=(
        '{"auto", "pyarrow", "csv"}',
        ('The parser; "auto" takes pyarrow if it is installed. The result is the same.'),
    ),
)
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
    drop: Sequence[Column] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    dtype: DTypeLike = np.float64,
    regroup: bool = False,
    engine: str = "auto",
    progress: bool | None = None,
) -> LabeledBags:
    """Read a CSV or TSV file, plain or gzip, with one row per instance.

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
    named = by_role(bag, label, instance_labels, groups, priors, instance_ids)
    if decimal not in (".", ",") or decimal == text.delimiter:
        separated = f" The fields are separated by {text.delimiter!r}."
        raise ValueError(f"decimal must be '.' or ',', got {decimal!r}.{separated}")
    has_header = text.header_lines > 0
    layout = lay_out(
        path, text.names, named, features, drop=drop, has_header=has_header, decimal=decimal
    )
    X, keys = _parse(path, text, layout, np.dtype(dtype), engine, progress)
    place = partial(text.line_of_row, path)
    columns = typed_columns(path, keys, place)
    return assemble(path, X, columns, layout.feature_names, place, regroup=regroup)


def _parse(
    path: Path, text: TableText, layout: Layout, dtype: np.dtype, engine: str, progress: Any
) -> tuple[Any, dict[str, TextColumn]]:
    if engine not in ("auto", "pyarrow", "csv"):
        raise ValueError(f"engine must be 'auto', 'pyarrow' or 'csv', got {engine!r}.")
    if engine == "pyarrow" or (engine == "auto" and importlib.util.find_spec("pyarrow")):
        from bagwise.io._arrowcsv import Refused, parse_with_arrow

        try:
            return parse_with_arrow(path, text, layout, dtype, progress)
        except Refused:
            pass  # the csv engine reads it, or says what is wrong and where
    with open_source(path, progress) as source:
        X, keys = parse_rows(path, text.rows(path, source.text()), layout, dtype, source)
    if len(X) == 0:
        raise FormatError(path, "holds no rows. Expected one row per instance.")
    return X, keys


@round_trip(".csv.gz")
@writes(delimiter="Field separator; None: tab for ``.tsv``, comma otherwise.")
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
        writer.writerow([*keys, *written_feature_names(path, bags, keys)])
        for start, block in dense_blocks(bags):
            columns = [values[start : start + len(block)].tolist() for values in keys.values()]
            rows = zip(*columns, block.tolist(), strict=True)
            writer.writerows([*key, *numbers] for *key, numbers in rows)


def _refuse_empty_texts(path: Path, keys: dict[str, Any]) -> None:
    for name, values in keys.items():
        if values.dtype.kind in "UO" and any(v == "" for v in values.tolist()):
            raise FormatError(path, f"an empty text in {name} cannot be written as CSV.")
