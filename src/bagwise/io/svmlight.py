"""svmlight files with bags, a line an instance.

Either ``label qid:bag index:value ...`` or ``instance:bag:label index:value ...``; the latter is
that of the image and text sets of Andrews, Tsochantaridis & Hofmann (2002). Text after ``#`` is a
comment. Indices count from one. Instances stay sparse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bagwise.bags import Bags
from bagwise.io._assemble import Labelled, assemble
from bagwise.io._csr import small_csr
from bagwise.io._flatten import checked_labels, warn_left_out
from bagwise.io._grow import TextColumn
from bagwise.io._source import open_source, write_text
from bagwise.io._tabletext import is_number
from bagwise.io.errors import FormatError, LabelError, MixedTypeError, TruncatedFileError
from bagwise.segments import expand

__all__ = ["read_svmlight", "write_svmlight"]

Array = NDArray[Any]

_BLOCK_LINES = 2000
_WIDTH = re.compile(r"#\s*n_features[ =](\d+)")
_SPECIAL = re.compile(r"[\s:#]|^$")


class _Line(NamedTuple):
    number: int
    instance: str
    bag: str
    label: str
    pairs: str


def read_svmlight(
    path: str | Path,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    regroup: bool = False,
    progress: bool | None = None,
) -> Labelled:
    """Read an svmlight file whose lines name their bag.

    Parameters
    ----------
    path : str or Path
        The file, plain or gzip; ``label qid:bag index:value ...`` or
        ``instance:bag:label index:value ...`` (told apart by the first line).
    n_features : int, default=None
        Number of features; None: as the file's ``# n_features`` comment says, else the largest
        index.
    zero_based : bool, default=False
        Whether indices count from zero.
    regroup : bool, default=False
        Accept a file whose bags are scattered over it.
    progress : bool, default=None
        Show a progress bar, as in `read_csv`.

    Returns
    -------
    bags : Bags
        The bags, sparse.
    y : ndarray of shape (n_bags,)
        Their labels.

    Examples
    --------
    >>> from bagwise.io import read_svmlight
    >>> path = getfixture("tmp_path") / "bags.svm"
    >>> _ = path.write_text("+1 qid:1 1:0.5 3:2\\n+1 qid:1 2:1\\n-1 qid:2 3:4\\n")
    >>> read_svmlight(path)
    (Bags(2 bags, 3 instances, 3 features, 1-2 instances a bag, sparse float64), array([ 1, -1]))
    """
    path = Path(path)
    keys = {key: TextColumn() for key in ("bag", "label", "instance_ids")}
    blocks: list[tuple[Array, Array, Array]] = []
    lines: list[int] = []
    declared = [n_features]
    with open_source(path, progress) as source:
        for block in _blocks(path, source.text(), declared):
            blocks.append(_parse_pairs(path, block, zero_based))
            keys["bag"].extend([line.bag for line in block])
            keys["label"].extend([line.label for line in block])
            keys["instance_ids"].extend([line.instance for line in block])
            lines += [line.number for line in block]
            source.advance()
    if not blocks:
        raise FormatError(path, "holds no lines. Expected one line an instance.")
    X = _stack(path, blocks, declared[0])
    columns: dict[str, Any] = {r: keys[r].coded(exact_text=r == "bag") for r in ("bag", "label")}
    if keys["instance_ids"].first_row("") is None:
        columns["instance_ids"] = keys["instance_ids"].coded(exact_text=True).at(slice(None))
    return assemble(path, X, columns, None, lambda r: lines[r], regroup=regroup)


def _blocks(path: Path, file: Any, declared: list[int | None]) -> Iterator[list[_Line]]:
    block: list[_Line] = []
    for number, text in enumerate(file, start=1):
        body, mark, _ = text.partition("#")
        if mark and not body.strip():
            match = _WIDTH.match(text.strip())
            if match and declared[0] is None:
                declared[0] = int(match[1])
            continue
        if not body.strip():
            continue
        block.append(_head(path, body.strip(), number))
        if len(block) == _BLOCK_LINES:
            yield block
            block = []
    if block:
        yield block


def _head(path: Path, body: str, number: int) -> _Line:
    head, _, rest = body.partition(" ")
    names = head.split(":")
    if len(names) == 3:
        instance, bag, label = names
        pairs = rest
    else:
        query, _, pairs = rest.partition(" ")
        if len(names) != 1 or not query.startswith("qid:"):
            raise FormatError(
                path,
                f"begins with {body[:30]!r}. Expected 'label qid:bag index:value ...' or "
                "'instance:bag:label index:value ...'.",
                number,
            )
        instance, bag, label = "", query[4:], head
    if not label:
        raise LabelError(path, "the label is missing. Expected one on every line.", number)
    if not bag:
        raise FormatError(path, "the bag is missing. Expected one on every line.", number)
    return _Line(number, instance, bag, label, pairs)


def _parse_pairs(path: Path, block: list[_Line], zero_based: bool) -> tuple[Array, Array, Array]:
    """Return the values, column indices and entries a line of some lines."""
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
    wrong = (columns < 0) | (columns != np.floor(columns))
    if wrong.any():
        _find_wrong_index(path, block, counts, int(np.argmax(wrong)), zero_based)
    return numbers[1::2], columns.astype(np.int64), counts


def _find_wrong_pair(path: Path, block: list[_Line]) -> None:
    for line in block:
        tokens = line.pairs.split()
        for token in tokens:
            index, colon, value = token.partition(":")
            is_pair = colon and is_number(index) and is_number(value)
            if is_pair:
                continue
            is_cut = line is block[-1] and token is tokens[-1] and not value
            kind = TruncatedFileError if is_cut else MixedTypeError
            raise kind(path, f"{token!r} is not a pair index:value.", line.number)


def _find_wrong_index(
    path: Path, block: list[_Line], counts: Array, entry: int, zero_based: bool
) -> None:
    line = block[int(np.searchsorted(np.cumsum(counts), entry, side="right"))]
    first = 0 if zero_based else 1
    raise FormatError(
        path,
        f"an index is not a whole number of at least {first}."
        + ("" if zero_based else " Pass zero_based=True where indices count from zero."),
        line.number,
    )


def _stack(path: Path, blocks: list[tuple[Array, Array, Array]], n_features: int | None) -> Any:
    data = np.concatenate([block[0] for block in blocks])
    columns = np.concatenate([block[1] for block in blocks])
    pointers = np.concatenate([[0], np.cumsum(np.concatenate([block[2] for block in blocks]))])
    largest = int(columns.max()) + 1 if len(columns) else 1
    if n_features is not None and largest > n_features:
        raise FormatError(path, f"an index is {largest}, n_features is {n_features}.")
    shape = (len(pointers) - 1, n_features or largest)
    return small_csr(data, columns, pointers, shape)


def write_svmlight(path: str | Path, bags: Bags, y: Any, *, style: str = "qid") -> None:
    """Write an svmlight file whose lines name their bag.

    Parameters
    ----------
    path : str or Path
        The file to write, gzip where it ends in ``.gz``.
    bags : Bags
        The bags; zeros of dense ones are left out. Ids must be without white space and colons.
    y : array-like of shape (n_bags,)
        Their labels.
    style : {"qid", "triple"}, default="qid"
        ``label qid:bag ...`` or ``instance:bag:label ...``.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import write_svmlight
    >>> path = getfixture("tmp_path") / "bags.svm"
    >>> write_svmlight(path, Bags.from_list([[[0.0, 2.0]], [[1.5, 0.0]]]), [1, -1])
    >>> print(path.read_text())
    # n_features 2
    1 qid:0 2:2.0
    -1 qid:1 1:1.5
    <BLANKLINE>
    """
    if style not in ("qid", "triple"):
        raise ValueError(f"style must be 'qid' or 'triple', it is {style!r}.")
    path = Path(path)
    y = checked_labels(bags, np.asarray(y))
    warn_left_out(path, bags, ("groups", "priors", "bag_features", "instance_labels"))
    heads = _heads(path, bags, y, style)
    with write_text(path) as file:
        file.write(f"# n_features {bags.n_features}\n")
        for row, head in enumerate(heads):
            columns, values = _entries(bags.X, row)
            pairs = zip((columns + 1).tolist(), values.tolist(), strict=True)
            file.write(" ".join([head, *(f"{j}:{v!r}" for j, v in pairs)]) + "\n")


def _heads(path: Path, bags: Bags, y: Array, style: str) -> Iterator[str]:
    names = {"bag": expand(bags.ids, bags.offsets), "label": expand(y, bags.offsets)}
    if style == "triple":
        names["instance"] = bags.instance_ids
    for name, values in names.items():
        for value in dict.fromkeys(values.tolist()):
            if _SPECIAL.search(str(value)):
                raise FormatError(path, f"the {name} {value!r} cannot be written as svmlight.")
    texts = {name: map(str, values.tolist()) for name, values in names.items()}
    if style == "qid":
        return (f"{y} qid:{b}" for y, b in zip(texts["label"], texts["bag"], strict=True))
    triples = zip(texts["instance"], texts["bag"], texts["label"], strict=True)
    return (":".join(triple) for triple in triples)


def _entries(X: Any, row: int) -> tuple[Array, Array]:
    if sp.issparse(X):
        entries = slice(X.indptr[row], X.indptr[row + 1])
        order = np.argsort(X.indices[entries], kind="stable")
        return X.indices[entries][order], X.data[entries][order]
    values = np.asarray(X[row])
    columns = np.flatnonzero(values)
    return columns, values[columns]
