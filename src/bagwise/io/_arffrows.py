"""The rows inside a relational ARFF value: numbers, nominal values as 0/1 columns, sparse rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.io._arfftext import Attribute, split_fields
from bagwise.io._assemble import ROLES
from bagwise.io._csr import small_csr
from bagwise.io._grow import typed_column
from bagwise.io._tabletext import is_number
from bagwise.io.errors import FormatError, MixedTypeError

_ATTRIBUTES = {ROLES[role]: role for role in ("instance_labels", "instance_ids")}


class InnerRows:
    """Collects the instances of bag after bag."""

    def __init__(self, path: Path, attributes: list[Attribute]) -> None:
        self.path, self._declared = path, attributes
        self._kept = {j: a.name for j, a in enumerate(attributes) if a.name in _ATTRIBUTES}
        self._texts: dict[int, list[str]] = {j: [] for j in self._kept}
        self._columns: list[int] = []  # first column of each attribute
        self.names: list[str] = []
        for j, attribute in enumerate(attributes):
            self._columns.append(len(self.names))
            if j not in self._kept:
                self.names += self._column_names(attribute)
        if not self.names:
            raise FormatError(path, "the relational attribute declares no features.")
        self._is_plain = len(self.names) == len(attributes)
        self._left_out = {
            j: a.values[0] if a.kind == "nominal" else "0"
            for j, a in enumerate(attributes)
            if a.kind == "nominal" or j in self._kept
        }
        self._blocks: list[Any] = []

    def _column_names(self, attribute: Attribute) -> list[str]:
        if attribute.kind == "numeric":
            return [attribute.name]
        if attribute.kind == "nominal":
            return [f"{attribute.name}={value}" for value in attribute.values]
        raise MixedTypeError(
            self.path,
            f"is of type {attribute.kind} inside the bag, expected numeric or a list of values.",
            column=attribute.name,
        )

    def take(self, text: str, line: int) -> int:
        """Take the instances of one bag; return how many they are."""
        rows = [row for row in text.split("\n") if row.strip()]
        if not rows:
            raise FormatError(self.path, "the bag has no instances. Drop it.", line)
        if rows[0].lstrip().startswith("{"):
            block = self._sparse(rows, line)
        else:
            block = self._fast(rows) if self._is_plain else None
            if block is None:
                block = np.array([self._row(row, line, k + 1) for k, row in enumerate(rows)])
        self._blocks.append(block)
        return len(rows)

    def _fast(self, rows: list[str]) -> Any:
        """Return plain numbers; None where there is anything else, for the careful way."""
        fields = [row.split(",") for row in rows]
        if any(len(f) != len(self.names) for f in fields):
            return None
        try:
            return np.array([list(map(float, f)) for f in fields])
        except ValueError:
            return None

    def _row(self, text: str, line: int, number: int) -> list[float]:
        fields = split_fields(self.path, text, line)
        if len(fields) != len(self._declared):
            raise FormatError(
                self.path,
                f"instance {number} of the bag has {len(fields)} values, {len(self._declared)} are "
                "declared.",
                line,
            )
        values: list[float] = []
        for j, field in enumerate(fields):
            if j in self._kept:
                self._texts[j].append(field)
            else:
                values += self._encode(self._declared[j], field, line, number)
        return values

    def _sparse(self, rows: list[str], line: int) -> Any:
        data: list[float] = []
        indices: list[int] = []
        pointers = [0]
        for number, row in enumerate(rows, start=1):
            for j, field in sorted(self._sparse_fields(row, line, number).items()):
                if j in self._kept:
                    self._texts[j].append(field)
                    continue
                values = self._encode(self._declared[j], field, line, number)
                is_nominal = self._declared[j].kind == "nominal"
                for k, value in enumerate(values):
                    if value or not is_nominal:
                        data.append(value)
                        indices.append(self._columns[j] + k)
            pointers.append(len(data))
        return small_csr(data, indices, pointers, (len(rows), len(self.names)))

    def _sparse_fields(self, text: str, line: int, number: int) -> dict[int, str]:
        """Return what a sparse row holds; a nominal value it leaves out is the first declared."""
        inside = text.strip()
        if not (inside.startswith("{") and inside.endswith("}")):
            raise FormatError(self.path, f"instance {number}: expected a sparse row {{...}}.", line)
        fields = dict(self._left_out)
        tokens = split_fields(self.path, inside[1:-1], line)
        if len(tokens) % 2:
            raise FormatError(self.path, f"instance {number}: an index has no value.", line)
        for index, value in zip(tokens[::2], tokens[1::2], strict=True):
            if not index.isdigit() or int(index) >= len(self._declared):
                raise FormatError(
                    self.path,
                    f"instance {number}: index {index!r}, expected 0 to {len(self._declared) - 1}.",
                    line,
                )
            fields[int(index)] = value
        return fields

    def _encode(self, attribute: Attribute, field: str, line: int, number: int) -> list[float]:
        if attribute.kind == "nominal":
            if field == "?":
                return [np.nan] * len(attribute.values)
            if field not in attribute.values:
                raise MixedTypeError(
                    self.path,
                    f"instance {number}: {field!r} is not among {attribute.values[:10]}.",
                    line,
                    attribute.name,
                )
            return [float(field == value) for value in attribute.values]
        if field == "?":
            return [np.nan]
        if not is_number(field):
            raise MixedTypeError(
                self.path, f"instance {number}: {field!r} is not a number.", line, attribute.name
            )
        return [float(field)]

    def finish(self) -> tuple[Any, dict[str, Any]]:
        """Return all instances and their attributes."""
        attributes: dict[str, Any] = {"feature_names": self.names}
        for j, name in self._kept.items():
            role = _ATTRIBUTES[name]
            attributes[role] = typed_column(self._texts[j], exact_text=role == "instance_ids")
        if any(sp.issparse(block) for block in self._blocks):
            blocks = [sp.csr_array(block) for block in self._blocks]
            return sp.vstack(blocks, format="csr"), attributes
        return np.concatenate(self._blocks), attributes
