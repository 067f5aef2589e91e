"""Folds of bags: stratified by class, and never splitting a group of ``bags.groups``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.arrays import as_indices
from bagwise.bags.ids import factorize
from bagwise.errors import Argument, Message, Parameter

CV = Parameter("cv", "")
N_FOLDS = 5  # where nobody says how many, as in scikit-learn


def folds(
    bags: Bags,
    y: Array,
    cv: Any,
    random_state: Any,
    used: Array | None = None,
    name: Argument = CV,
    *,
    ordered: bool = False,
) -> list[tuple[Array, Array]]:
    """Return folds of the bags; a number of folds is stratified and keeps groups together.

    ``cv`` is a number of folds (5 when None), a splitter of scikit-learn or the folds themselves;
    ``used`` says which bags take part (the numbers returned count among those), ``name`` what sets
    the folds, as errors name it. Labels that are ``ordered`` (numbers, events and times) are spread
    evenly over a number of folds.
    """
    used = np.ones(len(bags), dtype=bool) if used is None else used
    if _is_number(cv):
        part, labels, n_splits = bags[used], y[used], N_FOLDS if cv is None else int(cv)
        if ordered:
            return _spread_folds(part, labels, (name, n_splits), random_state)
        check_enough_bags(part, labels, (name, n_splits))
        splits = _make_folds(part, labels, n_splits, random_state)
    else:
        number = np.cumsum(used) - 1
        every = check_cv(cv).split(np.zeros(len(bags)), y, _group_numbers(bags))
        parts = [[as_indices(part, len(bags)) for part in split] for split in every]
        splits = [(number[a[used[a]]], number[b[used[b]]]) for a, b in parts]
    _check_folds(splits, np.zeros(used.sum()) if ordered else y[used], name)
    return splits


def _spread_folds(
    bags: Bags, y: Array, level: tuple[Argument, int], random_state: Any
) -> list[tuple[Array, Array]]:
    """Return folds that share units of neighboring labels, so that each has some of every size."""
    name, n_splits = level
    unit, rng = number_units(bags), check_random_state(random_state)
    n_units = int(unit.max()) + 1
    if n_units < n_splits:
        kind = "bags" if bags.groups is None else "groups"
        what = f"n_samples = {len(bags)}: there are {n_units} {kind}, fewer than the "
        raise ValueError(Message(what, f"{n_splits} folds of ", name, ". Lower it."))
    columns = [y] if y.dtype.names is None else [y[key] for key in y.dtype.names[::-1]]
    sizes = np.bincount(unit)
    keys = [np.bincount(unit, column) / sizes for column in columns]
    order, fold = np.lexsort([rng.random_sample(n_units), *keys]), np.empty(n_units, dtype=int)
    for start in range(0, n_units, n_splits):
        block = order[start : start + n_splits]
        fold[block] = rng.permutation(n_splits)[: len(block)]
    held = fold[unit]
    return [(np.flatnonzero(held != k), np.flatnonzero(held == k)) for k in range(n_splits)]


def hold_out_part(
    bags: Bags, y: Array, fraction: float, random_state: Any, name: Parameter
) -> tuple[Array, Array]:
    """Return the numbers of training and of held-out bags: a fraction of every class, at least one.

    Bags of one group of ``bags.groups`` stay together; ``name`` is what sets the fraction.
    """
    unit = number_units(bags)
    order = check_random_state(random_state).permutation(unit.max() + 1)
    held = np.zeros(len(order), dtype=bool)
    for label in np.unique(y):
        members = np.bincount(unit[y == label], minlength=len(order))
        wanted = max(1, round(fraction * members.sum())) - members[held].sum()
        free = order[(members[order] > 0) & ~held[order]]
        before = np.cumsum(members[free]) - members[free]
        held[free[before < wanted]] = True
    train, test = np.flatnonzero(~held[unit]), np.flatnonzero(held[unit])
    missing = np.setdiff1d(y, y[train]).tolist()
    if missing:
        what = "bags" if bags.groups is None else "groups"
        few = f"Class {missing[0]!r} has too few {what} to hold some out and train on the others: "
        raise ValueError(Message(few, "lower ", name, f" or bring more {what} of that class."))
    return train, test


def check_enough_bags(bags: Bags, y: Array, *levels: tuple[Argument, Any]) -> None:
    """Refuse bags that are too few for their folds, before anything long is fitted.

    A level is what sets the folds, and the ``cv`` itself as in `folds`, where only a number is
    checked; there is one for each time that folds are made within the training part of folds, the
    outermost first.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.crossfit import CV, check_enough_bags
    >>> check_enough_bags(Bags.from_list([[[0.0]], [[1.0]], [[2.0]]]), [0, 1, 1], (CV, 2))
    Traceback (most recent call last):
    ...
    ValueError: Class 0 has 1 bag, fewer than the 2 inner folds of cv. Bring at least ...
    """
    numbered = [(name, N_FOLDS if cv is None else int(cv)) for name, cv in levels if _is_number(cv)]
    classes = np.unique(y).tolist()
    if numbered and len(classes) < 2:
        raise ValueError(f"All bags are of the class {classes[0]!r}: learning needs two classes.")
    unit, what = number_units(bags), "bags" if bags.groups is None else "groups"
    for label in classes:
        members = len(np.unique(unit[np.asarray(y) == label]))
        failing = _find_failing(members, [n_splits for _, n_splits in numbered])
        if failing is not None:
            few = "too few for" if failing else "fewer than"
            begin = f"Class {label!r} has {members} {what if members > 1 else what[:-1]}, {few} "
            remedy = _remedy(members, what, numbered, numbered[failing][0])
            raise ValueError(Message(begin, *_name_levels(numbered[: failing + 1]), ". ", remedy))


def count_fewest(bags: Bags, y: Array) -> int:
    """Return the number of bags, or groups, of the rarest class."""
    unit, y = number_units(bags), np.asarray(y)
    return min(len(np.unique(unit[y == label])) for label in np.unique(y))


def most_folds(fewest: int, inner: int) -> int:
    """Return the largest number of folds up to 5 whose training parts have ``inner`` folds, or 0.

    ``fewest`` is the number of bags of the rarest class.
    """
    every = range(N_FOLDS, 1, -1)
    return next((k for k in every if _find_failing(fewest, [k, inner]) is None), 0)


def _is_number(cv: Any) -> bool:
    return cv is None or isinstance(cv, Integral)


def _find_failing(members: int, levels: list[int]) -> int | None:
    """Return the first level whose folds cannot each hold one out and train on the others."""
    for level, n_splits in enumerate(levels):
        if members < n_splits:
            return level
        members -= -(-members // n_splits)  # the largest fold is held out
    return None


def _name_levels(levels: list[tuple[Argument, int]]) -> Iterator[str | Argument]:
    """Yield the words for folds within folds, the innermost first."""
    for i, (name, n_splits) in enumerate(reversed(levels)):
        inner = "inner " if isinstance(name, Parameter) else ""
        yield f"{' within ' if i else ''}the {n_splits} {inner}folds of "
        yield name


def _remedy(members: int, what: str, levels: list[tuple[Argument, int]], name: Argument) -> Message:
    def lower(k: int) -> list[int]:
        return [k if other == name else n_splits for other, n_splits in levels]

    most = max(n_splits for other, n_splits in levels if other == name)
    possible = range(2, min(most, members + 1))
    fewer = [k for k in possible if _find_failing(members, lower(k)) is None]
    if fewer:
        return Message("Lower ", name, f" to {fewer[-1]} or bring more {what} of that class.")
    enough = next(m for m in count(2) if _find_failing(m, lower(most)) is None)
    leave = (", or leave out ", Argument("groups", "")) if what == "groups" else ()
    return Message(f"Bring at least {enough} {what} of that class", *leave, ".")


def _make_folds(
    bags: Bags, y: Array, n_splits: int, random_state: Any
) -> list[tuple[Array, Array]]:
    groups = _group_numbers(bags)
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = kind(n_splits, shuffle=True, random_state=random_state)
    return list(splitter.split(np.zeros(len(bags)), y, groups))


def _group_numbers(bags: Bags) -> Array | None:
    # Groups may be of any hashable kind, which scikit-learn could not sort.
    return None if bags.groups is None else factorize(bags.groups)[0]


def number_units(bags: Bags) -> Array:
    """Return the number of each bag's group; without groups every bag is its own."""
    groups = _group_numbers(bags)
    return np.arange(len(bags)) if groups is None else groups


def number_folds(splits: list[tuple[Array, Array]]) -> Array:
    """Return the number of the fold that holds out each bag."""
    number = np.empty(sum(len(test) for _, test in splits), dtype=int)
    for fold, (_, test) in enumerate(splits):
        number[test] = fold
    return number


def _check_folds(splits: list[tuple[Array, Array]], y: Array, name: Argument) -> None:
    """Ask that every bag is held out once and every class is in every training part."""
    tests = np.concatenate([test for _, test in splits])
    if not np.array_equal(np.sort(tests), np.arange(len(y))):
        raise ValueError(
            Message("The inner folds of ", name, " must hold out every bag exactly once.")
        )
    for i, (train, _) in enumerate(splits):
        missing = np.setdiff1d(y, y[train]).tolist()
        if missing:
            held_out = (
                f"Inner fold {i} trains without class {missing[0]!r}: all its bags are held out "
            )
            more = ", or bring more groups of that class."
            raise ValueError(Message(held_out, "together. Lower ", name, more))
