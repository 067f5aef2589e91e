"""The command line: modules that only read arguments and print, one per command or few alike.

What a command does lives in the library. A new command is a function in a module here and one line
in `COMMANDS`. Commands are listed without importing what they need: their modules wait until they
run.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

import bagwise
from bagwise.cli.output import FLAGS, Commands

__all__ = ["app"]

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

app = typer.Typer(
    name="bagwise",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 success, 1 the work could not be done, 2 the command was wrong, "
    "130 interrupted.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bagwise {bagwise.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Learn from labeled **bags** of unlabeled **instances**.

    Max-margin multiple-instance learning: predict bags, and point at the instances responsible.
    Begin with `bagwise demo`.
    """


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
        context = typer.main.get_command(alone).make_context(info_name, args, parent, **extra)
        context.meta[FLAGS] = {flag for each in context.command.params for flag in each.opts}
        return context


def summarize(name: str) -> str:
    """Return the first paragraph of a command's docstring, without importing its module."""
    tree = ast.parse(Path(__file__).with_name(f"{COMMANDS[name]}.py").read_text("utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    text = next(ast.get_docstring(node) for node in functions if node.name == name)
    return str(text).split("\n\n")[0]


for name in COMMANDS:
    app.command(name, cls=DeferredCommand, help=summarize(name))(lambda: None)
