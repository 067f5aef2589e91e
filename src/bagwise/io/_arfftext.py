"""The syntax of ARFF: fields, escapes, declarations, and the instances in a relational value."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.bags.arrays import small_csr
from bagwise.bags.segments import offsets_of
from bagwise.errors import list_names
from bagwise.io._assemble import COORDS, OF_INSTANCES, ROLES, ignore_parents, stack
from bagwise.io.errors import DuplicateColumnError, FormatError, MixedTypeError
from bagwise.io.tables import TextColumn, is_number, parse_all

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


def split_fields(path: Path, text: str, line: int) -> list[str]:
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


def is_open_quote(text: str) -> bool:
    """Return whether a quote is opened and not closed."""
    bare = re.sub(r"\\.", "", text)
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", bare)
    return "'" in bare or '"' in bare


class Header:
    """The declarations of a file, line by line up to ``@data``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.attributes: list[Attribute] = []
        self._open: list[Attribute] = []

    def take(self, text: str, line: int) -> bool:
        """Add a line; return True at ``@data``."""
        text = text.strip()
        if not text or text.startswith("%"):
            return False
        keyword, _, rest = text.partition(" ") if " " in text else text.partition("\t")
        keyword = keyword.lower()
        if keyword == "@data":
            if self._open:
                name = self._open[-1].name
                raise FormatError(self.path, "the relational attribute has no @end.", line, name)
            return True
        if keyword == "@attribute":
            self._declare(rest, line)
        elif keyword == "@end":
            if not self._open:
                raise FormatError(self.path, "@end without an open relational attribute.", line)
            self._open.pop()
        elif keyword != "@relation":
            problem = f"{text[:40]!r} is not a declaration. Expected @attribute or @data."
            raise FormatError(self.path, problem, line)
        return False

    def _declare(self, text: str, line: int) -> None:
        match = re.match(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.*)""", text)
        if match is None or not match[2].strip():
            raise FormatError(self.path, f"{text!r} declares no name and type.", line)
        name = split_fields(self.path, match[1], line)[0]
        attribute = self._attribute(name, match[2].strip(), line)
        siblings = self._open[-1].inner if self._open else self.attributes
        if any(other.name == name for other in siblings):
            raise DuplicateColumnError(self.path, "is declared twice. Rename one.", line, name)
        siblings.append(attribute)
        if attribute.kind == "relational":
            self._open.append(attribute)

    def _attribute(self, name: str, declared: str, line: int) -> Attribute:
        if declared.startswith("{"):
            if not declared.endswith("}"):
                raise FormatError(self.path, "the list of values is not closed by }.", line, name)
            values = split_fields(self.path, declared[1:-1], line)
            return Attribute(name, "nominal", values)
        kind = declared.split()[0].lower()
        if kind in _NUMERIC:
            return Attribute(name, "numeric")
        if kind in ("string", "relational"):
            return Attribute(name, kind)
        expected = "numeric, a list {...}, string or relational"
        problem = f"type {declared!r} is not supported. Expected {expected}."
        raise FormatError(self.path, problem, line, name)


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
        numbers = parse_all([text for row in fields for text in row], float)
        return None if numbers is None else np.array(numbers).reshape(len(rows), -1)

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
        for j, text in fields.items():
            if j in self._texts:
                self._texts[j].append(text)
            else:
                entries |= self._encode(j, text, line, number)
        return entries

    def _encode(self, j: int, text: str, line: int, number: int) -> dict[int, float]:
        attribute, start = self._declared[j], self._starts[j]
        if attribute.kind == "nominal":
            if text == "?":
                return {start + k: np.nan for k in range(len(attribute.values))}
            if text in attribute.values:
                return {start + attribute.values.index(text): 1.0}
            problem = f"is not among the declared values {list_names(attribute.values)}"
        elif text == "?" or is_number(text):
            return {start: np.nan if text == "?" else float(text)}
        else:
            problem = "is not a number"
        problem = f"instance {number}: {text!r} {problem}."
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
            column = TextColumn(texts)
            if role == "known_labels":
                attributes[role] = column.code_known()
            else:
                attributes[role] = column.code(exact_text=role in ("instance_ids", "parts")).at(
                    slice(None)
                )
        attributes = stack(attributes)
        ignore_parents(attributes)
        if any(sp.issparse(block) for block in self._blocks):
            blocks = [sp.csr_array(block) for block in self._blocks]
            return sp.vstack(blocks, format="csr"), attributes
        return np.concatenate(self._blocks), attributes
