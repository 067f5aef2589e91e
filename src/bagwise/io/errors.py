"""What can be wrong with a file, each with a name of its own."""

from __future__ import annotations

from os import PathLike

__all__ = [
    "CorruptFileError",
    "DuplicateColumnError",
    "FormatError",
    "LabelError",
    "MixedTypeError",
    "ShuffledBagError",
    "TruncatedFileError",
]


class FormatError(ValueError):
    """A file is not what it should be; the message names the file, the place and the remedy.

    Parameters
    ----------
    path : path-like
        The file.
    problem : str
        What was found, and what was expected.
    line : int or str, default=None
        Where: a line number, or a place in words such as "row 3".
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
        super().__init__(f"{', '.join(place)}: {problem}")

    def __reduce__(self) -> tuple:
        return type(self), (self.path, self.problem, self.line, self.column)


class TruncatedFileError(FormatError):
    """The file ends too early."""


class CorruptFileError(FormatError):
    """The file's bytes are damaged, or are another format than its name says."""


class DuplicateColumnError(FormatError):
    """Two columns share one name."""


class MixedTypeError(FormatError):
    """A feature holds something that is not a number."""


class LabelError(FormatError):
    """A bag has two labels, or none."""


class ShuffledBagError(FormatError):
    """The rows of a bag do not follow one another."""


# The parameters are those of the base class; every public name documents its own.
_SUMMARY, _MARK, _PARAMETERS = (FormatError.__doc__ or "").partition("\n\n    Parameters")
for _kind in FormatError.__subclasses__():
    _kind.__doc__ = f"{_kind.__doc__}{_MARK}{_PARAMETERS}"
