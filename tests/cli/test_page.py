"""The page about the command line runs as it stands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from bagwise.cli import app
from command_line import done

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()


def test_every_command_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    exec(code, {})
    commands = re.findall(r"^\$ bagwise (.*)$", PAGE, re.M)
    assert len(commands) == 11
    for command in commands:
        words = shlex.split(command)
        result = done(*words, *(["--jobs", "1"] if words[0] in ("compare", "cv") else []))
    evaluated = json.loads(result.stdout)
    assert evaluated["n_bags"] == 60
    assert evaluated["accuracy"] > 0.8
    written = {path.name for path in tmp_path.iterdir()}
    assert {"slides.bagwise", "predictions.csv", "instances.csv", "cells.arff"} <= written


def test_the_page_names_every_command():
    for info in app.registered_commands:
        assert f"bagwise {info.callback.__name__}" in PAGE
