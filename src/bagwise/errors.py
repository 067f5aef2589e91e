"""Messages that know which arguments they name, suggestions for misspelled names, warnings.

An error names what the caller can change: an argument in Python, such as ``bag=...``, an option at
the command line, such as ``--bag COLUMN``. A `Message` is worded for Python and keeps its arguments
as data, so that the command line can word it again. Any exception or warning can carry one:
``raise ValueError(Message(...))``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches


class NotCalibratedError(ValueError):
    """A model is asked for p-values of instances before it has a reference for them."""


class PositiveClassWarning(UserWarning):
    """The labels do not say which class is the positive one."""


class SingleInstanceWarning(UserWarning):
    """Every row of a plain table is taken as a bag of one instance."""


class TaskWarning(UserWarning):
    """Labels look as if they were of another kind than the model is for."""


class ScaleWarning(UserWarning):
    """A kernel compares features whose spreads differ by orders of magnitude."""


class BelowChanceWarning(UserWarning):
    """Scores of bags that the model has not seen rank them significantly worse than chance."""


_LISTED = 15  # names that a message lists before it says "...": more would fill the screen


@dataclass(frozen=True)
class Argument:
    """An argument of a function, as a message names it; without a value, the argument itself.

    Examples
    --------
    >>> from bagwise.errors import Argument
    >>> print(Argument("features", "[...]"), Argument("pos_label", ""))
    features=[...] pos_label
    """

    name: str
    value: str = "..."

    def __str__(self) -> str:
        return f"{self.name}={self.value}" if self.value else self.name


class Parameter(Argument):
    """A parameter of the estimator at hand."""


class Step(Argument):
    """A step to put before the estimator in a pipeline; ``value`` is its code."""

    def __str__(self) -> str:
        return f"{self.value} in a pipeline"


SCALE = Step("scale", "PerInstance(StandardScaler())")


class Message(str):
    """A text that names arguments: worded for Python, and kept in parts for other wordings.

    Examples
    --------
    >>> from bagwise.errors import Argument, Message, message_of
    >>> error = ValueError(Message("Name the column with ", Argument("bag"), " first."))
    >>> str(error)
    'Name the column with bag=... first.'
    >>> message_of(error).reword(lambda argument: f"--{argument.name}")
    'Name the column with --bag first.'
    """

    parts: tuple[str | Argument, ...]

    def __new__(cls, *parts: str | Argument) -> Message:
        """Word it for Python."""
        self = super().__new__(cls, "".join(map(str, parts)))
        self.parts = parts
        return self

    def __reduce__(self) -> tuple[type[Message], tuple[str | Argument, ...]]:
        return Message, self.parts

    def reword(self, word: Callable[[Argument], str]) -> str:
        """Return the text with every argument as ``word`` says it."""

        def again(part: str | Argument) -> str:
            if isinstance(part, Argument):
                return word(part)
            return part.reword(word) if isinstance(part, Message) else part

        return "".join(map(again, self.parts))


def message_of(error: BaseException | str) -> str:
    """Return what an exception or a warning says: the `Message` that it carries, or plain text.

    ``str(error)`` is plain text always: tools that pass warnings between processes rely on it.
    """
    carried = [error] if isinstance(error, str) else getattr(error, "args", ())
    return next((each for each in carried if isinstance(each, Message)), str(error))


def list_names(names: Iterable[str], separator: str = ", ") -> str:
    """Return the names in one line, or one per line; a long list is cut.

    Examples
    --------
    >>> from bagwise.errors import list_names
    >>> list_names(f"f{j}" for j in range(711))
    'f0, f1, f2, ..., f14, ... (711 in all)'
    """
    names = list(names)
    more = f"{separator}... ({len(names)} in all)" if len(names) > _LISTED else ""
    return separator.join(names[:_LISTED]) + more


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return "Did you mean ...?" for a misspelled name, else the names there are.

    Examples
    --------
    >>> from bagwise.errors import suggestion
    >>> suggestion("muks1", ["musk1", "musk2", "fox"])
    "Did you mean 'musk1'?"
    >>> suggestion("iris", ["musk1", "musk2", "fox"])
    'Known names: musk1, musk2, fox.'
    """
    names = [str(each) for each in known]
    close = get_close_matches(name.casefold(), {each.casefold() for each in names}, n=2, cutoff=0.7)
    meant = [repr(each) for each in names if each.casefold() in close]
    if meant:
        return f"Did you mean {' or '.join(meant)}?"
    return f"Known names: {list_names(names)}."
