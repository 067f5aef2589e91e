"""``bagwise demo``: digits in bags, a table and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli import output
from bagwise.io._files import writing

if TYPE_CHECKING:
    from bagwise.bench.demo import DigitTask


def demo(
    out: Annotated[
        Path,
        typer.Option(
            help="The figure: a .png, .pdf or .svg file.",
            callback=output.check_writable(".png", ".pdf", ".svg"),
        ),
    ] = Path("bagwise-demo.png"),
    seed: Annotated[int, typer.Option(min=0, max=2**30, help="Seed of the bags drawn.")] = 0,
    as_json: output.Json = False,
) -> None:
    """Train a few models on bags of handwritten digits and see which digit each one blames.

    A bag contains 5 to 15 digits and is positive if one of them is a 9. The models know which bags
    are positive, but not which digit is the 9. Training and test bags share no image.

    It takes seconds, needs no network, prints a table and saves a figure:

    `bagwise demo --out digits.pdf --seed 1`
    """
    from bagwise.bench.demo import DigitTask, evaluate, surprise

    task = DigitTask.draw(seed)
    models, results = task.models(), []
    with output.steps("", len(models) + 1) as tell:
        for number, model in enumerate(models):
            tell(str(model), number)
            results.append(evaluate(task, model))
        tell("drawing", len(models))
        with writing(out) as file:
            task.figure(models[-1]).savefig(file, dpi=150, format=out.suffix[1:].lower())
    if as_json:
        counts = {"train_bags": len(task.train), "test_bags": len(task.test)}
        facts = {"seed": seed, **counts, "found_by_chance": task.found_by_chance}
        output.show_json({**facts, "models": results, "figure": str(out)})
    else:
        output.show(_table(task, results))
        for text in filter(None, map(surprise, results)):
            output.say(escape(text))
    output.say_written("Test bags with the instance held responsible", out)
    output.say(
        "Next, with a table of your own (one row per instance): [bold]bagwise info FILE[/bold]"
    )


def _table(task: DigitTask, results: list[dict[str, Any]]) -> Table:
    numbers = ("bag\naccuracy", "AUC", "9\nfound", "seconds")
    table = output.plain_table(
        "model",
        *numbers,
        right=numbers,
        title=f"Is there a 9 in the bag? {len(task.train)} bags to learn from, "
        f"{len(task.test)} others to test",
        caption="9 found: how often the instance chosen in a positive bag is right "
        f"(by chance {task.found_by_chance:.0%})",
    )
    row = "{bag_accuracy:.1%} {bag_auc:.3f} {found:.1%} {seconds:.2f}"
    for result in results:
        table.add_row(escape(result["model"]), *row.format(**result).split())
    return table
