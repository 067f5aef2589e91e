"""Call the command line in this process, and check how a call ended."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from bagwise.cli import app
from bagwise.io import read

__all__ = [
    "COLUMNS",
    "NAMED",
    "WIDE",
    "call",
    "done",
    "printed",
    "read_slides",
    "refused",
    "rows_of",
]

WIDE = {"COLUMNS": "300", "NO_COLOR": "1"}

# How the tables of tests/cli/conftest.py are read.
NAMED = ["--bag", "slide", "--label", "diagnosis"]
COLUMNS = [*NAMED, "--features", "f0,f1"]


def call(*arguments: Any, **env: str | None) -> Any:
    """Run ``bagwise arguments...`` on a wide terminal without colors."""
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(app, words, env={**WIDE, **env})


def done(*arguments: Any, **env: str | None) -> Any:
    """Run it, and see that it succeeds."""
    result = call(*arguments, **env)
    assert result.exit_code == 0, result.output
    return result


def printed(*arguments: Any, **env: str | None) -> Any:
    """Run it with ``--json``, and return what it printed: JSON and nothing else."""
    return json.loads(done(*arguments, "--json", **env).stdout)


def refused(status: int, message: str, *arguments: Any) -> Any:
    """Run it, and see that it ends with this status and this message, without a traceback."""
    result = call(*arguments)
    assert result.exit_code == status, result.output
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.output
    return result


def read_slides(path: Path, label: str | None = "diagnosis") -> Any:
    """Read a table of tests/cli/conftest.py in Python."""
    return read(path, bag="slide", label=label, features=["f0", "f1"])


def rows_of(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    """Read a written table."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))
