"""Errors about files, one class for each kind of damage."""

from __future__ import annotations

from inspect import cleandoc
from os import PathLike

from bagwise.errors import Message


class FormatError(ValueError):
    """A file is malformed; the message names the file, the place and the remedy.

    Parameters
    ----------
    path : path-like
        The file.
    problem : str
        What was found, and what was expected.
    line : int or str, default=None
        A line number, or a place in words such as "row 3".
    column : int or str, default=None
        The column, by name or number.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        problem: str,
        line: int | str | None = None,
        column: int | str | None = None,
    ) -> None:
        self.path, self.problem, self.line, self.column = path, problem, line, column
        place = [str(path)]
        if line is not None:
            place.append(f"line {line}" if isinstance(line, int) else line)
        if column is not None:
            place.append(f"column {column!r}")
        super().__init__(Message(f"{', '.join(place)}: ", problem))

    def __reduce__(self) -> tuple:
        return type(self), (self.path, self.problem, self.line, self.column)


class TruncatedFileError(FormatError):
    """The file ends too early."""


class CorruptFileError(FormatError):
    """The file is damaged, or its content is not of the format that its name indicates."""


class DuplicateColumnError(FormatError):
    """Two columns have the same name."""


class MixedTypeError(FormatError):
    """A feature contains something that is not a number."""


class LabelError(FormatError):
    """A bag has two labels, or none."""


class ShuffledBagError(FormatError):
    """The rows of a bag are not consecutive."""


def missing_value(
    path: PathLike[str],
    role: str,
    line: int | str | None = None,
    text: str = "",
    twin: str | None = None,
) -> FormatError:
    """Return the error about a bag id, label or other required value that is missing.

    A ``text`` such as "NA" may mean that; one that is not its ``twin`` differs in spaces only.
    """
    kind = LabelError if role == "label" else FormatError
    if twin is not None and twin != text:
        names = f"the {role.removesuffix('s')}s {twin!r} and {text!r}"
        problem = f"{names} differ in spaces only: write them alike."
        return kind(path, problem, line)
    if text:
        problem = f"the {role} is {text!r}, which may be a class or a missing value. Name the class"
        return kind(path, f"{problem} in another way, or leave out the rows.", line)
    return kind(path, f"the {role} is missing. Expected one on every row.", line)


# The parameters are those of the base class; every public name documents its own. Python takes
# the indentation off docstrings since 3.13.
_SUMMARY, _MARK, _PARAMETERS = cleandoc(FormatError.__doc__ or "").partition("\n\nParameters")
for _kind in FormatError.__subclasses__():
    _kind.__doc__ = f"{_kind.__doc__}{_MARK}{_PARAMETERS}\n"
