"""The page of mistakes is what the commands print."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from bagwise.cli import app

PATH = Path(__file__).parents[2] / "docs" / "make_mistakes.py"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("make_mistakes", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(made):
    return made.page()


def test_the_page_is_what_is_printed(made, page):
    assert page == made.PAGE.read_text(), "run: python docs/make_mistakes.py"


def test_every_command_is_on_the_page(made):
    typed = {typed.split()[0] for mistakes in made.MISTAKES.values() for _, typed in mistakes}
    assert {info.callback.__name__ for info in app.registered_commands} <= typed


def test_there_are_many_and_none_ends_in_a_traceback(page):
    rows = re.findall(r"^\| .* \| `bagwise .*` \| (\d+) \| (.+) \|$", page, re.M)
    assert len(rows) >= 45
    assert {status for status, _ in rows} <= {"0", "1", "2"}
    assert not any("Traceback" in said for _, said in rows)
