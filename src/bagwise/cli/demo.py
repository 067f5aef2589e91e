"""``bagwise demo``: digits in bags, a table and a figure."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from bagwise.benchmark.demo import DigitTask, ModelResult, demo_figure, demo_models, evaluate
from bagwise.cli.terminal import Json, progress, say, show, show_json

__all__ = ["demo"]

_SUFFIXES = (".png", ".pdf", ".svg")


def _figure_path(path: Path) -> Path:
    """Refuse a file that could not be written, before the work and not after it."""
    if path.suffix.lower() not in _SUFFIXES:
        raise typer.BadParameter(f"{path} must end in {', '.join(_SUFFIXES)}.")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {path.parent}: make it first.")
    return path


def demo(
    out: Annotated[
        Path, typer.Option(help="The figure's file: .png, .pdf or .svg.", callback=_figure_path)
    ] = Path("bagwise-demo.png"),
    seed: Annotated[int, typer.Option(min=0, max=2**30, help="Another seed draws other bags.")] = 0,
    as_json: Json = False,
) -> None:
    """Train a few models on bags of handwritten digits and see which digit each one blames.

    A bag holds 5 to 15 digits and is positive when there is a 9 among them. The models are told
    which bags are positive, never which digit is the 9. Training and test bags share no image.

    It takes seconds, needs no network, prints a table and saves a figure:

    `bagwise demo --out digits.pdf --seed 1`
    """
    task = DigitTask.draw(seed)
    models = demo_models()
    with progress() as bar:
        steps = bar.add_task("", total=len(models) + 1)
        results = []
        for result in evaluate(task, models, lambda name: bar.update(steps, description=name)):
            results.append(result)
            bar.advance(steps)
        bar.update(steps, description="drawing")
        demo_figure(task, models[-1]).savefig(out, dpi=150)
    if as_json:
        show_json(_as_record(task, results, out, seed))
    else:
        show(_table(task, results))
    say(f"Test bags with the digit held responsible: [bold]{escape(str(out))}[/bold]")


def _as_record(task: DigitTask, results: list[ModelResult], out: Path, seed: int) -> dict[str, Any]:
    return {
        "seed": seed,
        "train_bags": len(task.train),
        "test_bags": len(task.test),
        "found_by_chance": task.found_by_chance,
        "models": [asdict(result) for result in results],
        "figure": str(out),
    }


def _table(task: DigitTask, results: list[ModelResult]) -> Table:
    table = Table(
        title=f"Is there a 9 in the bag? {len(task.train)} bags to learn from, "
        f"{len(task.test)} others to test",
        caption="9 found: how often the digit chosen in a positive bag is a 9 "
        f"(by chance {task.found_by_chance:.0%})",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("model", overflow="fold")
    for column in ("bag\naccuracy", "AUC", "9 found", "seconds"):
        table.add_column(column, justify="right")
    for result in results:
        table.add_row(
            escape(result.model),
            f"{result.bag_accuracy:.1%}",
            f"{result.bag_auc:.3f}",
            f"{result.found:.1%}",
            f"{result.seconds:.2f}",
        )
    return table
