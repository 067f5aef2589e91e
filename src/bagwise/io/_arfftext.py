"""The syntax of ARFF: fields, quotes and escapes, attribute declarations."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from bagwise.io.errors import DuplicateColumnError, FormatError

# A field is quoted with escapes, or bare; commas and white space separate fields.
_FIELD = re.compile(
    r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,\s'"{}]+))\s*(,|$|(?=\s))"""
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z0-9_.+:/-]+")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_NUMERIC = ("numeric", "real", "integer")


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
