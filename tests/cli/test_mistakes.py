"""The page of mistakes is what the commands print."""

import re

import pytest

import make_mistakes
from bagwise.cli import app


@pytest.fixture(scope="module")
def page():
    return make_mistakes.page()


def test_the_page_is_what_is_printed(page):
    assert page == make_mistakes.PAGE.read_text(), "run: python docs/make_mistakes.py"


def test_every_command_is_on_the_page():
    typed = {
        typed.split()[0] for mistakes in make_mistakes.MISTAKES.values() for _, typed in mistakes
    }
    assert {info.name for info in app.registered_commands} <= typed


def test_there_are_many_and_none_ends_in_a_traceback(page):
    rows = re.findall(r"^\| .*: `bagwise .*` \| (\d+) \| (.+) \|$", page, re.M)
    assert len(rows) >= 45
    assert {status for status, _ in rows} <= {"0", "1", "2"}
    assert not any("Traceback" in said for _, said in rows)
