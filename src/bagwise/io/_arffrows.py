"""The instances inside a relational ARFF value: dense or sparse rows, nominal values as 0/1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.bags.arrays import small_csr
from bagwise.bags.segments import offsets_of
from bagwise.errors import list_names
from bagwise.io._arfftext import Attribute, split_fields
from bagwise.io._assemble import COORDS, ROLES, ignore_parents, stack
from bagwise.io._grow import is_number, type_column
from bagwise.io.errors import FormatError, MixedTypeError

_ATTRIBUTES = {ROLES[role]: role for role in ("instance_labels", "instance_ids", "parents")}
_ATTRIBUTES |= {name: name for name in COORDS}  # if both are there


class InnerRows:
    """Collects the instances of bag after bag."""

    def __init__(self, path: Path, attributes: list[Attribute]) -> None:
        self.path, self._declared = path, attributes
        features = set() if {*COORDS} <= {a.name for a in attributes} else {*COORDS}
        known = _ATTRIBUTES.keys() - features
        self._texts: dict[int, list[str]] = {
            j: [] for j, a in enumerate(attributes) if a.name in known
        }
        self._starts: list[int] = []  # first column of each attribute
        self.names: list[str] = []
        for j, attribute in enumerate(attributes):
            self._starts.append(len(self.names))
            if j not in self._texts:
                self.names += self._column_names(attribute)
        if not self.names:
            raise FormatError(path, "the relational attribute declares no features.")
        self._is_plain = not self._texts and all(a.kind == "numeric" for a in attributes)
        self._blocks: list[Any] = []

    def _column_names(self, attribute: Attribute) -> list[str]:
        if attribute.kind == "numeric":
            return [attribute.name]
        if attribute.kind == "nominal":
            return [f"{attribute.name}={value}" for value in attribute.values]
        problem = f"has type {attribute.kind} inside the bag, expected numeric or a list of values."
        raise MixedTypeError(self.path, problem, column=attribute.name)

    def take(self, text: str, line: int) -> int:
        """Add the instances of one bag; return their number."""
        rows = [row.strip() for row in text.split("\n") if row.strip()]
        if not rows:
            raise FormatError(self.path, "the bag has no instances. Drop it.", line)
        is_sparse = rows[0].startswith("{")
        block = self._plain_numbers(rows) if self._is_plain and not is_sparse else None
        if block is None:
            fields_of = self._sparse_fields if is_sparse else self._dense_fields
            entries = [
                self._entries(fields_of(row, line, k), line, k) for k, row in enumerate(rows, 1)
            ]
            block = self._matrix(entries, is_sparse)
        self._blocks.append(block)
        return len(rows)

    def _plain_numbers(self, rows: list[str]) -> Any:
        """Return rows of numbers; None if they contain anything else."""
        fields = [row.split(",") for row in rows]
        if any(len(f) != len(self.names) for f in fields):
            return None
        try:
            return np.array([list(map(float, f)) for f in fields])
        except ValueError:
            return None

    def _dense_fields(self, row: str, line: int, number: int) -> dict[int, str]:
        fields = split_fields(self.path, row, line)
        if len(fields) != len(self._declared):
            problem = f"{len(fields)} values, expected {len(self._declared)} as declared."
            raise FormatError(self.path, f"instance {number}: {problem}", line)
        return dict(enumerate(fields))

    def _sparse_fields(self, row: str, line: int, number: int) -> dict[int, str]:
        """Return the values of a sparse row; a nominal value left out is the first declared."""
        if not (row.startswith("{") and row.endswith("}")):
            raise FormatError(self.path, f"instance {number}: expected a sparse row {{...}}.", line)
        fields = dict.fromkeys(self._texts, "0")
        fields |= {j: a.values[0] for j, a in enumerate(self._declared) if a.kind == "nominal"}
        tokens = split_fields(self.path, row[1:-1], line)
        if len(tokens) % 2:
            raise FormatError(self.path, f"instance {number}: an index has no value.", line)
        for index, value in zip(tokens[::2], tokens[1::2], strict=True):
            if not index.isdigit() or int(index) >= len(self._declared):
                problem = f"index {index!r}, expected 0 to {len(self._declared) - 1}."
                raise FormatError(self.path, f"instance {number}: {problem}", line)
            fields[int(index)] = value
        return fields

    def _entries(self, fields: dict[int, str], line: int, number: int) -> dict[int, float]:
        """Return the features of an instance by column; texts of its attributes are kept."""
        entries: dict[int, float] = {}
        for j, field in fields.items():
            if j in self._texts:
                self._texts[j].append(field)
            else:
                entries |= self._encode(j, field, line, number)
        return entries

    def _encode(self, j: int, field: str, line: int, number: int) -> dict[int, float]:
        attribute, start = self._declared[j], self._starts[j]
        if attribute.kind == "nominal":
            if field == "?":
                return {start + k: np.nan for k in range(len(attribute.values))}
            if field in attribute.values:
                return {start + attribute.values.index(field): 1.0}
            problem = f"is not among the declared values {list_names(attribute.values)}"
        elif field == "?" or is_number(field):
            return {start: np.nan if field == "?" else float(field)}
        else:
            problem = "is not a number"
        problem = f"instance {number}: {field!r} {problem}."
        raise MixedTypeError(self.path, problem, line, attribute.name)

    def _matrix(self, entries: list[dict[int, float]], is_sparse: bool) -> Any:
        shape = (len(entries), len(self.names))
        if is_sparse:
            data = [value for row in entries for value in row.values()]
            indices = [column for row in entries for column in row]
            return small_csr(data, indices, offsets_of([len(row) for row in entries]), shape)
        block = np.zeros(shape)
        for i, row in enumerate(entries):
            block[i, list(row)] = list(row.values())
        return block

    def finish(self) -> tuple[Any, dict[str, Any]]:
        """Return all instances and their attributes."""
        attributes: dict[str, Any] = {"feature_names": self.names}
        for j, texts in self._texts.items():
            role = _ATTRIBUTES[self._declared[j].name]
            attributes[role] = type_column(texts, exact_text=role == "instance_ids")
        attributes = stack(attributes)
        ignore_parents(attributes)
        if any(sp.issparse(block) for block in self._blocks):
            blocks = [sp.csr_array(block) for block in self._blocks]
            return sp.vstack(blocks, format="csr"), attributes
        return np.concatenate(self._blocks), attributes
