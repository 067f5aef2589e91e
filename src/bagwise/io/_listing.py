"""What the two formats with one file per bag share: the CSV that lists them, and all their rows."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.bags import Bags
from bagwise.errors import Argument, Message
from bagwise.io._assemble import refuse_duplicates, refuse_shared
from bagwise.io._atomic import replacing
from bagwise.io._bagarrays import save_bag
from bagwise.io._flatten import instance_columns
from bagwise.io._grow import GrowingRows
from bagwise.io._source import open_source, write_text
from bagwise.io._tabletext import sniff
from bagwise.io.errors import FormatError, MixedTypeError, ShuffledBagError
from bagwise.rowstores.files import FileRows, FileSpan


def read_listing(
    path: Path, choose_roles: Callable[[list[str]], dict[str, int]]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line and the fields by role of every bag; a second line of a bag is an error."""
    text = sniff(path, header=True)
    refuse_duplicates(path, text.names)
    roles = choose_roles(text.names)
    refuse_shared(path, text.names, roles)
    lines: dict[str, int] = {}
    with open_source(path) as source:
        for line, row in text.rows(path, source.text()):
            fields = {role: row[j] for role, j in roles.items()}
            name = fields.get("bag", fields.get("file", "")).strip()
            if lines.setdefault(name, line) != line:
                raise ShuffledBagError(path, f"{name!r} is on line {lines[name]} already.", line)
            yield line, fields


class BagStack:
    """The rows of all files, which must have the same features and data type.

    Memory maps stay in their files, and are opened when their rows are needed.
    """

    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._rows: GrowingRows | None = None
        self._parts: list[Any] = []  # where the first file is mapped: all files
        self._extras: list[dict[str, Any]] = []
        self.sizes: list[int] = []

    def add(self, file: Path, values: Any, extra: dict[str, Any], fraction: float) -> None:
        """Append one bag; ``fraction`` of the bags have been read with it."""
        own = values.dtype if values.dtype.kind == "f" else np.float64
        width, kind, known = values.shape[1], np.dtype(self._dtype or own), sorted(extra)
        if self._rows is None:
            self._rows = GrowingRows(file, width, kind)
            self._first = (file.name, width, kind, known)
        first, first_width, first_kind, first_known = self._first
        if width != first_width:
            raise FormatError(file, f"has {width} features, {first} has {first_width}.")
        if kind != first_kind:
            both = f"holds {kind}, {first} holds {first_kind}. Choose one type with "
            raise MixedTypeError(file, Message(both, Argument("dtype"), " for all files."))
        if known != first_known:
            raise FormatError(file, f"holds {known}, {first} holds {first_known}.")
        if _can_stay(values, kind) and len(self._parts) == len(self.sizes):
            self._parts.append(FileSpan.of(values))
        elif self._parts:
            self._parts.append(np.asarray(values, kind))
        else:
            self._rows.reserve(len(values), fraction)[:] = values
        self._extras.append(extra)
        self.sizes.append(len(values))

    def finish(self, is_finite: bool = False) -> tuple[Any, dict[str, Any]]:
        """Return all rows and their attributes; ``is_finite`` says what is known of mapped ones."""
        assert self._rows is not None  # a listing is never empty
        joined = {n: np.concatenate([e[n] for e in self._extras]) for n in self._extras[0]}
        rows = FileRows(self._parts, is_finite) if self._parts else self._rows.finish()
        return rows, joined


def _can_stay(values: Any, kind: np.dtype) -> bool:
    """Return whether a file's rows can stay in it."""
    mapped = isinstance(values, np.memmap) and values.flags.c_contiguous
    return mapped and values.dtype.newbyteorder("=") == kind.newbyteorder("=")


def refuse_full(path: Path) -> None:
    """Refuse to write into a folder that contains anything."""
    if path.exists() and any(path.iterdir()):
        raise FileExistsError(f"The folder {path} is not empty: write into a new one.")


def write_files(
    path: Path,
    bags: Bags,
    files: list[str],
    listing: tuple[str, dict[str, Any]],
    *,
    with_instances: bool = True,
    with_patch_size: bool = False,
) -> None:
    """Write a folder of one file per bag, and a CSV of a name with the given columns."""
    of_rows = instance_columns(bags.replace(coords=None)) if with_instances else {}
    if with_instances and bags.coords is not None:
        of_rows["coords"] = bags.coords
    sizes = bags.patch_size if with_patch_size else None
    name, columns = listing
    with replacing(path) as partial:
        (partial / files[0]).parent.mkdir(parents=True)
        with write_text(partial / name) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        for i, stored in enumerate(files):
            of_bag = {n: v[bags.offsets[i] : bags.offsets[i + 1]] for n, v in of_rows.items()}
            size = None if sizes is None else float(sizes[i])
            save_bag(partial / stored, bags[i], of_bag, patch_size=size)
