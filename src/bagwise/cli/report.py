"""``bagwise report``: one HTML page about a model, to show and to print."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from bagwise.bags.ids import file_names
from bagwise.cli import output
from bagwise.cli.applied import Applied, ApplyOptions
from bagwise.cli.options import as_words
from bagwise.cli.source import Duration, Event, Groups, Label, Site

_PICTURES = (".png", ".jpg", ".jpeg", ".webp")


def report(
    options: ApplyOptions,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The page.", callback=output.check_writable(".html"))
    ] = Path("report.html"),
    label: Label = None,
    duration: Duration = None,
    event: Event = None,
    groups: Groups = None,
    site: Site = None,
    cv: Annotated[
        int | None,
        typer.Option(
            min=2, help="Judge by this many folds. Default: 5 if the model has seen the bags."
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            help="Folder with a picture per instance, or a thumbnail per slide, named by its id.",
            metavar="DIR",
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(help="Of several classes, the one set against the others.", metavar="LABEL"),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    as_json: output.Json = False,
) -> None:
    """Write a page about a model: how good it is, and what it says of every bag and why.

    The page is one file that any browser opens, without a network. Results are those of bags that
    the model has not seen. If DATA contains bags of its training, copies of the model are fitted in
    folds, and each bag is judged by a copy that has not seen it.

    `bagwise report slides.bagwise test.csv --out report.html`
    """
    import bagwise

    applied = options.load(label=label, groups=groups, site=site, duration=duration, event=event)
    y = applied.labels(options.data)
    folds = cv or _choose_folds(applied, y)
    pictures = None if images is None else _pictures(applied, images)
    given = asdict(options) | {"label": label, "groups": groups, "cv": folds, "images": images}
    given |= {"title": title, "positive": positive, "duration": duration, "event": event}
    words = ["bagwise", "report", *(str(given.pop(name)) for name in ("model", "data"))]
    command = shlex.join([*words, "--out", str(out), *as_words(**given, site=site)])
    with output.steps() as callback:
        about: dict[str, Any] = {"title": title, "data_name": options.data.name}
        about |= {"command": command}
        if applied.classifier.task == "classes":
            about["pos_label"] = applied.find_class(positive)
            about["leave_sites_out"] = site is not None
        page = bagwise.report(
            applied.model, applied.bags, y, cv=folds, images=pictures, callback=callback, **about
        )
    page.save(out)
    if as_json:
        output.show_json({"report": str(out), **page.numbers})
        return
    output.say_written("Written", out)
    of_classes = applied.classifier.task == "classes"
    if of_classes and applied.bags.coords is not None and len(applied.classes) == 2:
        output.say_next(_heatmap_command(applied, options))


def _heatmap_command(applied: Applied, options: ApplyOptions) -> list[str]:
    """Return the command that draws the bag with the highest score."""
    scores = applied.toward_positive(applied.model.decision_function(applied.bags))
    name = str(applied.bags.ids[int(scores.argmax())])
    words = ["bagwise", "heatmap", str(options.model), str(options.data), "--bag", name]
    words += ["--out", str(output.free_path(Path(f"{file_names([name])[0]}.png")))]
    return words + as_words(labels=options.labels, format=options.format)


def _choose_folds(applied: Applied, y: Any) -> int | None:
    from bagwise.crossfit.folds import N_FOLDS, count_fewest, number_units

    n_seen = applied.n_seen
    if not n_seen:
        return None
    ordered = applied.classifier.task in ("numbers", "times")
    units = len(np.unique(number_units(applied.bags)))
    n_folds = min(N_FOLDS, max(2, units if ordered else count_fewest(applied.bags, y)))
    output.say(
        f"The model was trained on {n_seen} of these {len(applied.bags)} bags: they are judged by "
        f"{n_folds}-fold cross-validation."
    )
    return n_folds


def _pictures(applied: Applied, folder: Path) -> Any:
    """Return the picture of each instance: its own file, or a part of its slide."""
    from bagwise.plot import slide_tiles
    from bagwise.plot.pictures import SLIDES

    if not folder.is_dir():
        raise typer.BadParameter(f"--images {folder}: there is no such folder.")
    kinds = _PICTURES if applied.bags.coords is None else (*SLIDES, *_PICTURES)
    files = {f.stem: f for f in sorted(folder.iterdir()) if f.suffix.lower() in kinds}
    of = applied.bags if applied.bags.parts is None else applied.bags.split()  # in the same order
    slides = {name: files.get(str(name)) for name in of.ids.tolist()}
    if of.coords is not None and None not in slides.values():
        return slide_tiles(of, slides)  # type: ignore[arg-type]
    names = [str(name) for name in applied.bags.instance_ids.tolist()]
    missing = next((name for name in names if name not in files), None)
    if missing is not None:
        absent = next((name for name, file in slides.items() if file is None), None)
        of_slide = "" if applied.bags.coords is None else f", and none of slide {absent!r}"
        what = f"no picture of instance {missing!r} ({missing}.png){of_slide}"
        raise ValueError(f"{folder} has {what}.")
    return [files[name] for name in names]
