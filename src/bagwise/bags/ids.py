"""Names of bags and instances, and values that must be the same within a bag."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from itertools import chain, count
from typing import Any
from unicodedata import normalize
from zlib import crc32

import numpy as np

from bagwise._typing import Array
from bagwise.bags.segments import bag_of_row, expand
from bagwise.errors import list_names, suggestion

_LONGEST_NAME = 120  # bytes: systems take 255, and a suffix and a temporary name need some
_SIMPLE = (str, int, float, np.generic)


def factorize(ids: Any) -> tuple[Array, Array]:
    """Number hashable ids by first appearance; return (number of each entry, distinct ids)."""
    ids = ids if isinstance(ids, np.ndarray) else list(ids)
    if isinstance(ids, np.ndarray) and ids.ndim != 1:
        raise ValueError(f"bag_ids must be 1-D, one id per row of X, got shape {ids.shape}.")
    position = first_missing(ids)
    if position is not None:
        raise ValueError(f"The bag id of row {position} is NaN or missing.")
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iufUSM":
        unique, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return rank[inverse.ravel()].astype(np.int64), unique[order]
    check_hashable(ids)
    numbers: dict[Any, int] = {}
    codes = np.fromiter((numbers.setdefault(i, len(numbers)) for i in ids), np.int64, len(ids))
    return codes, as_names(list(numbers))


def as_names(values: Any) -> Array:
    """Return names as an array: of their own type where they share a simple one, else objects."""
    if isinstance(values, np.ndarray):
        return values
    if not isinstance(values, Iterable):
        raise ValueError(f"Expected a sequence of names, got {values!r}.")
    values = list(values)
    objects = np.fromiter(values, dtype=object, count=len(values))
    if len({type(v) for v in values}) == 1 and isinstance(values[0], _SIMPLE):
        names = np.asarray(values)
        # NumPy rounds huge integers and drops zero bytes at the end of strings.
        if np.array_equal(names, objects):
            return names
    check_hashable(values)
    return objects


def check_hashable(values: Iterable[Any]) -> None:
    """Refuse names that cannot be dictionary keys, such as lists."""
    refused = {kind for kind in {type(v) for v in values} if not issubclass(kind, Hashable)}
    for i, value in enumerate(values if refused else ()):
        if type(value) in refused:
            raise ValueError(
                f"The name at position {i} is a {type(value).__name__}, which cannot be hashed: "
                "use a string, a number or a tuple."
            )


def name_of(ids: Any, i: int) -> str:
    """Return how an error message refers to bag i."""
    if ids is None or np.ndim(ids) != 1 or i >= len(ids):
        return f"Bag {i}"
    name = ids[i].item() if isinstance(ids[i], np.generic) else ids[i]
    return f"Bag {i} (id {name!r})"


def match_names(
    wanted: Iterable[str], known: Iterable[str], marks: str = "."
) -> dict[str, list[str]]:
    """Return the known names that each wanted one stands for: itself, or those it begins.

    A name is begun by what precedes one of its dots, or of other ``marks``. It belongs to the
    longest wanted name that begins it, so that none belongs to two.

    Examples
    --------
    >>> from bagwise.bags.ids import match_names
    >>> match_names(["S1", "S1.2", "S3"], ["S1.2", "S3.1f3a", "S35"])
    {'S1': [], 'S1.2': ['S1.2'], 'S3': ['S3.1f3a']}
    """
    found: dict[str, list[str]] = {name: [] for name in wanted}
    for name in dict.fromkeys(known):
        start = name
        while start and start not in found:
            start = start[: max(0, *map(start.rfind, marks))]
        if start:
            found[start].append(name)
    return {name: [name] if name in names else names for name, names in found.items()}


def require_single(found: dict[str, list[str]], known: Iterable[str]) -> dict[str, str]:
    """Return the one match of each name; an error lists all names with none or several."""
    missing = [name for name, names in found.items() if not names]
    several = [f"{n!r} begins {list_names(names)}." for n, names in found.items() if names[1:]]
    problems = [f"Several bags have this name: {each}" for each in several]
    if missing:
        start = "There are no bags" if missing[1:] else "There is no bag"
        problems += [f"{start} {list_names(map(repr, missing))}. {suggestion(missing[0], known)}"]
    if problems:
        raise ValueError(list_names(problems, " "))
    return {name: names[0] for name, names in found.items()}


def resolve_names(wanted: Iterable[str], known: Iterable[str]) -> set[str]:
    """Return the ids that names stand for: an id, or the only one that it begins before a dot."""
    known = list(known)
    return {*require_single(match_names(wanted, known), known).values()}


def file_names(ids: Iterable[Any]) -> list[str]:
    """Return a different name for a file of each id: the id itself if possible, else like it.

    Names that differ in case only are the same to some systems, so one of them is changed too.

    Examples
    --------
    >>> from bagwise.bags.ids import file_names
    >>> file_names(["a_b", "a/b", 7])
    ['a_b', 'a_b-07f4401c', '7']
    """
    texts, names = [str(each) for each in ids], list[str]()
    waiting = {_fold(text) for text in texts if _is_file_name(text)}  # for those that need them
    kept = set(waiting)
    for text in texts:
        name = text
        if _is_file_name(text) and _fold(text) in waiting:
            waiting.remove(_fold(text))
        else:
            like = re.sub(r"[^\w-]", "_", text, flags=re.ASCII)[:_LONGEST_NAME]
            like = f"{like}-{crc32(text.encode(errors='replace')):08x}"
            others = chain([like], (f"{like}-{i}" for i in count(2)))
            name = next(each for each in others if _fold(each) not in kept)
        kept.add(_fold(name))
        names.append(name)
    return names


def _is_file_name(text: str) -> bool:
    """Return whether all systems take a text as the name of a file, also with a suffix."""
    plain = re.fullmatch(r"[\w-]([\w .+=@()-]*[\w+=@()-])?", text) and text.isprintable()
    device = re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", text, flags=re.IGNORECASE)
    return bool(plain) and not device and len(text.encode()) <= _LONGEST_NAME


def _fold(name: str) -> str:
    return normalize("NFKC", name).casefold()


def first_missing(values: Iterable[Any]) -> int | None:
    """Return the position of the first NaN, NaT, NA or None, if there is one."""
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        if values.dtype.kind not in "fcmM":
            return None
        missing = np.isnat(values) if values.dtype.kind in "mM" else np.isnan(values)
        return int(np.argmax(missing)) if missing.any() else None
    return next((i for i, v in enumerate(values) if is_missing(v)), None)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    differs = value != value
    # NA answers every comparison with NA, which has no truth value.
    if type(differs).__name__ == "NAType":
        return True
    return isinstance(differs, bool | np.bool_) and bool(differs)


def differ_from_first(values: Array, offsets: Array) -> Array:
    """Return which rows differ from the first row of their bag, where NaN equals NaN."""
    first = expand(values[offsets[:-1]], offsets)
    differs = (values != first) & ~((values != values) & (first != first))
    return differs if differs.ndim == 1 else differs.any(axis=1)


def first_difference(values: Array, offsets: Array) -> int | None:
    """Return the first row that differs from the first row of its bag, if any."""
    rows = np.flatnonzero(differ_from_first(values, offsets))
    return int(rows[0]) if len(rows) else None


def constant_within(values: Array, offsets: Array, ids: Array, what: str) -> Array:
    """Return one value per bag; a bag with two different values is an error."""
    per_bag, row = values[offsets[:-1]], first_difference(values, offsets)
    if row is not None:
        bag = bag_of_row(row, offsets)
        raise ValueError(
            f"{name_of(ids, bag)} has two values of {what}: {per_bag[bag]} and {values[row]}. It "
            "must be the same on all rows of a bag."
        )
    return per_bag
