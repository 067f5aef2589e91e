"""``bagwise report``: one HTML page about a model, to show and to print."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from bagwise.cli.applied import Applied, ApplyOptions
from bagwise.cli.options import Groups, Label, as_words
from bagwise.cli.output import Json, check_writable, say, say_written, show_json, steps

_PICTURES = (".png", ".jpg", ".jpeg", ".webp")


def report(
    options: ApplyOptions,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The page.", callback=check_writable(".html"))
    ] = Path("report.html"),
    label: Label = None,
    groups: Groups = None,
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
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    as_json: Json = False,
) -> None:
    """Write a page about a model: how good it is, and what it says of every bag and why.

    The page is one file that any browser opens, without a network. Results are those of bags that
    the model has not seen. If DATA contains bags of its training, copies of the model are fitted in
    folds, and each bag is judged by a copy that has not seen it.

    `bagwise report slides.bagwise test.csv --out report.html`
    """
    import bagwise

    applied = options.load(label=label, groups=groups)
    y = applied.labels(options.data)
    folds = cv or _choose_folds(applied)
    pictures = None if images is None else _pictures(applied, images)
    given: dict[str, Any] = {"bag": options.bag, "label": label, "groups": groups}
    given |= {"labels": options.labels, "cv": folds, "images": images, "title": title}
    words = ["bagwise", "report", str(options.model), str(options.data), "--out", str(out)]
    command = shlex.join(words + as_words(**given))
    with steps() as callback:
        about = {"title": title, "data_name": options.data.name, "command": command}
        page = bagwise.report(
            applied.model, applied.bags, y, cv=folds, images=pictures, callback=callback, **about
        )
    page.save(out)
    if as_json:
        show_json({"report": str(out), **page.numbers})
        return
    say_written("Written", out)


def _choose_folds(applied: Applied) -> int | None:
    from bagwise.crossfit.folds import N_FOLDS

    n_seen = applied.n_seen
    if not n_seen:
        return None
    say(
        f"The model was trained on {n_seen} of these {len(applied.bags)} bags: they are judged by "
        f"{N_FOLDS}-fold cross-validation."
    )
    return N_FOLDS


def _pictures(applied: Applied, folder: Path) -> Any:
    """Return the picture of each instance: its own file, or a part of its slide."""
    from bagwise.plot import slide_tiles
    from bagwise.plot.pictures import SLIDES

    if not folder.is_dir():
        raise typer.BadParameter(f"--images {folder}: there is no such folder.")
    kinds = _PICTURES if applied.bags.coords is None else (*SLIDES, *_PICTURES)
    files = {f.stem: f for f in sorted(folder.iterdir()) if f.suffix.lower() in kinds}
    slides = {name: files.get(str(name)) for name in applied.bags.ids.tolist()}
    if applied.bags.coords is not None and None not in slides.values():
        return slide_tiles(applied.bags, slides)  # type: ignore[arg-type]
    names = [str(name) for name in applied.bags.instance_ids.tolist()]
    missing = next((name for name in names if name not in files), None)
    if missing is not None:
        absent = next((name for name, file in slides.items() if file is None), None)
        of_slide = "" if applied.bags.coords is None else f", and none of slide {absent!r}"
        what = f"no picture of instance {missing!r} ({missing}.png){of_slide}"
        raise ValueError(f"{folder} has {what}.")
    return [files[name] for name in names]
