"""The C4.5 files of the musk data: NAME.data and NAME.names.

A line of the data is one instance: bag (molecule), instance (conformation), features, class, with
a full stop at its end. ``NAME.names``, where it lies beside it, names the columns; text after ``|``
is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.bags import Bags
from bagwise.io._assemble import Column, Labelled, Layout, assemble, lay_out
from bagwise.io._flatten import (
    checked_labels,
    dense_blocks,
    long_columns,
    warn_left_out,
    written_feature_names,
)
from bagwise.io._grow import GrowingRows, TextColumn
from bagwise.io._source import open_source, write_text
from bagwise.io._tabletext import parse_numbers
from bagwise.io.errors import FormatError, LabelError, TruncatedFileError

__all__ = ["read_c45", "write_c45"]

_SPECIAL = re.compile(r"[,|:\n\r]|^\s|\s$|\.$|^$")
_BLOCK_ROWS = 4096


def read_c45(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    instance_ids: Column | None = None,
    regroup: bool = False,
    progress: bool | None = None,
) -> Labelled:
    """Read C4.5 data, such as the musk files ``clean1.data`` and ``clean2.data``.

    Parameters
    ----------
    path : str or Path
        The ``.data`` file (or the ``.names`` file beside it), plain or gzip.
    bag, label, instance_ids : str or int, default=None
        The columns; None: the first, the last and the second.
    regroup : bool, default=False
        Accept a file whose bags are scattered over it.
    progress : bool, default=None
        Show a progress bar, as in `read_csv`.

    Returns
    -------
    bags : Bags
        The bags; instance ids are the conformations' names.
    y : ndarray of shape (n_bags,)
        Their labels.

    Examples
    --------
    >>> from bagwise.io import read_c45
    >>> path = getfixture("tmp_path") / "clean.data"
    >>> _ = path.write_text("MUSK-1,1_1,42,-198,1.\\nMUSK-1,1_2,42,-191,1.\\nNON-2,2_1,7,8,0.\\n")
    >>> bags, y = read_c45(path)
    >>> bags.ids, bags.instance_ids[0], y
    (array(['MUSK-1', 'NON-2'], dtype='<U6'), np.str_('1_1'), array([1, 0]))
    """
    path = Path(path)
    path = path.with_suffix(".data") if path.suffix == ".names" else path
    names_file = path.with_name(path.name.removesuffix(".gz")).with_suffix(".names")
    with open_source(path, progress) as source:
        lines = _rows(path, source.text())
        _, first = next(lines, (0, []))
        if not first:
            raise FormatError(path, "is empty. Expected one line an instance.")
        names = _column_names(names_file, len(first))
        roles = {"bag": bag, "label": label, "instance_ids": instance_ids}
        for role, default in (("bag", 0), ("label", -1), ("instance_ids", 1)):
            roles[role] = default if roles[role] is None else roles[role]
        layout = lay_out(path, names, roles, None)
    X, keys, line_numbers = _parse(path, layout, progress)
    columns: dict[str, Any] = {r: keys[r].coded(exact_text=r == "bag") for r in ("bag", "label")}
    columns["instance_ids"] = keys["instance_ids"].coded(exact_text=True).at(slice(None))
    features = layout.feature_names
    return assemble(path, X, columns, features, lambda r: line_numbers[r], regroup=regroup)


def _rows(path: Path, file: Any) -> Iterator[tuple[int, list[str]]]:
    for line, text in enumerate(file, start=1):
        text = text.partition("|")[0].strip()
        if text:
            fields = [field.strip() for field in text.removesuffix(".").split(",")]
            yield line, fields


def _parse(
    path: Path, layout: Layout, progress: bool | None
) -> tuple[Any, dict[str, TextColumn], list[int]]:
    rows = GrowingRows(len(layout.features), np.float64)
    keys = {key: TextColumn() for key in layout.keys}
    all_lines: list[int] = []
    with open_source(path, progress) as source:
        for lines, block in _blocks(path, _rows(path, source.text()), len(layout.names)):
            numbers = parse_numbers(path, block, lines, layout)
            rows.reserve(len(block), source.advance())[:] = numbers
            for key, j in layout.keys.items():
                keys[key].extend([row[j] for row in block])
            all_lines += lines
    return rows.finish(), keys, all_lines


def _blocks(
    path: Path, rows: Iterator[tuple[int, list[str]]], width: int
) -> Iterator[tuple[list[int], list[list[str]]]]:
    lines: list[int] = []
    block: list[list[str]] = []
    for line, fields in rows:
        if len(fields) != width:
            is_last = next(rows, None) is None and len(fields) < width
            kind = TruncatedFileError if is_last else FormatError
            raise kind(path, f"{len(fields)} fields, expected {width}.", line)
        if not fields[-1]:
            raise LabelError(path, "the label is missing. Expected one on every line.", line)
        lines.append(line)
        block.append(fields)
        if len(block) == _BLOCK_ROWS:
            yield lines, block
            lines, block = [], []
    if block:
        yield lines, block


def _column_names(path: Path, width: int) -> list[str]:
    if not path.exists():
        return ["bag", "instance", *(f"f{j + 1}" for j in range(width - 3)), "label"]
    with open_source(path) as source:
        lines = [text.partition("|")[0].strip() for text in source.text()]
    declared = [line.partition(":")[0].strip() for line in lines if ":" in line]
    if len(declared) != width - 1:
        raise FormatError(
            path, f"declares {len(declared)} columns, the data have {width - 1} and the class."
        )
    return [*declared, "class"]


def write_c45(path: str | Path, bags: Bags, y: Any) -> None:
    """Write NAME.data and NAME.names.

    Parameters
    ----------
    path : str or Path
        The ``.data`` file to write; the names go beside it.
    bags : Bags
        The bags; ids and instance ids must be texts without commas, colons, bars and line breaks.
    y : array-like of shape (n_bags,)
        Their labels.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import write_c45
    >>> path = getfixture("tmp_path") / "bags.data"
    >>> write_c45(path, Bags.from_list([[[1.5], [2.0]], [[3.0]]], ids=["a", "b"]), [1, 0])
    >>> print(path.read_text())
    a,0,1.5,1.
    a,1,2.0,1.
    b,2,3.0,0.
    <BLANKLINE>
    """
    path = Path(path)
    warn_left_out(path, bags, ("groups", "priors", "bag_features", "instance_labels"))
    keys = long_columns(path, bags, checked_labels(bags, np.asarray(y)))
    keys["instance"] = np.asarray(bags.instance_ids)
    for name in ("bag", "instance", "label"):
        _refuse_special(path, name, keys[name])
    names = written_feature_names(path, bags, ["bag", "instance", "class"])
    names_file = path.with_name(path.name.removesuffix(".gz")).with_suffix(".names")
    with write_text(names_file) as file:
        file.write(",".join(dict.fromkeys(map(str, np.asarray(y).tolist()))) + ".\n\n")
        for name, kind in [("bag", "discrete"), ("instance", "discrete")]:
            file.write(f"{name}: {kind}.\n")
        file.writelines(f"{name}: continuous.\n" for name in names)
    with write_text(path) as file:
        for start, block in dense_blocks(bags):
            rows = slice(start, start + len(block))
            triples = zip(
                *(keys[k][rows].tolist() for k in ("bag", "instance", "label")), strict=True
            )
            for (bag, instance, label), numbers in zip(triples, block.tolist(), strict=True):
                file.write(",".join(map(str, [bag, instance, *numbers, label])) + ".\n")


def _refuse_special(path: Path, name: str, values: Any) -> None:
    for value in dict.fromkeys(values.tolist()):
        if _SPECIAL.search(str(value)):
            raise FormatError(path, f"the {name} {value!r} cannot be written in C4.5 files.")
