"""WEKA's multi-instance files: relational ARFF, one row a bag.

    @attribute molecule_name {MUSK-188,...}
    @attribute bag relational
      @attribute f1 numeric
      ...
    @end bag
    @attribute class {0,1}
    @data
    MUSK-188,"42,-198,...\\n42,-191,...",1

The instances of a bag are one quoted text, its rows separated by ``\\n``, dense or sparse
(``{index value, ...}``). Nominal features become one 0/1 column a value, named ``feature=value``;
``?`` is NaN.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.bags import Bags
from bagwise.io._arffrows import InnerRows
from bagwise.io._arfftext import Attribute, Header, is_open_quote, quoted, split_fields
from bagwise.io._assemble import BAG_FEATURE, Labelled
from bagwise.io._flatten import bag_columns, instance_columns, written_feature_names
from bagwise.io._grow import typed_column
from bagwise.io._source import open_source, write_text
from bagwise.io.errors import FormatError, LabelError, ShuffledBagError, TruncatedFileError

__all__ = ["read_arff", "write_arff"]

_OF_BAGS = {"group": "groups", "prior": "priors"}


def read_arff(
    path: str | Path,
    bag: str | None = None,
    label: str | None = None,
    *,
    progress: bool | None = None,
) -> Labelled:
    """Read a relational ARFF file, as WEKA writes multi-instance data.

    Parameters
    ----------
    path : str or Path
        The file, plain or gzip.
    bag : str, default=None
        Attribute with the bag's name; None: the first, as in WEKA.
    label : str, default=None
        Attribute with the bag's label; None: the last, as in WEKA.
    progress : bool, default=None
        Show a progress bar, as in `read_csv`.

    Returns
    -------
    bags : Bags
        The bags, in the order of the file; sparse if any row is.
    y : ndarray of shape (n_bags,) or None
        Their labels.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import read_arff, write_arff
    >>> path = getfixture("tmp_path") / "bags.arff"
    >>> write_arff(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]], ids=["a", "b"]), ["yes", "no"])
    >>> read_arff(path)
    (Bags(2 bags, 3 instances, 1 features, 1-2 instances a bag, float64), array(['yes', 'no'], ...))
    """
    path = Path(path)
    header = Header(path)
    with open_source(path, progress) as source:
        lines = enumerate(source.text(), start=1)
        line = 0
        for line, text in lines:
            if header.take(text, line):
                break
        else:
            raise header.no_data(line)
        parts = _Parts(path, header.attributes, bag, label)
        for line, text in lines:
            if text.strip() and not text.lstrip().startswith("%"):
                parts.take(text, line)
            if line % 256 == 0:
                source.advance()
    return parts.finish()


class _Parts:
    """Collects the rows of the data section."""

    def __init__(
        self, path: Path, attributes: list[Attribute], bag: str | None, label: str | None
    ) -> None:
        self.path, self.attributes = path, attributes
        names = [a.name for a in attributes]
        relational = [j for j, a in enumerate(attributes) if a.kind == "relational"]
        if len(relational) != 1:
            raise FormatError(
                path, f"{len(relational)} relational attributes, expected one that holds the bags."
            )
        self._instances = relational[0]
        self._bag = self._find(names, bag, 0)
        self._label = self._find(names, label, len(names) - 1)
        if self._label == self._bag:
            self._label = None
        self._rows = InnerRows(path, attributes[self._instances].inner)
        self._texts: list[list[str]] = []
        self._sizes: list[int] = []
        self._seen: dict[str, int] = {}

    def _find(self, names: list[str], wanted: str | None, default: int) -> int | None:
        if wanted is None:
            return None if default == self._instances else default
        if wanted not in names:
            raise FormatError(self.path, f"has no attribute {wanted!r}; it has {names}.")
        return names.index(wanted)

    def take(self, text: str, line: int) -> None:
        """Take one row of the data section: one bag."""
        if is_open_quote(text):
            raise TruncatedFileError(self.path, "a quote is not closed on its line.", line)
        fields = split_fields(self.path, text, line)
        if len(fields) != len(self.attributes):
            raise FormatError(
                self.path, f"{len(fields)} values, {len(self.attributes)} are declared.", line
            )
        self._check_nominal(fields, line)
        self._sizes.append(self._rows.take(fields[self._instances], line))
        fields[self._instances] = ""
        self._texts.append(fields)

    def _check_nominal(self, fields: list[str], line: int) -> None:
        for j, (attribute, value) in enumerate(zip(self.attributes, fields, strict=True)):
            error = LabelError if j == self._label else FormatError
            if value == "?":
                raise error(self.path, "the value is missing.", line, attribute.name)
            if attribute.kind == "nominal" and value not in attribute.values:
                shown = f"{value!r} is not among the declared values {attribute.values[:10]}."
                raise error(self.path, shown, line, attribute.name)
        if self._bag is not None:
            name = fields[self._bag]
            if name in self._seen:
                raise ShuffledBagError(
                    self.path,
                    f"bag {name!r} has a row already, on line {self._seen[name]}. Expected one row "
                    "a bag.",
                    line,
                )
            self._seen[name] = line

    def finish(self) -> Labelled:
        """Return the bags and their labels."""
        if not self._texts:
            raise FormatError(self.path, "holds no rows after @data. Expected one row a bag.")
        y = None if self._label is None else self._values(self._label, exact=False)
        ids = None if self._bag is None else self._values(self._bag, exact=True)
        X, attributes = self._rows.finish()
        attributes |= self._bag_attributes()
        offsets = np.concatenate([[0], np.cumsum(self._sizes)])
        return Bags(X, offsets, ids=ids, **attributes), y

    def _bag_attributes(self) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        covariates = []
        for j, attribute in enumerate(self.attributes):
            if j in (self._bag, self._label, self._instances):
                continue
            if attribute.name in _OF_BAGS:
                attributes[_OF_BAGS[attribute.name]] = self._values(
                    j, exact=attribute.name == "group"
                )
            elif attribute.name.startswith(BAG_FEATURE):
                covariates.append(self._values(j, exact=False).astype(np.float64))
        if covariates:
            attributes["bag_features"] = np.stack(covariates, axis=1)
        return attributes

    def _values(self, column: int, *, exact: bool) -> Any:
        return typed_column([fields[column] for fields in self._texts], exact_text=exact)


def write_arff(path: str | Path, bags: Bags, y: Any = None, *, relation: str = "bags") -> None:
    """Write a relational ARFF file that WEKA's multi-instance learners read.

    Parameters
    ----------
    path : str or Path
        The file to write, gzip where it ends in ``.gz``.
    bags : Bags
        The bags; sparse ones as sparse rows. Groups, priors and bag features become further
        attributes, which WEKA's learners do not expect: leave them off for WEKA.
    y : array-like of shape (n_bags,), default=None
        Their labels, written as a nominal attribute.
    relation : str, default="bags"
        Name of the relation.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import write_arff
    >>> path = getfixture("tmp_path") / "bags.arff"
    >>> write_arff(path, Bags.from_list([[[0.5], [1.0]], [[2.0]]], ids=["a", "b"]), [1, 0])
    >>> print(path.read_text().split("@data")[1])
    <BLANKLINE>
    a,'0.5\\n1.0',1
    b,'2.0',0
    <BLANKLINE>
    """
    path = Path(path)
    of_bags = bag_columns(bags, y)
    of_rows = instance_columns(bags)
    names = written_feature_names(path, bags, [*of_rows])
    with write_text(path) as file:
        file.write(f"@relation {quoted(relation)}\n\n")
        _declare(file, "bag_id", of_bags["bag"], nominal=True)
        file.write("@attribute bag relational\n")
        for name in names:
            file.write(f"  @attribute {quoted(name)} numeric\n")
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
            rows = _inner_text(bags, of_rows, i)
            tail = "".join("," + quoted(_text(column[i])) for column in after)
            # Quoted even where it is a single number: WEKA expects a quoted bag.
            text = quoted(rows)
            text = text if text.startswith("'") else f"'{text}'"
            file.write(f"{quoted(_text(bags.ids[i]))},{text}{tail}\n")


def _declare(file: Any, name: str, values: Any, *, nominal: bool, indent: str = "") -> None:
    if nominal:
        different = dict.fromkeys(_text(value) for value in values)
        kind = "{" + ",".join(quoted(text) for text in different) + "}"
    else:
        kind = "numeric" if values.dtype.kind in "iuf" else "string"
    file.write(f"{indent}@attribute {quoted(name)} {kind}\n")


def _text(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str) else repr(value)


def _inner_text(bags: Bags, of_rows: dict[str, Any], i: int) -> str:
    first, last = bags.offsets[i], bags.offsets[i + 1]
    extra = [[quoted(_text(v)) for v in values[first:last]] for values in of_rows.values()]
    block = bags[i]
    rows = []
    for k in range(int(last - first)):
        tail = [column[k] for column in extra]
        if sp.issparse(block):
            entries = slice(block.indptr[k], block.indptr[k + 1])
            pairs = zip(block.indices[entries].tolist(), block.data[entries].tolist(), strict=True)
            fields = [f"{j} {_number(v)}" for j, v in sorted(pairs)]
            fields += [f"{bags.n_features + j} {text}" for j, text in enumerate(tail)]
            rows.append("{" + ",".join(fields) + "}")
        else:
            rows.append(",".join([*map(_number, block[k].tolist()), *tail]))
    return "\n".join(rows)


def _number(value: float) -> str:
    if value != value:
        return "?"
    if value in (np.inf, -np.inf):  # as Java spells it; Python reads it too
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)
