"""Covariates of bags from columns of a table: numbers, or texts."""

from __future__ import annotations

from pathlib import Path

from bagwise.bags import Bags
from bagwise.bags.ids import match_names, name_of
from bagwise.errors import Argument, Message, suggestion
from bagwise.io.dispatch import recognize
from bagwise.io.errors import FormatError
from bagwise.io.findings import find_numbers, read_table
from bagwise.io.tables import is_number

_BAGS = ("slide_id", "slide", "bag")


def attach_covariates(
    bags: Bags, path: Path, columns: list[str], bag: str | None, decimal: str | None = None
) -> Bags:
    """Return the bags with columns of a table as bag features.

    The table has a row per bag, or one per instance with the same values on all rows of a bag.
    """
    names = [bag] if bag else _BAGS
    frame = read_table(path, recognize(path), decimal=decimal, texts=names)
    frame.columns = [str(name) for name in frame.columns]
    bag = next((name for name in names if name in frame), names[-1])
    for name in (bag, *columns):
        if name not in frame:
            hint = suggestion(name, [*frame.columns])
            raise FormatError(path, f"has no column {name!r}. {hint}", 1)
    for column, text in find_numbers(frame, columns, decimal).items():
        if not is_number(text, decimal or "."):
            of = frame[bag][frame[column].astype(str) == text].iloc[0]
            start = f"is {text!r} for bag {of!r} and mostly numbers. Write a number there, or words"
            remedy = (" everywhere; for a decimal comma pass ", Argument("decimal", "','"), ".")
            raise FormatError(path, Message(start, *remedy), column=column)
    rows_of, ids = frame.groupby(frame[bag].astype(str)).indices, list(map(str, bags.ids.tolist()))
    # The name of a bag may begin its id before a dot.
    owners = {each: name for name, found in match_names(rows_of, ids).items() for each in found}
    first = []
    for i, name in enumerate(ids):
        if name not in owners:
            raise FormatError(path, f"{name_of(bags.ids, i)} has no row, and so no covariates.")
        rows = rows_of[owners[name]]
        first.append(rows[0])
        for column in columns:
            values, problem = frame[column].iloc[rows], ""
            if values.isna().any():
                problem = "has no value. Fill it in, or leave the covariate out."
            elif values.nunique() > 1:
                two = " and ".join(map(repr, values.unique()[:2].tolist()))
                problem = f"has the values {two}: a covariate belongs to the bag."
            if problem:
                raise FormatError(path, f"{name_of(bags.ids, i)} {problem}", column=column)
    return bags.replace(bag_features=frame[columns].iloc[first].to_numpy())
