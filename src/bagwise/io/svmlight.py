"""svmlight files with bags, one line per instance.

A line is either ``label qid:bag index:value ...`` or ``instance:bag:label index:value ...``; the
latter is the form of the image and text data sets of Andrews, Tsochantaridis & Hofmann (2002).
Text after ``#`` is a comment. Indices count from one. The instances stay sparse.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.arrays import small_csr
from bagwise.bags.frames import check_labels
from bagwise.bags.segments import bag_of_row, expand, offsets_of
from bagwise.errors import Argument, Message
from bagwise.io._assemble import assemble
from bagwise.io._columns import LabeledBags, reads, writes
from bagwise.io._files import open_source, write_text
from bagwise.io._flatten import NOT_IN_LINES, refuse_special, warn_left_out
from bagwise.io.errors import FormatError, MixedTypeError, TruncatedFileError
from bagwise.io.tables import is_number, parse_all, type_columns
from bagwise.tolerances import LARGEST_EXACT

_WIDTH = re.compile(r"#\s*n_features[ =](\d+)")
_SPECIAL = re.compile(r"[\s:#]|^$")
_TOO_LARGE = "an index is not below 2^53, the limit of this format."


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
    texts: dict[str, list[str]] = {"instance_ids": [], "bag": [], "label": []}
    lines, counts, numbers, width = array("q"), array("q"), array("d"), n_features
    with open_source(path) as file:
        for line, text in enumerate(file, start=1):
            body = text.partition("#")[0].strip()
            if not body:
                width = _read_width(path, line, text) if width is None else width
                continue
            names, pairs = _split(path, line, body)
            for column, name in zip(texts.values(), names, strict=True):
                column.append(sys.intern(name))
            found = _parse_pairs(path, line, pairs, is_whole=text.endswith("\n"))
            lines.append(line)
            counts.append(len(found) // 2)
            numbers.extend(found)
    if not lines:
        raise FormatError(path, "holds no lines. Expected one line per instance.")
    X = _stack(path, np.array(numbers).reshape(-1, 2), offsets_of(counts), lines, zero_based, width)
    if "" in texts["instance_ids"]:  # the form with qid has none
        del texts["instance_ids"]
    typed = type_columns(path, texts, lines.__getitem__)
    return assemble(path, X, typed, None, lines.__getitem__, regroup=regroup)


def _read_width(path: Path, line: int, comment: str) -> int | None:
    match = _WIDTH.match(comment.strip())
    if match and len(match[1]) > len(str(LARGEST_EXACT)):
        raise FormatError(path, "n_features is above 2^53, the limit of this format.", line)
    return int(match[1]) if match else None


def _split(path: Path, line: int, body: str) -> tuple[list[str], str]:
    """Return instance, bag and label of a line, and its pairs."""
    head, _, rest = body.partition(" ")
    names = head.split(":")
    if len(names) == 3:
        return names, rest
    query, _, pairs = rest.partition(" ")
    if len(names) != 1 or not query.startswith("qid:"):
        expected = "'label qid:bag index:value ...' or 'instance:bag:label index:value ...'"
        raise FormatError(path, f"begins with {body[:30]!r}. Expected {expected}.", line)
    return ["", query.removeprefix("qid:"), head], pairs


def _parse_pairs(path: Path, line: int, pairs: str, *, is_whole: bool) -> list[float]:
    """Return index, value, index, value, ..."""
    tokens = pairs.replace(":", " ").split()
    numbers = parse_all(tokens, float)
    if numbers is not None and len(numbers) == 2 * pairs.count(":"):
        return numbers
    for token in pairs.split():
        index, colon, value = token.partition(":")
        if not (colon and is_number(index) and is_number(value)):
            break
    kind = MixedTypeError if is_whole or value else TruncatedFileError
    raise kind(path, f"{token!r} is not a pair index:value.", line)


def _stack(
    path: Path, pairs: Array, offsets: Array, lines: array, zero_based: bool, width: int | None
) -> Any:
    """Return the entries of all lines as sparse rows; wrong indices raise their line."""
    columns = pairs[:, 0] - (not zero_based)
    problem = f"an index is not an integer of at least {0 if zero_based else 1}."
    remedy = (" Pass ", Argument("zero_based", "True"), " where indices count from zero.")
    for wrong, message in (
        (~(columns < LARGEST_EXACT - 1), _TOO_LARGE),
        (columns < 0, Message(problem, *(() if zero_based else remedy))),
        (columns != np.floor(columns), problem),
    ):
        if wrong.any():
            raise FormatError(path, message, lines[bag_of_row(int(np.argmax(wrong)), offsets)])
    largest = int(columns.max()) + 1 if len(columns) else 1
    if width is not None and largest > width:
        raise FormatError(path, f"an index is {largest}, but n_features is {width}.")
    shape = (len(lines), width or largest)
    return small_csr(pairs[:, 1], columns.astype(np.int64), offsets, shape)


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
