"""Hints after an error about a table: what its columns look like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rich.markup import escape

from bagwise.cli.output import say

TABLES = ("csv", "excel", "parquet", "arrow", "h5ad")  # formats whose columns have names


def missing_file(path: Path) -> FileNotFoundError:
    """Return the error about a file that is not there, with names that look like it."""
    there = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    close = get_close_matches(path.name, there, n=2, cutoff=0.7)
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    return FileNotFoundError(f"There is no file or folder {path}.{meant}")


@contextmanager
def add_hints(data: Path, columns: dict[str, Any]) -> Iterator[None]:
    """Say after an error about a column what it may be; the error itself is raised again."""
    from bagwise.io.errors import FormatError, MixedTypeError

    try:
        yield
    except FormatError as error:
        roles = ["bag", *filter(None, (columns.get(name) for name in ("bag", "label", "groups")))]
        if isinstance(error, MixedTypeError) and "decimal" not in error.problem:
            _hint(data, columns, str(error.column))
        elif any(error.problem.startswith(f"has no column {name!r}") for name in roles):
            _hint(data, columns, None)
        raise


def guess_columns(
    data: Path, format: str, bag: str | None, decimal: str | None = None
) -> tuple[Any, Any]:
    """Return a table, and what its columns look like from their values."""
    from bagwise.io.findings import guess_roles, read_table

    frame = read_table(data, format, decimal=decimal)
    frame.columns = [str(name) for name in frame.columns]
    bag = bag or "bag"
    return frame, guess_roles(frame, bag if bag in frame else None)


def _hint(data: Path, columns: dict[str, Any], column: str | None) -> None:
    from bagwise.io.dispatch import recognize
    from bagwise.io.findings import is_constant

    format = recognize(data)
    if format not in TABLES:
        return
    frame, roles = guess_columns(data, format, columns.get("bag"))
    if column is None:
        found = {"--bag": roles.bag, "--label": roles.label, "--groups": roles.groups}
        looks = " ".join(f"{flag} {name}" for flag, name in found.items() if name is not None)
        if roles.bag is not None:
            say(escape(f"Hint: from their values, the columns may be {looks}."))
    elif column in (roles.label, roles.groups):
        flag = "--label" if column == roles.label else "--groups"
        say(escape(f"Hint: {column!r} is the same on all rows of a bag: is it {flag} {column}?"))
    elif column in frame and roles.bag is not None and is_constant(frame, roles.bag, column):
        what = f"Hint: {column!r} is the same on all rows of a bag. If it is no feature, name it "
        say(escape(f"{what}with --label or --groups, or leave it out with --drop {column}."))
    elif column in frame:
        say(escape(f"Hint: leave the column out with --drop {column}."))
