"""Benchmarks are not run by the tests, but what they name is there."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from types import ModuleType

import pytest

FILES = sorted(Path(__file__).parents[1].glob("benchmarks/*.py"))


def missing_names(source: str) -> list[str]:
    """Return what is imported from bagwise, or looked up in its modules, and is not there."""
    tree, missing = ast.parse(source), []
    modules: dict[str, ModuleType] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bagwise":
            for name in node.names:
                found = looked_up(str(node.module), name.name)
                if found is None:
                    missing.append(f"{node.module}.{name.name}")
                elif isinstance(found, ModuleType):
                    modules[name.asname or name.name] = found
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
            if module is not None and looked_up(module.__name__, node.attr) is None:
                missing.append(f"{module.__name__}.{node.attr}")
    return missing


def looked_up(module: str, name: str) -> object:
    owner = importlib.import_module(module)
    if hasattr(owner, name):
        return getattr(owner, name)
    try:
        return importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_benchmarks_name_is_there(path):
    assert missing_names(path.read_text()) == []


def test_a_page_of_an_unknown_commit_is_listed_by_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(FILES[0].parent)
    describe, page = importlib.import_module("stale_pages").describe, tmp_path / "page.md"
    page.write_text("`python benchmarks/auto.py` at commit 0000000")
    assert describe(page)[1].endswith("page.md: 0000000 is no commit of this repository")
    page.write_text("`python benchmarks/auto.py` at some time")
    assert describe(page)[1].endswith("page.md: names no commit")


def test_missing_names_are_found():
    source = "from bagwise import io, nothing\nfrom bagwise.rows import host\n"
    source += "io.read\nhost._Pending\n"
    assert missing_names(source) == ["bagwise.nothing", "bagwise.rows.host._Pending"]
