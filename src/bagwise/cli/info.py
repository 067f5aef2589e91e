"""``bagwise info``: what a file holds, what it needs, and the next command."""

from __future__ import annotations

from dataclasses import asdict, replace
from shlex import join, quote
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from bagwise.cli.options import as_words, join_names, split_names
from bagwise.cli.output import Json, fact_table, say, say_next, show, show_json
from bagwise.cli.source import TABLES, Source, cut_labels, guess_columns, is_measurement
from bagwise.errors import list_names

_INNER = 3  # folds within the folds of compare


def info(source: Source, as_json: Json = False) -> None:
    """Look at your data: bags, labels, groups, features, and what to do next.

    Columns that you do not name are guessed from their values. Nothing is changed and nothing is
    fitted; the next command is printed at the end.

    `bagwise info cells.csv`

    `bagwise info cells.csv --bag slide --label diagnosis --groups patient`
    """
    from bagwise.io.findings import look_at

    guessed = _guess(source)
    bags, y = guessed.read()
    guessed, bags, y, folds = _make_learnable(source, guessed, bags, y)
    found = look_at(bags, y)
    command = ["bagwise", "compare" if folds else "fit", *guessed.words()]
    command += _flags(guessed, found, folds)
    if as_json:
        columns = {**guessed.columns, "drop": split_names(guessed.drop)}
        show_json({"columns": columns, **asdict(found), "next": join(command)})
        return
    show(_table(guessed, bags, found))
    for line in _advice(guessed, found):
        say(escape(line))
    if not found.labels:
        say(escape(_ask_for_labels(guessed)))
    elif len(found.labels) > 1 and min(found.labels.values()) > 1:
        say_next(command)


def _make_learnable(
    source: Source, guessed: Source, bags: Any, y: Any
) -> tuple[Source, Any, Any, int]:
    """Cut labels that are numbers, and leave out guessed groups that are too few for folds.

    Also returns the number of folds that the bags allow.
    """
    from bagwise.crossfit.folds import count_fewest, most_folds

    if y is None:
        return guessed, bags, y, 0
    if guessed.cut is None and is_measurement(y):
        guessed = replace(guessed, cut=float(f"{np.median(y):.6g}"))
        y = cut_labels(y, guessed.cut)
        say(
            f"The labels are numbers: --cut makes two classes, split at the median {guessed.cut:g}."
            " `bagwise fit --model AutoBagRegressor` predicts them as they are."
        )
    folds = most_folds(count_fewest(bags, y), _INNER)
    if not folds and source.groups is None and bags.groups is not None:
        groups = guessed.groups
        say(f"Column {escape(str(groups))!r} has too few values for folds: it is left out.")
        guessed = replace(
            guessed, groups=None, drop=[*(guessed.drop or []), join_names([str(groups)])]
        )
        bags = bags.replace(groups=None)
        folds = most_folds(count_fewest(bags, y), _INNER)
    return guessed, bags, y, folds


def _ask_for_labels(source: Source) -> str:
    """Say how to name the labels."""
    from bagwise.io.tables import sniff

    if source.labels is not None:
        return f"Name the labels with --label: {list_names(sniff(source.labels).names)}."
    table = ", and the table that has them with --labels CSV" if source.data.is_dir() else ""
    return f"Name the labels with --label COLUMN{table}."


def _guess(source: Source) -> Source:
    """Fill in the columns that the user did not name, from the values of a table."""
    from bagwise.io.dispatch import recognize
    from bagwise.io.findings import find_numbers, has_decimal_commas

    if not source.data.exists() or (source.format or recognize(source.data)) not in TABLES:
        return source
    format = source.format or recognize(source.data)
    frame, roles = guess_columns(source.data, format, source.bag, source.decimal)
    if format == "csv" and source.decimal is None and has_decimal_commas(frame):
        return _guess(replace(source, decimal=","))
    if all(name.isdecimal() for name in frame.columns):  # no header: columns have numbers
        return source
    filled = _fill_roles(source, roles, {*frame.columns})
    for name, text in find_numbers(frame, roles.texts).items():
        why = f"has numbers as texts ({text!r}): write plain numbers to make it a feature"
        say(escape(f"Column {name!r} {why}."))
    bag = frame.get(filled.bag or "bag")
    regroup = bag is not None and int(bag.ne(bag.shift()).sum()) > bag.nunique()
    return replace(filled, regroup=source.regroup or regroup)


def _fill_roles(source: Source, roles: Any, names: set[str]) -> Source:
    """Take the guessed roles where the user named none; usual names need no option."""
    label = "label" if "label" in names else roles.label
    groups = "group" if "group" in names else roles.groups
    own = source.instance_id or (None if "instance" in names else roles.instance)
    taken = {source.label, source.groups, own, *(split_names(source.features) or [])}
    texts = [name for name in roles.texts if name not in taken | _USUAL]
    of_cells = source.data.suffix == ".h5ad"  # whose columns are apart from the features
    drop = [join_names(texts)] if texts and not source.features and not of_cells else None
    return replace(
        source,
        bag=source.bag or roles.bag,
        label=source.label or (label if label != source.groups else None),
        groups=source.groups or (groups if groups != source.label else None),
        drop=source.drop or drop,
        instance_id=None if of_cells else own,
    )


_USUAL = {"bag", "label", "group", "instance", "instance_label", "prior"}  # readers know them


def _flags(source: Source, found: Any, folds: int) -> list[str]:
    """Return the options that the data need beside the columns."""
    from bagwise.crossfit.folds import N_FOLDS
    from bagwise.estimators.input import order_is_meaning

    flags = ["--folds", str(folds)] if folds < N_FOLDS else []
    if not folds:  # too few bags to compare models
        flags = ["--model", "auto" if min(found.labels.values(), default=0) > 2 else "MI-SVM"]
    if found.missing and source.impute is None:
        flags += ["--impute", "median"]
    if not order_is_meaning([*found.labels]):
        flags += ["--positive", "auto"]
    return flags


def _table(source: Source, bags: Any, found: Any) -> Table:
    from bagwise.reports.facts import describe_findings

    rows = dict(describe_findings(bags, found))
    if columns := as_words(**source.columns):
        rows["Columns"] = join(columns)
    if left_out := split_names(source.drop):
        rows["Left out"] = list_names(left_out)
    return fact_table(rows, str(source.data))


def _advice(source: Source, found: Any) -> list[str]:
    """Say what misleads in these data."""
    lines = []
    if found.shared_across_groups:
        lines.append("Copies in several groups make results too good: are these groups right?")
    elif found.shared and not found.n_groups:
        lines.append("Copies in training and test bags make results too good: give --groups.")
    if found.n_bags == found.n_instances:
        lines.append("Every bag has one instance: is --bag the right column?")
    for name in found.counters:
        why = "numbers the instances of each bag. If it is no feature, leave it out with"
        lines.append(f"Feature {name!r} {why} --drop {quote(name)}.")
    lines += [f"Look at this before you trust a model. {leak}." for leak in found.leaks]
    if any(leak.features for leak in found.leaks):
        lines.append("Leave out features that are no measurements with --drop NAMES.")
    if len(found.labels) == 1:
        lines.append("There is only one label: learning needs two.")
    if not found.n_groups and found.labels:
        whom = "patient" if source.data.is_dir() or source.bag == "slide" else "source"
        lines.append(f"If several bags come from one {whom}, name that column with --groups.")
    return lines
