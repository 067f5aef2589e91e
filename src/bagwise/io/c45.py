"""The C4.5 files of the musk data: NAME.data and NAME.names.

A line of the data is one instance: bag (molecule), instance (conformation), features and class,
ended by a period. If there is a file ``NAME.names`` beside it, it names the columns. Text after
``|`` is a comment. The names that bagwise writes have the CRC-32 of the data in a comment: a kill
between the renames of the two files is an error when they are read, not wrong names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.bags import Bags
from bagwise.bags.frames import long_columns
from bagwise.io import _flatten as columns
from bagwise.io._assemble import lay_out
from bagwise.io._columns import Column, LabeledBags, reads, writes
from bagwise.io._files import as_text, crc32_of, open_source, replacing, sync
from bagwise.io.errors import CorruptFileError, FormatError
from bagwise.io.tables import Row, check_width, read_rows

_SPECIAL = re.compile(r"[,|:\n\r]|^\s|\s$|\.$|^$")
_OF_DATA = "| CRC-32 of {}: "


@reads(
    ".data",
    path="The ``.data`` file (or the ``.names`` file beside it), plain or gzip.",
    bag="Column of the bag ids; None: the first.",
    label="Column of the labels; None: the last.",
    instance_ids="Column of the ids of instances; None: the second (the conformation).",
)
def read_c45(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    instance_ids: Column | None = None,
    regroup: bool = False,
) -> LabeledBags:
    """Read C4.5 data, such as the musk files ``clean1.data`` and ``clean2.data``."""
    path = Path(path)
    path = path.with_suffix(".data") if path.suffix == ".names" else path
    with open_source(path) as file:
        _, first = next(_rows(path, file), (0, []))
    if not first:
        raise FormatError(path, "is empty. Expected one line per instance.")
    layout = lay_out(
        *(path, _column_names(path, len(first))),
        bag=0 if bag is None else bag,
        label=len(first) - 1 if label is None else label,
        instance_ids=1 if instance_ids is None else instance_ids,
        regroup=regroup,
    )
    return read_rows(path, partial(_rows, width=len(first)), layout)


def _rows(path: Path, file: Any, width: int | None = None) -> Iterator[Row]:
    """Yield line number and fields of every instance; a given width is enforced."""
    bodies = ((line, text.partition("|")[0].strip()) for line, text in enumerate(file, start=1))
    bodies = ((line, body) for line, body in bodies if body)
    for line, body in bodies:
        fields = [field.strip() for field in body.removesuffix(".").split(",")]
        if width is not None:
            check_width(path, line, fields, width, bodies)
        yield line, fields


def _names_file(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".gz")).with_suffix(".names")


def _column_names(data: Path, width: int) -> list[str]:
    path = _names_file(data)
    if not path.exists():
        return ["bag", "instance", *(f"f{j + 1}" for j in range(width - 3)), "label"]
    with open_source(path) as file:
        texts = list(file)
    _refuse_other_data(path, texts[:1], data)
    lines = [text.partition("|")[0].strip() for text in texts]
    declared = [line.partition(":")[0].strip() for line in lines if ":" in line]
    if len(declared) != width - 1:
        expected = f"{width - 1} and the class, as in the data"
        raise FormatError(path, f"declares {len(declared)} columns, expected {expected}.")
    return [*declared, "class"]


def _refuse_other_data(path: Path, comment: list[str], data: Path) -> None:
    """Refuse names whose comment has the checksum of other data than those beside them."""
    stated = [text.strip() for text in comment if text.startswith(_OF_DATA.format(data.name))]
    if stated and stated != [_of_data(data.name, data)]:
        problem = f"was not written together with {data.name}: its checksum is another one."
        remedy = "Write both again, or delete the first line here if you changed the data."
        raise CorruptFileError(path, f"{problem} {remedy}")


def _of_data(name: str, content: Path) -> str:
    with content.open("rb") as file:
        return f"{_OF_DATA.format(name)}{crc32_of(file):08x}"


@writes(
    ".data",
    path="The ``.data`` file to write; the ``.names`` file is written beside it.",
    bags="The bags; ids must not contain commas, colons, vertical bars or line breaks.",
)
def write_c45(path: str | Path, bags: Bags, y: Any) -> None:
    """Write NAME.data and NAME.names."""
    path = Path(path)
    columns.warn_left_out(path, bags, columns.NOT_IN_LINES)
    keys = long_columns(bags, np.asarray(y))
    keys["instance"] = np.asarray(bags.instance_ids)
    written = {name: keys[name] for name in ("bag", "instance", "label")}
    columns.refuse_special(path, written, _SPECIAL, "in C4.5 files")
    names = columns.name_features(path, bags, ["bag", "instance", "class"])
    # Both are complete before the first one is renamed: the names, which tell if the other is not.
    with replacing(path) as data, replacing(_names_file(path)) as partial:
        with data.open("wb") as raw, as_text(raw, path.suffix == ".gz") as file:
            for name, instance, label, *numbers in columns.long_rows(bags, written):
                file.write(",".join(map(str, [name, instance, *numbers, label])) + ".\n")
        sync(data)
        with partial.open("w", encoding="utf-8", newline="") as file:
            classes = dict.fromkeys(map(str, np.asarray(y).tolist()))
            file.write(f"{_of_data(path.name, data)}\n{','.join(classes)}.\n\n")
            file.write("bag: discrete.\ninstance: discrete.\n")
            file.writelines(f"{name}: continuous.\n" for name in names)
