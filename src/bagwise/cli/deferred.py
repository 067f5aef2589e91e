"""Commands that are listed without importing what they need: their modules wait until they run."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

COMMANDS = {  # each is a function of a module beside this one
    "demo": "demo",
    "info": "info",
    "fit": "fit",
    "predict": "predict",
    "evaluate": "predict",
    "explain": "predict",
    "heatmap": "heatmap",
    "report": "report",
    "cv": "cv",
    "compare": "compare",
    "audit": "audit",
    "convert": "data",
    "datasets": "data",
    "models": "data",
    "bench": "bench",
    "table": "bench",
}


class DeferredCommand(TyperCommand):
    """A command that is known by its name and summary until words are given to it."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Import the command, and let it read its words."""
        from bagwise.cli.options import expand_groups

        name = str(self.name)
        function = getattr(import_module(f"bagwise.cli.{COMMANDS[name]}"), name)
        alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        alone.command(name)(expand_groups(function))
        return typer.main.get_command(alone).make_context(info_name, args, parent, **extra)


def summarize(name: str) -> str:
    """Return the first paragraph of a command's docstring, without importing its module."""
    tree = ast.parse(Path(__file__).with_name(f"{COMMANDS[name]}.py").read_text("utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    text = next(ast.get_docstring(node) for node in functions if node.name == name)
    return str(text).split("\n\n")[0]
