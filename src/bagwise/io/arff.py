"""WEKA's multi-instance files: relational ARFF, one row per bag.

    @attribute molecule_name {MUSK-188,...}
    @attribute bag relational
      @attribute f1 numeric
      ...
    @end bag
    @attribute class {0,1}
    @data
    MUSK-188,"42,-198,...\\n42,-191,...",1

The instances of a bag are one quoted text with rows separated by ``\\n``, dense or sparse
(``{index value, ...}``). Nominal features become one 0/1 column per value, named ``feature=value``;
``?`` is NaN.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.bags import Bags
from bagwise.bags.frames import bag_columns, instance_columns
from bagwise.bags.segments import offsets_of
from bagwise.io._arfftext import (
    Attribute,
    InnerRows,
    check_count,
    is_open_quote,
    quote,
    read_header,
    split_fields,
)
from bagwise.io._assemble import BAG_FEATURE, ROLES, position_of, stack
from bagwise.io._columns import LabeledBags, reads, writes
from bagwise.io._files import open_source, write_text
from bagwise.io._flatten import name_features
from bagwise.io.errors import (
    FormatError,
    LabelError,
    ShuffledBagError,
    TruncatedFileError,
    missing_value,
)
from bagwise.io.tables import type_column

_OF_BAGS = {ROLES[role]: role for role in ("groups", "sites", "priors", "patch_size")}


@reads(
    ".arff",
    path="The file, plain or gzip.",
    bag="Attribute with the bag's id; None: the first, as in WEKA.",
    label="Attribute with the bag's label; None: the last, as in WEKA.",
)
def read_arff(path: str | Path, bag: str | None = None, label: str | None = None) -> LabeledBags:
    """Read a relational ARFF file, as WEKA writes multi-instance data; sparse if any row is."""
    path = Path(path)
    with open_source(path) as file:
        lines = enumerate(file, start=1)
        table = _Table(path, read_header(path, lines), bag, label)
        for line, text in lines:
            if text.strip() and not text.lstrip().startswith("%"):
                table.take(text, line)
    return table.finish()


class _Table:
    """Collects the rows of the data section, one per bag."""

    def __init__(
        self, path: Path, attributes: list[Attribute], bag: str | None, label: str | None
    ) -> None:
        self.path, self.attributes = path, attributes
        relational = [j for j, a in enumerate(attributes) if a.kind == "relational"]
        if len(relational) != 1:
            raise FormatError(path, f"{len(relational)} relational attributes, expected one.")
        self._instances = relational[0]
        self._bag, self._label = self._find(bag, 0), self._find(label, len(attributes) - 1)
        if self._label == self._bag:
            self._label = None
        self._rows = InnerRows(path, attributes[self._instances].inner)
        self._texts: list[list[str]] = []
        self._sizes: list[int] = []
        self._lines: dict[str, int] = {}  # where each bag is

    def _find(self, wanted: str | None, default: int) -> int | None:
        if wanted is None:
            return None if default == self._instances else default
        return position_of(self.path, [a.name for a in self.attributes], wanted)

    def take(self, text: str, line: int) -> None:
        """Add one row of the data section."""
        if is_open_quote(text):
            raise TruncatedFileError(self.path, "a quote is not closed on its line.", line)
        fields = split_fields(self.path, text, line)
        check_count(self.path, fields, len(self.attributes), line)
        for j, (attribute, value) in enumerate(zip(self.attributes, fields, strict=True)):
            role = "label" if j == self._label else attribute.name
            if value == "?":
                raise missing_value(self.path, role, line)
            attribute.check(self.path, value, line, LabelError if role == "label" else FormatError)
        if self._bag is not None:
            first = self._lines.setdefault(fields[self._bag], line)
            if first != line:
                problem = f"bag {fields[self._bag]!r} has a row already, on line {first}."
                raise ShuffledBagError(self.path, f"{problem} Expected one row per bag.", line)
        self._sizes.append(self._rows.take(fields[self._instances], line))
        fields[self._instances] = ""
        self._texts.append(fields)

    def finish(self) -> LabeledBags:
        """Return the bags and their labels."""
        if not self._texts:
            raise FormatError(self.path, "holds no rows after @data. Expected one row per bag.")
        X, attributes = self._rows.finish()
        places = {_OF_BAGS.get(a.name, a.name): j for j, a in enumerate(self.attributes)}
        roles = [r for r in places if r in _OF_BAGS.values() or r.startswith(BAG_FEATURE)]
        used = (self._bag, self._label, self._instances)
        columns = {r: self._values(r, places[r]) for r in roles if places[r] not in used}
        ids, y = self._values("bag", self._bag), self._values("label", self._label)
        return Bags(X, offsets_of(self._sizes), ids=ids, **attributes, **stack(columns)), y

    def _values(self, role: str, column: int | None) -> Any:
        if column is None:
            return None
        return type_column([fields[column] for fields in self._texts], role)


@writes(
    ".arff",
    path="The file to write, compressed if the name ends in ``.gz``.",
    bags="The bags; sparse ones as sparse rows. Groups, priors and bag features become further "
    "attributes, which WEKA's learners do not expect: remove them for WEKA.",
    y=("array-like of shape (n_bags,)", "Their labels, written as a nominal attribute."),
    relation="Name of the relation.",
)
def write_arff(path: str | Path, bags: Bags, y: Any = None, *, relation: str = "bags") -> None:
    """Write a relational ARFF file that WEKA's multi-instance learners read."""
    path = Path(path)
    of_bags = bag_columns(bags, y)
    of_rows = instance_columns(bags)
    names = name_features(path, bags, [*of_rows])
    with write_text(path) as file:
        file.write(f"@relation {quote(relation)}\n\n")
        _declare(file, "bag_id", of_bags["bag"], nominal=True)
        file.write("@attribute bag relational\n")
        for name in names:
            file.write(f"  @attribute {quote(name)} numeric\n")
        for name, values in of_rows.items():
            _declare(file, name, values, nominal=False, indent="  ")
        file.write("@end bag\n")
        extra = {n: v for n, v in of_bags.items() if n not in ("bag", "label")}
        for name, values in extra.items():
            _declare(file, name, values, nominal=False)
        if y is not None:
            _declare(file, "class", of_bags["label"], nominal=True)
        file.write("@data\n")
        after = [*extra.values(), *([] if y is None else [of_bags["label"]])]
        for i in range(len(bags)):
            text = quote(_inner_text(bags, of_rows, i))
            text = text if text.startswith("'") else f"'{text}'"  # WEKA expects a quoted bag
            tail = [quote(_text(column[i])) for column in after]
            file.write(",".join([quote(_text(bags.ids[i])), text, *tail]) + "\n")


def _declare(file: Any, name: str, values: Any, *, nominal: bool, indent: str = "") -> None:
    if nominal:
        different = dict.fromkeys(_text(value) for value in values)
        kind = "{" + ",".join(quote(text) for text in different) + "}"
    else:
        kind = "numeric" if values.dtype.kind in "iuf" else "string"
    file.write(f"{indent}@attribute {quote(name)} {kind}\n")


def _text(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str) else repr(value)


def _inner_text(bags: Bags, of_rows: dict[str, Any], i: int) -> str:
    rows, block = slice(bags.offsets[i], bags.offsets[i + 1]), bags[i]
    extra = [[quote(_text(v)) for v in values[rows]] for values in of_rows.values()]
    lines = []
    for k in range(block.shape[0]):
        tail = [column[k] for column in extra]
        if sp.issparse(block):
            entries = slice(block.indptr[k], block.indptr[k + 1])
            pairs = zip(block.indices[entries].tolist(), block.data[entries].tolist(), strict=True)
            fields = [f"{j} {_number(v)}" for j, v in pairs]
            fields += [f"{bags.n_features + j} {text}" for j, text in enumerate(tail)]
            lines.append("{" + ",".join(fields) + "}")
        else:
            lines.append(",".join([*map(_number, block[k].tolist()), *tail]))
    return "\n".join(lines)


def _number(value: float) -> str:
    if value != value:
        return "?"
    if value in (np.inf, -np.inf):  # as Java spells it
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)
