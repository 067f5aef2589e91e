"""The pages about the command line run as they stand, and print what they show."""

import doctest
import json
import re
import shlex
from pathlib import Path

from bagwise.cli import app
from command_line import done

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "cli.md").read_text()
FIRST = (DOCS / "first-model.md").read_text()


def runs(page):
    """Yield the result of every command of a page, and the lines that the page shows below it."""
    sessions = "".join(re.findall(r"^```console\n(.*?)^```$", page, re.M | re.S))
    joined = sessions.replace(" \\\n", " ")
    for command, shown in re.findall(r"^\$ bagwise (.*)\n((?:(?!\$ ).*\n)*)", joined, re.M):
        words = shlex.split(command)
        extra = {"compare": ["--time", "none", "--jobs", "1"], "cv": ["--jobs", "1"]}
        yield (
            done(*words, *extra.get(words[0], [])),  # whatever else the computer does
            [line for line in shown.splitlines() if line != "..."],
        )


def test_every_command_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    exec(code, {})
    results = [result for result, _ in runs(PAGE)]
    assert len(results) == 11
    evaluated = json.loads(results[-1].stdout)
    assert evaluated["n_bags"] == 60
    assert evaluated["accuracy"] > 0.8
    written = {path.name for path in tmp_path.iterdir()}
    assert {"slides.bagwise", "predictions.csv", "instances.csv", "cells.arff"} <= written


def test_the_first_model_prints_what_its_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"(>>> import numpy.*?)^```$", FIRST, re.M | re.S)
    lines = doctest.DocTestParser().get_examples(example.replace("# doctest: +SKIP", ""))
    exec("".join(line.source for line in lines), {})
    results = list(runs(FIRST))
    assert len(results) == 7
    for result, shown in results:
        printed = " ".join((result.stdout + result.stderr).split())
        for line in shown:
            assert " ".join(line.split()) in printed
    assert (tmp_path / "report.html").is_file()


def test_the_page_names_every_command():
    for info in app.registered_commands:
        assert f"bagwise {info.name}" in PAGE
