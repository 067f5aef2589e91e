"""``bagwise info``: what a file holds, what it needs, and the next command."""

from __future__ import annotations

from dataclasses import asdict, replace
from shlex import join, quote
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from bagwise.cli.model import order_of, settle_task
from bagwise.cli.options import as_words, join_names, split_names
from bagwise.cli.output import Json, fact_table, say, say_next, show, show_json
from bagwise.cli.source import TABLES, Source, guess_columns
from bagwise.errors import list_names

_INNER = 3  # folds within the folds of compare


def info(source: Source, as_json: Json = False) -> None:
    """Look at your data: bags, labels, groups, features, and what to do next.

    Columns that you do not name are guessed from their values. Nothing is changed and nothing is
    fitted; the next command is printed at the end.

    `bagwise info cells.csv`

    `bagwise info cells.csv --bag slide --label diagnosis --groups patient`
    """
    from bagwise.estimators.input import are_classes_in_disguise, read_task
    from bagwise.io.findings import look_at

    guessed = _guess(source)
    bags, y = guessed.read()
    task = "classes" if y is None else settle_task(guessed) or read_task(y)
    if task == "grades":
        order_of(y, guessed.order)  # asks for it where the labels do not say it
    guessed, bags, folds = _leave_out_groups(source, guessed, bags, y, task)
    found = look_at(bags, y)
    command = ["bagwise", "compare" if folds else "fit", *guessed.words()]
    command += _flags(guessed, found, folds, task)
    if as_json:
        columns = {**guessed.columns, "drop": split_names(guessed.drop)}
        labels = {"labels": found.labels if task in ("classes", "grades") else {}, "task": task}
        show_json({"columns": columns, **asdict(found), **labels, "next": join(command)})
        return
    show(_table(guessed, bags, found, y, task))
    for line in _advice(guessed, found):
        say(escape(line))
    if not found.labels:
        say(escape(_ask_for_labels(guessed)))
    elif task == "numbers":
        middle = f"--cut {np.median(y):.6g} would make two classes, split at the median"
        say(f"The labels are numbers, which are predicted; {middle}.")
    elif task == "classes" and len(found.labels) > 2 and are_classes_in_disguise(y):
        say("The labels are taken as classes: if they are grades, --task grades uses their order.")
    few = task == "classes" and min(found.labels.values(), default=0) < 2
    if len(found.labels) > 1 and not few and not found.infinite:
        say_next(command)


def _leave_out_groups(
    source: Source, guessed: Source, bags: Any, y: Any, task: str
) -> tuple[Source, Any, int]:
    """Leave out guessed groups that are too few for folds.

    Also returns the number of folds that the bags allow.
    """
    folds = _count_folds(bags, y, task)
    if y is not None and not folds and source.groups is None and bags.groups is not None:
        groups = guessed.groups
        say(f"Column {escape(str(groups))!r} has too few values for folds: it is left out.")
        drop = [*(guessed.drop or []), join_names([str(groups)])]
        guessed = replace(guessed, groups=None, drop=drop)
        bags = bags.replace(groups=None)
        folds = _count_folds(bags, y, task)
    return guessed, bags, folds


def _count_folds(bags: Any, y: Any, task: str) -> int:
    from bagwise.crossfit.folds import count_fewest, most_folds, number_units

    if y is None:
        return 0
    units = len(np.unique(number_units(bags)))
    return most_folds(count_fewest(bags, y) if task == "classes" else units, _INNER)


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

    format = (source.format or recognize(source.data)) if source.data.exists() else ""
    if format not in TABLES or source.smiles is not None:  # whose other columns are no features
        return source
    facts = split_names(source.covariates) or []
    frame, roles = guess_columns(source.data, format, source.bag, source.decimal, facts)
    if format == "csv" and source.decimal is None and has_decimal_commas(frame):
        return _guess(replace(source, decimal=","))
    if all(name.isdecimal() for name in frame.columns):  # no header: columns have numbers
        return source
    filled = _fill_roles(source, roles, {*frame.columns})
    for name, text in find_numbers(frame, roles.texts, source.decimal).items():
        why = f"has numbers as texts ({text!r}): write plain numbers to make it a feature"
        say(escape(f"Column {name!r} {why}."))
    bag = frame.get(filled.bag or "bag")
    regroup = bag is not None and int(bag.ne(bag.shift()).sum()) > bag.nunique()
    return replace(filled, regroup=source.regroup or regroup)


def _fill_roles(source: Source, roles: Any, names: set[str]) -> Source:
    """Take the guessed roles where the user named none; usual names need no option."""
    label = "label" if "label" in names else roles.label
    if source.duration is not None or source.event is not None:
        label = None  # these are the labels
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


def _flags(source: Source, found: Any, folds: int, task: str) -> list[str]:
    """Return the options that the data need beside the columns."""
    from bagwise.crossfit.folds import N_FOLDS
    from bagwise.estimators.input import order_is_meaning

    flags = ["--folds", str(folds)] if folds < N_FOLDS else []
    if not folds:  # too few bags to compare models
        few = task == "classes" and min(found.labels.values(), default=0) < 3
        flags = ["--model", "MI-SVM" if few else "auto"]
    if found.missing and source.impute is None:
        flags += ["--impute", "median"]
    if task == "classes" and not order_is_meaning([*found.labels]):
        flags += ["--positive", "auto"]
    return flags


def _table(source: Source, bags: Any, found: Any, y: Any, task: str) -> Table:
    from bagwise.reports.facts import describe_findings, describe_labels

    rows = dict(describe_findings(bags, found))
    if task != "classes":
        rows["Bags"] = f"{len(bags):,} ({describe_labels(y)})"
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
    if found.infinite:
        drop = quote(join_names(found.infinite))
        lines.append(f"Correct infinite values, or leave these features out with --drop {drop}.")
    for name in found.counters:
        why = "numbers the instances of each bag. If it is no feature, leave it out with"
        lines.append(f"Feature {name!r} {why} --drop {quote(name)}.")
    lines += [f"Look at this before you trust a model. {leak}." for leak in found.leaks]
    if any(leak.features for leak in found.leaks) and not source.data.is_dir():
        lines.append("Leave out features that are no measurements with --drop NAMES.")
    if len(found.labels) == 1:
        lines.append("There is only one label: learning needs two.")
    if not found.n_groups and found.labels:
        whom = "patient" if source.data.is_dir() or source.bag == "slide" else "source"
        lines.append(f"If several bags come from one {whom}, name that column with --groups.")
    return lines
