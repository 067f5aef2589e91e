"""Call the command line in this process, and say what a call should have done."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from bagwise.cli import app

__all__ = ["WIDE", "call", "done", "refused"]

WIDE = {"COLUMNS": "300", "NO_COLOR": "1"}


def call(*arguments: Any, **env: str | None) -> Any:
    """Run ``bagwise arguments...`` on a wide terminal without colours."""
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(app, words, env={**WIDE, **env})


def done(*arguments: Any) -> Any:
    """Run it, and see that it ends well."""
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(status: int, message: str, *arguments: Any) -> Any:
    """Run it, and see that it ends with this status and this message, without a traceback."""
    result = call(*arguments)
    assert result.exit_code == status, result.output
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.output
    return result
