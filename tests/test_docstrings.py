"""Every public name is documented in the numpydoc form, with an example that runs."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Iterator
from typing import Any

from numpydoc.validate import ERROR_MSGS, validate

PUBLIC_MODULES = [
    "bagwise",
    "bagwise.datasets",
    "bagwise.inspection",
    "bagwise.io",
    "bagwise.metrics",
    "bagwise.model_selection",
    "bagwise.plot",
    "bagwise.preprocessing",
    "bagwise.testing",
]
IGNORED = {
    "ES01": "a summary that says it all needs no extended one",
    "SA01": "many names have no relatives",
    "PR08": "a description may open with a name that is written small, such as musk1",
    "RT04": "the same for what is returned",
    "EX01": "asked of classes and functions below; a method is shown in its class's example",
}
CHECKED = set(ERROR_MSGS) - set(IGNORED)


def public_objects() -> dict[str, Any]:
    """Return what the public modules list in `__all__`, by full name."""
    found = {}
    for module_name in filter(importlib.util.find_spec, PUBLIC_MODULES):
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", []):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found[f"{thing.__module__}.{thing.__qualname__}"] = thing
    return found


def own_members(thing: Any) -> Iterator[str]:
    """Yield a class's public methods and properties, without those of scikit-learn."""
    for owner in inspect.getmro(thing) if inspect.isclass(thing) else ():
        if owner.__module__.startswith("bagwise."):
            for name, member in vars(owner).items():
                kinds = (classmethod, staticmethod, property)
                if (inspect.isfunction(member) or isinstance(member, kinds)) and name[0] != "_":
                    yield f"{owner.__module__}.{owner.__qualname__}.{name}"


def _is_error(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Exception)


OBJECTS = public_objects()
MEMBERS = sorted({member for thing in OBJECTS.values() for member in own_members(thing)})
WITH_EXAMPLE = [name for name, thing in OBJECTS.items() if not _is_error(thing)]


def test_there_is_something_to_check():
    assert {"bagwise.bags.bags.Bags", "bagwise.bags.checks.check_bags"} <= OBJECTS.keys()
    assert "bagwise.bags.constructors.Constructors.from_groups" in MEMBERS


def test_docstrings_are_valid():
    found = [
        f"{name}: {code}: {text}"
        for name in [*OBJECTS, *MEMBERS]
        for code, text in validate(name)["errors"]
        if code in CHECKED
    ]
    assert not found, "\n".join(found)


def test_docstrings_have_an_example():
    without = []
    for name in WITH_EXAMPLE:
        _, _, examples = (inspect.getdoc(OBJECTS[name]) or "").partition("Examples\n--------\n")
        without += [] if ">>> " in examples else [name]
    assert not without, "\n".join(without)
