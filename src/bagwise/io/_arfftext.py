"""The syntax of ARFF: fields, escapes, declarations, and the instances in a relational value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.bags.arrays import small_csr
from bagwise.bags.segments import offsets_of
from bagwise.errors import list_names
from bagwise.io._assemble import COORDS, OF_INSTANCES, ROLES, ignore_parents, stack
from bagwise.io.errors import (
    DuplicateColumnError,
    FormatError,
    MixedTypeError,
    TruncatedFileError,
)
from bagwise.io.tables import is_number, parse_all, type_column

# A field is quoted with escapes, or bare; commas and white space separate fields.
_FIELD = re.compile(
    r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,\s'"{}]+))\s*(,|$|(?=\s))"""
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z0-9_.+:/-]+")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_NUMERIC = ("numeric", "real", "integer")
_ATTRIBUTES = {ROLES[role]: role for role in (*OF_INSTANCES, "parents")}
_ATTRIBUTES |= {name: name for name in COORDS}  # if both are there


@dataclass
class Attribute:
    """A declared attribute: ``values`` if it is nominal, ``inner`` attributes if relational."""

    name: str
    kind: str
    values: list[str] = field(default_factory=list)
    inner: list[Attribute] = field(default_factory=list)

    def check(self, path: Path, text: str, place: int | str, error: type[FormatError]) -> None:
        """Refuse a value that is not among the declared ones."""
        if self.kind == "nominal" and text not in self.values:
            problem = f"{text!r} is not among the declared values {list_names(self.values)}."
            raise error(path, problem, place, self.name)


def unescape(text: str) -> str:
    """Undo backslash escapes."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(
        lambda m: chr(int(m[1][1:], 16)) if len(m[1]) == 5 else _ESCAPED.get(m[1], m[1]), text
    )


def quote(text: str) -> str:
    """Quote a text if necessary, as WEKA does."""
    if _PLAIN.fullmatch(text):
        return text
    for plain, escape in (("\\", "\\\\"), ("'", "\\'"), ('"', '\\"'), ("%", "\\%")):
        text = text.replace(plain, escape)
    for letter, character in _ESCAPED.items():
        text = text.replace(character, f"\\{letter}")
    return f"'{text}'"


def split_fields(path: Path, text: str, line: int | str) -> list[str]:
    """Split a row into its unescaped fields."""
    fields, position = [], 0
    text = text.strip()
    while position < len(text):
        match = _FIELD.match(text, position)
        if match is None:
            rest = text[position : position + 30]
            raise FormatError(path, f"cannot be split into fields at {rest!r}.", line)
        single, double, bare, _ = match.groups()
        inside = single if single is not None else double
        fields.append(unescape(inside) if inside is not None else bare)
        position = match.end()
    return fields


def check_count(path: Path, fields: list[str], n_declared: int, place: int | str) -> None:
    """Refuse a row with too few or too many values."""
    if len(fields) != n_declared:
        problem = f"{len(fields)} values, expected {n_declared} as declared."
        raise FormatError(path, problem, place)


def is_open_quote(text: str) -> bool:
    """Return whether a quote is opened and not closed."""
    bare = re.sub(r"\\.", "", text)
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", bare)
    return "'" in bare or '"' in bare


def read_header(path: Path, lines: Iterator[tuple[int, str]]) -> list[Attribute]:
    """Return the declared attributes, from the lines up to ``@data``."""
    levels: list[list[Attribute]] = [[]]  # of the file, and of open relational attributes
    line = 0
    for line, text in lines:
        keyword, rest = [*text.strip().split(None, 1), "", ""][:2]
        match keyword.lower():
            case "@attribute":
                attribute = _declare(path, rest, line)
                if any(other.name == attribute.name for other in levels[-1]):
                    problem = "is declared twice. Rename one."
                    raise DuplicateColumnError(path, problem, line, attribute.name)
                levels[-1].append(attribute)
                if attribute.kind == "relational":
                    levels.append(attribute.inner)
            case "@end":
                if len(levels) == 1:
                    raise FormatError(path, "@end without an open relational attribute.", line)
                levels.pop()
            case "@data":
                if len(levels) > 1:
                    problem = "the relational attribute has no @end."
                    raise FormatError(path, problem, line, levels[-2][-1].name)
                return levels[0]
            case word if word not in ("", "@relation") and not word.startswith("%"):
                problem = f"{text.strip()[:40]!r} is not a declaration."
                raise FormatError(path, f"{problem} Expected @attribute or @data.", line)
    raise TruncatedFileError(path, "ends in its header. Expected @data.", line)


def _declare(path: Path, text: str, line: int) -> Attribute:
    match = re.match(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.*)""", text)
    if match is None or not match[2].strip():
        raise FormatError(path, f"{text.rstrip()!r} declares no name and type.", line)
    name, declared = split_fields(path, match[1], line)[0], match[2].strip()
    if declared.startswith("{"):
        if not declared.endswith("}"):
            raise FormatError(path, "the list of values is not closed by }.", line, name)
        return Attribute(name, "nominal", split_fields(path, declared[1:-1], line))
    kind = declared.split()[0].lower()
    if kind in _NUMERIC:
        return Attribute(name, "numeric")
    if kind in ("string", "relational"):
        return Attribute(name, kind)
    expected = "numeric, a list {...}, string or relational"
    problem = f"type {declared!r} is not supported. Expected {expected}."
    raise FormatError(path, problem, line, name)


class InnerRows:
    """Collects the instances of bag after bag."""

    def __init__(self, path: Path, attributes: list[Attribute]) -> None:
        self.path, self._declared = path, attributes
        has_coords = {*COORDS} <= {a.name for a in attributes}
        known = _ATTRIBUTES.keys() - ({} if has_coords else {*COORDS})
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
        block = self._plain_numbers(rows) if self._is_plain else None
        if block is None:
            places = (f"line {line}, instance {k}" for k in count(1))
            entries = [self._read_row(row, place) for row, place in zip(rows, places, strict=False)]
            block = self._matrix(entries, rows[0].startswith("{"))
        self._blocks.append(block)
        return len(rows)

    def _plain_numbers(self, rows: list[str]) -> Any:
        """Return rows of numbers; None if they contain anything else."""
        fields = [row.split(",") for row in rows]
        if any(len(f) != len(self.names) for f in fields):
            return None
        numbers = parse_all([text for row in fields for text in row], float)
        return None if numbers is None else np.array(numbers).reshape(len(rows), -1)

    def _split_row(self, row: str, place: str) -> dict[int, str]:
        """Return the values of a row; nominal ones left out of a sparse row are the first."""
        is_sparse = row.startswith("{") and row.endswith("}")
        tokens, n = (
            split_fields(self.path, row[1:-1] if is_sparse else row, place),
            len(self._declared),
        )
        if not is_sparse:
            check_count(self.path, tokens, n, place)
            return dict(enumerate(tokens))
        fields = dict.fromkeys(self._texts, "0")
        fields |= {j: a.values[0] for j, a in enumerate(self._declared) if a.kind == "nominal"}
        if len(tokens) % 2:
            raise FormatError(self.path, "an index has no value.", place)
        for index, value in zip(tokens[::2], tokens[1::2], strict=True):
            if not index.isdigit() or int(index) >= n:
                raise FormatError(self.path, f"index {index!r}, expected 0 to {n - 1}.", place)
            fields[int(index)] = value
        return fields

    def _read_row(self, row: str, place: str) -> dict[int, float]:
        """Return the features of an instance by column; texts of its attributes are kept."""
        entries: dict[int, float] = {}
        for j, text in self._split_row(row, place).items():
            attribute, start = self._declared[j], self._starts[j]
            if j in self._texts:
                self._texts[j].append(text)
            elif text == "?":
                entries |= dict.fromkeys(
                    range(start, start + max(1, len(attribute.values))), np.nan
                )
            elif attribute.kind == "nominal":
                attribute.check(self.path, text, place, MixedTypeError)
                entries[start + attribute.values.index(text)] = 1.0
            elif is_number(text):
                entries[start] = float(text)
            else:
                problem = f"{text!r} is not a number."
                raise MixedTypeError(self.path, problem, place, attribute.name)
        return entries

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
        roles = {_ATTRIBUTES[self._declared[j].name]: texts for j, texts in self._texts.items()}
        attributes = stack({role: type_column(texts, role) for role, texts in roles.items()})
        ignore_parents(attributes)
        attributes["feature_names"] = self.names
        if any(sp.issparse(block) for block in self._blocks):
            blocks = [sp.csr_array(block) for block in self._blocks]
            return sp.vstack(blocks, format="csr"), attributes
        return np.concatenate(self._blocks), attributes
