"""CSV and TSV with one row per instance: a column for its bag, one for the bag's label.

A file is read block by block into one growing matrix, so that reading takes little more memory than
the matrix itself.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import DTypeLike

from bagwise.bags import Bags
from bagwise.io._assemble import Column, Columns, LabeledBags, lay_out, reads, writes
from bagwise.io._flatten import dense_blocks, long_columns, name_features
from bagwise.io._source import write_text
from bagwise.io._tabletext import read_rows, sniff
from bagwise.io.errors import FormatError


@reads(
    ".csv",
    header="Whether the first line contains names; None: it does unless it contains a number.",
    delimiter="Field separator; None: the most frequent of comma, tab and semicolon in the first "
    "line.",
    decimal=('{".", ","}', "Decimal separator of the features."),
    dtype="Data type of the instances.",
)
def read_csv(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    dtype: DTypeLike = np.float64,
    **columns: Unpack[Columns],
) -> LabeledBags:
    """Read a CSV or TSV file, plain or gzip, with one row per instance."""
    path = Path(path)
    text = sniff(path, header, delimiter)
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
    return read_rows(path, text.rows, layout, np.dtype(dtype))


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
        for start, block in dense_blocks(bags):
            columns = [values[start : start + len(block)].tolist() for values in keys.values()]
            rows = zip(*columns, block.tolist(), strict=True)
            writer.writerows([*key, *numbers] for *key, numbers in rows)


def _refuse_empty_texts(path: Path, keys: dict[str, Any]) -> None:
    for name, values in keys.items():
        if values.dtype.kind in "UO" and any(v == "" for v in values.tolist()):
            raise FormatError(path, f"an empty text in {name} cannot be written as CSV.")
