"""The API reference: one page per public name, from docstrings as they are at run time.

Parameters of estimators are made from their fields when a class is defined, so that the modules
are imported and asked, not parsed.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Callable
from functools import cache, partial
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

from numpydoc.docscrape import NumpyDocString

import bagwise
import model_pages

SOURCE = Path(bagwise.__file__).parent
MODULES = {
    "bagwise": "Bags and estimators",
    "bagwise.preprocessing": "Preprocessing",
    "bagwise.assumptions": "Assumptions",
    "bagwise.model_selection": "Model selection",
    "bagwise.metrics": "Metrics",
    "bagwise.datasets": "Data sets",
    "bagwise.io": "Files",
    "bagwise.inspection": "Inspection",
    "bagwise.plot": "Figures",
    "bagwise.testing": "Checks for estimators",
}
DESCRIBED = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")


@cache
def public() -> dict[str, Any]:
    """Return every public object by its dotted name, modules excepted."""
    return {
        f"{module}.{name}": thing
        for module in MODULES
        for name in sorted(importlib.import_module(module).__all__, key=str.casefold)
        if not isinstance(thing := getattr(importlib.import_module(module), name), ModuleType)
    }


@cache
def _addresses() -> dict[str, str]:
    """Return the page of each public name, by all names under which a docstring may call it."""
    short = {path.rpartition(".")[2]: path for path in reversed(public())}
    return {name: f"{path}.md" for name, path in (short | {p: p for p in public()}).items()}


def navigation() -> list[dict[str, list[str]]]:
    """Return the part of the navigation: one section per module."""
    return [
        {title: [f"api/{path}.md" for path in public() if path.rpartition(".")[0] == module]}
        for module, title in MODULES.items()
    ]


def pages() -> dict[str, Callable[[], str]]:
    """Return how to make each page, by path."""
    return {f"api/{path}.md": partial(_page, path, thing) for path, thing in public().items()}


def with_links(markdown: str) -> str:
    """Return the API page with every name in its tables linked to its page."""
    module, lines = "bagwise", []
    for line in markdown.splitlines():
        heading = re.match(r"## .*`(bagwise[\w.]*)`", line)
        module = heading[1] if heading else module
        name = re.match(r"\| `(\w+)` \|", line)
        if name and f"{module}.{name[1]}" in public():
            line = line.replace(f"`{name[1]}`", f"[`{name[1]}`](api/{module}.{name[1]}.md)", 1)
        lines.append(line)
    return "\n".join(lines)


def _page(path: str, thing: Any) -> str:
    module, _, name = path.rpartition(".")
    parts = [f"# {name}", f"`{module}.{name}`{{ .type }}"]
    if isinstance(thing, tuple):
        return "\n\n".join([*parts, "One of " + ", ".join(f'`"{word}"`' for word in thing) + "."])
    doc = NumpyDocString(inspect.getdoc(thing) or "")
    parts += [_signature(name, thing), *_opening(doc), *model_pages.guide(thing, _linked)]
    parts += _body(doc, level=2)
    if inspect.isclass(thing) and not issubclass(thing, BaseException):
        parts += _members(thing)
    return "\n\n".join([*parts, *_source(thing)]) + "\n"


def _signature(name: str, thing: Any) -> str:
    try:
        signature = inspect.signature(thing)
    except ValueError:  # exceptions of C classes have none
        return f"```python\n{name}(message)\n```"
    empty = inspect.Parameter.empty
    plain = [p.replace(annotation=empty) for p in signature.parameters.values() if p.name != "self"]
    line = _rounded(f"{name}{signature.replace(parameters=plain, return_annotation=empty)}")
    if len(line) > 88:  # as wide as a page shows without a scroll bar
        rows = "".join(f"    {part},\n" for part in _split_arguments(line[len(name) + 1 : -1]))
        line = f"{name}(\n{rows})"
    return f"```python\n{line}\n```"


def _split_arguments(text: str) -> list[str]:
    """Split at commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _opening(doc: NumpyDocString) -> list[str]:
    summary = " ".join(doc["Summary"])
    return [_prose(text) for text in (summary, "\n".join(doc["Extended Summary"])) if text]


def _body(doc: NumpyDocString, level: int) -> list[str]:
    head = "#" * level if level == 2 else ""
    parts: list[str] = []
    for section in DESCRIBED:
        if doc[section]:
            parts += [f"{head} {section}" if head else f"**{section}**", _described(doc[section])]
    for section in ("Notes", "References"):
        if doc[section]:
            parts += [f"{head} {section}" if head else f"**{section}**", _notes(doc[section])]
    if doc["See Also"]:
        parts += [f"{head} See also" if head else "**See also**", _see_also(doc["See Also"])]
    if doc["Examples"]:
        title = f"{head} Examples" if head else "**Examples**"
        parts += [title, _examples("\n".join(doc["Examples"]))]
    return parts


def _described(entries: list[Any]) -> str:
    terms = []
    for entry in entries:
        term = f"`{entry.name}`" if entry.name else ""
        kind = f"*{_escaped(entry.type)}*" if entry.type else ""
        body = textwrap.indent(_prose("\n".join(entry.desc)) or "\u2014", "    ").lstrip()
        terms.append(f"{' : '.join(filter(None, (term, kind)))}\n:   {body}")
    return "\n\n".join(terms)


def _notes(lines: list[str]) -> str:
    text = re.sub(r"^\.\. \[(\d+)\] ", r"\1. ", "\n".join(lines), flags=re.M)
    return _prose(re.sub(r"^   (?=\S)", "    ", text, flags=re.M))


def _see_also(groups: list[Any]) -> str:
    rows = []
    for names, description in groups:
        linked = ", ".join(_linked(name) for name, _ in names)
        rows.append(f"- {linked}" + (f": {_prose(' '.join(description))}" if description else ""))
    return "\n".join(rows)


def _examples(text: str) -> str:
    return f"```pycon\n{text.strip()}\n```"


def _prose(text: str) -> str:
    """Turn the reStructuredText of docstrings into Markdown; public names become links."""
    text = re.sub(r"(?<!`)`([\w.]+)`(?!`)", lambda m: _linked(m[1]), text)
    text = re.sub(r"(?m)^(?![-\d ])(.+)\n(?=- )", r"\1\n\n", text)  # a list needs an empty line
    return text.replace("<", "&lt;")


def _linked(name: str) -> str:
    address = _addresses().get(name)
    return f"[`{name}`]({address})" if address else f"`{name}`"


def _escaped(text: str) -> str:
    return _rounded(text).replace("*", r"\*").replace("<", "&lt;")


def _rounded(text: str) -> str:
    """Return defaults such as 0.03162277660168379 in a form that can be read."""
    return re.sub(r"\d+\.\d{7,}", lambda m: f"{float(m[0]):.4g}", text)


def _members(kind: type) -> list[str]:
    own = [name for name in dir(kind) if not name.startswith("_")]
    found = [(name, inspect.getattr_static(kind, name)) for name in own]
    of_sklearn, ours = [], []
    for name, member in found:
        function = _function(member)
        if function is None:
            continue
        at = ours if getattr(function, "__module__", "").startswith("bagwise") else of_sklearn
        at.append((name, member, function))
    parts = ["## Methods"] if ours else []
    parts += chain.from_iterable(_member(kind, *member) for member in ours)
    if of_sklearn:
        names = ", ".join(f"`{name}`" for name, *_ in of_sklearn)
        parts.append(f"Inherited from other libraries, mostly from scikit-learn: {names}.")
    return parts


def _function(member: Any) -> Any:
    """Return the function behind a method, a property or a method that exists on a condition."""
    for name in ("__func__", "fget", "fn", "func", "__wrapped__"):
        member = getattr(member, name, None) or member
    return member if inspect.isfunction(member) else None


def _member(kind: type, name: str, member: Any, function: Any) -> list[str]:
    # Only what a class adds is searched; the methods that all share have pages enough.
    shared = "" if name in vars(kind) else " { data-search-exclude }"
    doc = NumpyDocString(inspect.getdoc(function) or "")
    if isinstance(member, property) or not callable(getattr(kind, name, None)):
        return [f"### {name}{shared}", "property", *_opening(doc)]
    return [f"### {name}{shared}", _signature(name, function), *_opening(doc), *_body(doc, 4)]


def source_of(name: str) -> str | None:
    """Return the file in the repository that defines a public name, if it is code."""
    try:
        path = Path(inspect.getfile(inspect.unwrap(public()[name])))
    except TypeError:  # a tuple of words
        return None
    return f"src/{path.relative_to(SOURCE.parent).as_posix()}"


def _source(thing: Any) -> list[str]:
    try:
        lines, start = inspect.getsourcelines(thing)
        path = Path(inspect.getfile(inspect.unwrap(thing))).relative_to(SOURCE.parent)
    except (TypeError, OSError):
        return []
    code = textwrap.indent(f"```python\n{textwrap.dedent(''.join(lines))}```", "    ")
    return [
        "## Source { data-search-exclude }",
        f'??? quote "`src/{path.as_posix()}`, line {max(start, 1)}"\n\n{code}',
    ]
