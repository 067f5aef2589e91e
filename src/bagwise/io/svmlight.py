"""svmlight files with bags, one line per instance.

A line is either ``label qid:bag index:value ...`` or ``instance:bag:label index:value ...``; the
latter is the form of the image and text data sets of Andrews, Tsochantaridis & Hofmann (2002).
Text after ``#`` is a comment. Indices count from one. The instances stay sparse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.arrays import small_csr
from bagwise.bags.segments import bag_of_row, expand, offsets_of
from bagwise.errors import Argument, Message
from bagwise.io import _limits as limits
from bagwise.io._assemble import LabeledBags, assemble, reads, writes
from bagwise.io._flatten import NOT_IN_LINES, check_labels, refuse_special, warn_left_out
from bagwise.io._source import open_source, write_text
from bagwise.io.errors import FormatError, MixedTypeError, TruncatedFileError
from bagwise.io.tables import TextColumn, is_number, type_columns

_WIDTH = re.compile(r"#\s*n_features[ =](\d+)")
_SPECIAL = re.compile(r"[\s:#]|^$")
_TOO_LARGE = "an index is not below 2^53, the limit of this format."


class _Line(NamedTuple):
    number: int
    instance_ids: str
    bag: str
    label: str
    pairs: str


@reads(
    path="The file, plain or gzip; ``label qid:bag index:value ...`` or ``instance:bag:label "
    "index:value ...``.",
    n_features="Number of features; None: as a comment ``# n_features`` in the file says, else the "
    "largest index.",
    zero_based="Whether indices count from zero.",
)
def read_svmlight(
    path: str | Path,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    regroup: bool = False,
) -> LabeledBags:
    """Read an svmlight file whose lines name their bag; the instances stay sparse.

    Examples
    --------
    >>> from bagwise.io import read_svmlight
    >>> path = getfixture("tmp_path") / "bags.svm"
    >>> _ = path.write_text("+1 qid:1 1:0.5 3:2\\n+1 qid:1 2:1\\n-1 qid:2 3:4\\n")
    >>> read_svmlight(path)
    (Bags(2 bags, 3 instances, 3 features, 1-2 instances per bag, sparse float64), array([ 1, -1]))
    """
    path = Path(path)
    keys = {key: TextColumn() for key in ("bag", "label", "instance_ids")}
    parts: list[tuple[Array, Array, Array]] = []
    declared: list[int] = []
    line = 0
    with open_source(path) as file:
        while texts := file.readlines(limits.BLOCK_BYTES):
            block = list(_lines(path, texts, declared, line + 1))
            line += len(texts)
            if block:
                parts.append(_parse_pairs(path, block, zero_based))
            for key, column in keys.items():
                column.extend([getattr(each, key) for each in block])
    if not parts:
        raise FormatError(path, "holds no lines. Expected one line per instance.")
    X = _stack(path, parts, next(iter(declared), None) if n_features is None else n_features)
    if keys["instance_ids"].first_row("") is not None:  # the form with qid has none
        del keys["instance_ids"]

    def place(row: int) -> int:
        with open_source(path) as file:
            return next(islice(_lines(path, file, []), row, None)).number

    return assemble(path, X, type_columns(path, keys, place), None, place, regroup=regroup)


def _lines(
    path: Path, texts: Iterable[str], declared: list[int], start: int = 1
) -> Iterator[_Line]:
    """Yield the instances; the number of features in a comment is appended to ``declared``."""
    for number, text in enumerate(texts, start):
        body, mark, _ = text.partition("#")
        if body.strip():
            yield _head(path, body.strip(), number)
        elif mark and (match := _WIDTH.match(text.strip())):
            if len(match[1]) > len(str(limits.LARGEST_EXACT)):
                raise FormatError(
                    path, "n_features is above 2^53, the limit of this format.", number
                )
            declared.append(int(match[1]))


def _head(path: Path, body: str, number: int) -> _Line:
    head, _, rest = body.partition(" ")
    names = head.split(":")
    if len(names) == 3:
        instance, bag, label = names
        return _Line(number, instance, bag, label, rest)
    query, _, pairs = rest.partition(" ")
    if len(names) != 1 or not query.startswith("qid:"):
        expected = "'label qid:bag index:value ...' or 'instance:bag:label index:value ...'"
        raise FormatError(path, f"begins with {body[:30]!r}. Expected {expected}.", number)
    return _Line(number, "", query.removeprefix("qid:"), head, pairs)


def _parse_pairs(path: Path, block: list[_Line], zero_based: bool) -> tuple[Array, Array, Array]:
    """Return the values, the column indices, and the number of entries per line."""
    counts = np.array([line.pairs.count(":") for line in block])
    tokens = " ".join(line.pairs for line in block).replace(":", " ").split()
    try:
        numbers = np.array(tokens, dtype=np.float64)
    except ValueError:
        _find_wrong_pair(path, block)
        raise
    if len(numbers) != 2 * counts.sum() or any("_" in token for token in tokens):
        _find_wrong_pair(path, block)
    columns = numbers[0::2] - (not zero_based)
    problem = f"an index is not an integer of at least {0 if zero_based else 1}."
    remedy = (" Pass ", Argument("zero_based", "True"), " where indices count from zero.")
    for wrong, message in (
        (~(columns < limits.LARGEST_EXACT - 1), _TOO_LARGE),
        (columns < 0, Message(problem, *(() if zero_based else remedy))),
        (columns != np.floor(columns), problem),
    ):
        if wrong.any():
            line = block[bag_of_row(int(np.argmax(wrong)), offsets_of(counts))]
            raise FormatError(path, message, line.number)
    return numbers[1::2], columns.astype(np.int64), counts


def _find_wrong_pair(path: Path, block: list[_Line]) -> None:
    for line in block:
        tokens = line.pairs.split()
        for token in tokens:
            index, colon, value = token.partition(":")
            if colon and is_number(index) and is_number(value):
                continue
            is_cut = line is block[-1] and token is tokens[-1] and not value
            kind = TruncatedFileError if is_cut else MixedTypeError
            raise kind(path, f"{token!r} is not a pair index:value.", line.number)


def _stack(path: Path, parts: list[tuple[Array, Array, Array]], n_features: int | None) -> Any:
    data, columns, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    largest = int(columns.max()) + 1 if len(columns) else 1
    if n_features is not None and largest > n_features:
        raise FormatError(path, f"an index is {largest}, but n_features is {n_features}.")
    return small_csr(data, columns, offsets_of(counts), (len(counts), n_features or largest))


@writes(
    path="The file to write, compressed if the name ends in ``.gz``.",
    bags="The bags; zeros are left out. Ids must not contain white space or colons.",
    style=('{"qid", "triple"}', "``label qid:bag ...`` or ``instance:bag:label ...``."),
)
def write_svmlight(path: str | Path, bags: Bags, y: Any, *, style: str = "qid") -> None:
    """Write an svmlight file whose lines name their bag.

    Examples
    --------
    >>> from bagwise import Bags, io
    >>> path = getfixture("tmp_path") / "bags.svm"
    >>> io.write_svmlight(path, Bags.from_list([[[0.0, 2.0]], [[1.5, 0.0]]]), [1, -1])
    >>> print(path.read_text())
    # n_features 2
    1 qid:0 2:2.0
    -1 qid:1 1:1.5
    <BLANKLINE>
    """
    if style not in ("qid", "triple"):
        raise ValueError(f"style must be 'qid' or 'triple', got {style!r}.")
    path = Path(path)
    y = check_labels(bags, np.asarray(y))
    warn_left_out(path, bags, NOT_IN_LINES)
    heads = _heads(path, bags, y, style)
    with write_text(path) as file:
        file.write(f"# n_features {bags.n_features}\n")
        for row, head in enumerate(heads):
            columns, values = _entries(bags.X, row)
            pairs = zip((columns + 1).tolist(), values.tolist(), strict=True)
            file.write(" ".join([head, *(f"{j}:{v!r}" for j, v in pairs)]) + "\n")


def _heads(path: Path, bags: Bags, y: Array, style: str) -> Iterator[str]:
    columns = {"bag": expand(bags.ids, bags.offsets), "label": expand(y, bags.offsets)}
    if style == "triple":
        columns["instance"] = bags.instance_ids
    refuse_special(path, columns, _SPECIAL, "as svmlight")
    form = "{label} qid:{bag}" if style == "qid" else "{instance}:{bag}:{label}"
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return (form.format(**dict(zip(columns, row, strict=True))) for row in rows)


def _entries(X: Any, row: int) -> tuple[Array, Array]:
    if sp.issparse(X):  # canonical: the indices are sorted
        entries = slice(X.indptr[row], X.indptr[row + 1])
        return X.indices[entries], X.data[entries]
    values = np.asarray(X[row : row + 1])[0]
    columns = np.flatnonzero(values)
    return columns, values[columns]
