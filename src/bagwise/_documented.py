"""Parameters that many functions share, documented once.

Readers of ten formats take the columns of the bags and of the labels, and figures of ten kinds take
a model, bags and axes. `documenting` holds a sentence for each such parameter; a function adds
those of its own. Names, types and defaults come from the signature.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from textwrap import fill
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])
Sentence = str | tuple[str, str]  # about a parameter; a type before it overrides the signature's

_HEADING = re.compile(r"^(\w[\w ]*)\n-+\n", re.MULTILINE)  # of a numpydoc section
_WORDS = {  # of an annotation, as numpydoc writes them
    **{" | None": "", "Sequence[": "sequence of ", "]": "", " | ": " or "},
    **{"DTypeLike": "dtype", "Column": "str or int", "Axes": "matplotlib.axes.Axes"},
    **{"ArrayLike": "array-like", "Any": "object"},
}
WIDTH = 100  # of a line, as in the source


def sections(docstring: str) -> tuple[str, dict[str, str]]:
    """Return the introduction of a docstring, and its sections by their headings."""
    intro, *rest = _HEADING.split(inspect.cleandoc(docstring) + "\n")
    texts = zip(rest[::2], rest[1::2], strict=True)
    return intro.strip() + "\n", {name: text.strip() for name, text in texts}


def join_sections(intro: str, parts: Mapping[str, str]) -> str:
    """Return the docstring of an introduction and its sections; empty ones are left out."""
    told = [f"{name}\n{'-' * len(name)}\n{text}\n" for name, text in parts.items() if text]
    return "\n".join([intro, *told])


def begin_example(parts: Mapping[str, str], before: str, name: str) -> dict[str, str]:
    """Return sections whose example, where it imports nothing, goes on from the lines ``before``.

    These import the ``name`` that is documented in place of {}.
    """
    example = parts.get("Examples", "")
    lines = before.format(name) if example and " import " not in example else ""
    return {**parts, "Examples": lines + example}


def documenting(
    shared: Mapping[str, Sentence], returns: str = "", before: str = ""
) -> Callable[..., Callable[[Function], Function]]:
    """Return a decorator that documents the parameters of a function.

    Parameters
    ----------
    shared : mapping of str to str or (str, str)
        Sentences about parameters, by their names; in a pair, the type comes first.
    returns : str, default=""
        The section "Returns", where a function has none of its own.
    before : str, default=""
        What examples that import nothing go on from.

    Returns
    -------
    callable
        Called with the sentences of a function's own parameters.
    """

    def of(**own: Sentence) -> Callable[[Function], Function]:
        def document(function: Function) -> Function:
            intro, found = sections(function.__doc__ or "")
            parameters = inspect.signature(function).parameters.values()
            entries = [_entry(one, *_find_sentence(shared, own, one.name)) for one in parameters]
            filled = {"Parameters": "\n".join(filter(None, entries)), "Returns": returns}
            name = getattr(function, "__name__", "")
            parts = begin_example({**filled, **found}, before, name)
            function.__doc__ = join_sections(intro, parts)
            return function

        return document

    return of


_OF_BAGS: dict[str, Sentence] = {
    "bags": ("Bags, or anything check_bags takes", "The bags."),
    "y": ("array-like of shape (n_bags,)", "One label per bag."),
    "sample_weight": ("array-like of shape (n_bags,)", "One weight per bag."),
}


def answers(kind: str, sentence: str, **own: Sentence) -> Callable[[Function], Function]:
    """Return a decorator that documents what is asked about bags, and what is returned."""
    return documenting(_OF_BAGS, f"{kind}\n{_indent(sentence)}")(**own)


def _find_sentence(
    shared: Mapping[str, Sentence], own: Mapping[str, Sentence], name: str
) -> tuple[str, str]:
    """Return the type of a parameter, where it is given, and its sentence."""
    if name in ("cls", "self"):
        return "", ""
    pairs = [one if isinstance(one, tuple) else ("", one)
             for one in (shared.get(name, ""), own.get(name, ""))]  # fmt: skip
    kind, sentence = (second or first for first, second in zip(*pairs, strict=True))
    if not sentence:
        raise TypeError(f"The parameter {name!r} is not documented.")
    return kind, sentence


def _entry(parameter: inspect.Parameter, kind: str, text: str) -> str:
    """Return what numpydoc says of a parameter; nothing of the object of a method."""
    if not text:
        return ""
    if not kind:
        kind = parameter.annotation
        for word, written in _WORDS.items():
            kind = kind.replace(word, written)
    default = parameter.default
    if isinstance(default, tuple) and len(default) > 3:
        kind += f", default=({default[0]}, ..., {default[-1]})"
    elif default is not parameter.empty:
        shown = (
            f'"{default}"' if isinstance(default, str) else getattr(default, "__name__", default)
        )
        kind += f", default={shown}"
    name = f"**{parameter.name}" if parameter.kind is parameter.VAR_KEYWORD else parameter.name
    return f"{name} : {kind}\n{_indent(text)}"


def _indent(text: str) -> str:
    return fill(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
