"""``bagwise heatmap``: where on a slide the evidence lies, as pictures and for QuPath."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from bagwise.bags.ids import file_names
from bagwise.bags.merging import split_rows
from bagwise.cli.applied import Applied, ApplyOptions, ModelFile
from bagwise.cli.options import Force
from bagwise.cli.output import Json, say_written, show_json, steps
from bagwise.cli.source import Data, Format, Labels
from bagwise.errors import list_names
from bagwise.io._files import writing

_PICTURES = (".png", ".jpg", ".jpeg", ".pdf", ".svg")
_THUMBNAILS = (".png", ".jpg", ".jpeg")
_WHAT = {"numbers": "number", "grades": "expected grade", "times": "risk"}
_THUMBNAIL_PIXELS = 1500  # longer side of a thumbnail of a whole slide: sharp at page width


def heatmap(
    model: ModelFile,
    data: Data,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="A .png, .pdf or .svg file for one bag; else a folder for all."
        ),
    ],
    bag: Annotated[
        list[str] | None, typer.Option(help="Only this bag; repeatable.", metavar="ID")
    ] = None,
    bag_column: Annotated[
        str | None, typer.Option(help="Column with the bag of each row.", metavar="COLUMN")
    ] = None,
    image: Annotated[
        Path | None,
        typer.Option(
            help="Thumbnail to draw on, or the slide itself (needs tiffslide), or a folder of "
            "files named by slide."
        ),
    ] = None,
    downsample: Annotated[
        float | None, typer.Option(min=0, help="Pixels of the slide per pixel of the thumbnail.")
    ] = None,
    mpp: Annotated[
        float | None, typer.Option(min=0, help="Microns per pixel, for the scale bar.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--scores", help="Color scores, also where there are p-values.")
    ] = False,
    positive: Annotated[
        str | None,
        typer.Option(
            help="Of three or more classes, the one to draw. Default: that predicted for a slide.",
            metavar="LABEL",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="Number of patches outlined by score.")] = 5,
    geojson: Annotated[
        Path | None,
        typer.Option(help="Also write tiles for QuPath: a .geojson file, or a folder for all."),
    ] = None,
    labels: Labels = None,
    format: Format = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Draw where on slides the evidence lies, over a thumbnail if there is one.

    The darker a patch, the fewer normal slides have one with as high a score (the p-value); the
    outlined ones, with p up to 0.1, are discoveries. With `--scores`, red patches speak for the
    positive class and blue ones against it. Numbers, grades and risks of patches are colored
    against the median patch of the slides given. GeoJSON files have both per tile, and the outlined
    patches as annotations.

    `bagwise heatmap model.bagwise features/ --bag slide-017 --out map.png`

    `bagwise heatmap model.bagwise features/ --out maps --geojson tiles --image thumbnails`
    """
    applied = ApplyOptions(model, data, bag=bag_column, format=format, labels=labels).load(bag)
    of_classes = applied.classifier.task == "classes"
    if positive and not (of_classes and len(applied.classes) > 2):
        raise typer.BadParameter("--positive is for models of three or more classes.")
    ids = [str(name) for name in applied.bags.ids.tolist()]
    maps, tiles, slides = _targets(ids, out, _PICTURES, force), [], applied
    order = np.arange(applied.bags.n_instances)
    if applied.bags.parts is not None:  # QuPath opens one slide at a time
        slides, order = replace(applied, bags=applied.bags.split()), split_rows(applied.bags)[0]
    if geojson is not None:
        names = [str(name) for name in slides.bags.ids.tolist()]
        tiles = _targets(names, geojson, (".geojson", ".json"), force)
    from bagwise.plot.heatmap import instance_colors

    images = _find_images(image, ids)
    with steps("Scoring instances"):
        predicted = applied.classifier.predict(applied.seen)
        classes = np.full(len(ids), applied.find_class(positive)) if positive else predicted
        scores = applied.scores_of_class(classes)
        pvalues = applied.pvalues() if of_classes and not raw else None
        if not of_classes:  # white is the middle patch of these slides
            scores = scores - np.median(scores)
        pvalues = None if pvalues is None else applied.of_class(pvalues, classes)
    with steps("Drawing", len(ids)) as advance:
        for number, name in enumerate(ids):
            picture, factor = _picture(images.get(name))
            title = _title(applied, number, predicted[number], classes[number])
            options: dict[str, Any] = {"top": top, "image": picture, "title": title}
            options |= {"downsample": downsample or factor, "microns_per_pixel": mpp}
            _draw(applied, scores, pvalues, number, maps[number], **options)
            advance()
    values = scores, instance_colors(scores, pvalues), pvalues
    in_order = [None if each is None else each[order] for each in values]
    for number, file in enumerate(tiles):
        _write_tiles(slides, in_order, number, file, top)
    if as_json:
        show_json({"maps": [*map(str, maps)], "tiles": [*map(str, tiles)]})
        return
    say_written("Written", out, *([] if geojson is None else [geojson]))


def _targets(ids: list[str], out: Path, suffixes: tuple[str, ...], force: bool) -> list[Path]:
    """Return the file of each bag; several bags need a folder, which is made.

    Where a file cannot have the name of its bag, ``index.json`` in the folder says whose it is.
    """
    if out.suffix.lower() in suffixes and not out.is_dir():
        if len(ids) > 1:
            raise typer.BadParameter(
                f"there are {len(ids)} bags: choose one with --bag, or give a folder instead of "
                f"{out.name}."
            )
        return [out]
    if out.suffix and not out.is_dir():
        raise typer.BadParameter(f"{out.name}: expected a folder or one of {', '.join(suffixes)}.")
    out.mkdir(parents=True, exist_ok=True)
    names = [f"{name}{suffixes[0]}" for name in file_names(ids)]
    there = [name for name in names if (out / name).exists()]
    if there and not force:
        raise typer.BadParameter(f"{out} has {list_names(there)} already; --force replaces them.")
    pairs = zip(names, ids, strict=True)
    changed = {name: bag for name, bag in pairs if name != f"{bag}{suffixes[0]}"}
    if changed:  # beside those of earlier calls
        index = out / "index.json"
        earlier = json.loads(index.read_text()) if index.exists() else {}
        with writing(index) as file:
            file.write(json.dumps({**earlier, **changed}, indent=1).encode())
    return [out / name for name in names]


def _title(applied: Applied, number: int, predicted: Any, drawn: Any) -> str:
    from bagwise.plot._display import plain

    what = "" if drawn == predicted else f", drawn for {drawn}"
    word = "risk" if applied.classifier.task == "times" else "predicted"
    shown = f"{predicted:.3g}" if isinstance(predicted, np.floating) else predicted
    return plain(f"{applied.bags.ids[number]}: {word} {shown}{what}")


def _find_images(image: Path | None, names: list[str]) -> dict[str, Path]:
    """Return the pictures of bags: those of a folder, or one for all."""
    from bagwise.io.slides import find_pictures
    from bagwise.plot.pictures import SLIDES

    if image is None or not image.is_dir():
        return {} if image is None else dict.fromkeys(names, image)
    return find_pictures(image, names, (*_THUMBNAILS, *SLIDES))


def _picture(image: Path | None) -> tuple[Any, float | None]:
    """Return the thumbnail of a slide and its reduction, where that is known."""
    from bagwise.io._files import require
    from bagwise.plot.pictures import SLIDES

    if image is None:
        return None, None
    if image.suffix.lower() in _THUMBNAILS and image.is_file():
        return image, None
    if image.suffix.lower() not in SLIDES:
        known = ", ".join((*_THUMBNAILS, *SLIDES))
        raise typer.BadParameter(f"--image {image}: expected a file of the kinds {known}.")
    require("tiffslide", "slides")
    from tiffslide import TiffSlide

    with TiffSlide(image) as slide:
        width = slide.dimensions[0]
        small = np.asarray(slide.get_thumbnail((_THUMBNAIL_PIXELS, _THUMBNAIL_PIXELS)))
    return small, width / small.shape[1]


def _draw(
    applied: Applied, scores: Any, pvalues: Any, number: int, file: Path, **options: Any
) -> None:
    from bagwise.estimators.discovery import LEVEL
    from bagwise.plot import heatmap as draw

    if pvalues is not None:
        negative = "normal slide" if len(applied.classes) == 2 else "slide of other classes"
        note = applied.classifier.discovery_guarantee(words=(negative, "outline"))
        scores, options = pvalues, {**options, "level": LEVEL, "note": note}
    if applied.classifier.task != "classes":
        options["meaning"] = f"{_WHAT[applied.classifier.task]} of a patch, less the median patch's"
    figure = draw(applied.bags, scores, applied.bags.ids[number], **options)
    with writing(file) as partial:
        figure.savefig(partial, format=file.suffix[1:].lower(), dpi=150)


def _write_tiles(slides: Applied, values: Any, number: int, file: Path, top: int) -> None:
    from bagwise.estimators.discovery import LEVEL
    from bagwise.io import write_geojson
    from bagwise.plot.heatmap import patch_side

    bags, name = slides.bags, "key instance"
    rows = slice(bags.offsets[number], bags.offsets[number + 1])
    found: Any = (None if each is None else each[rows] for each in values)
    scores, colors, pvalues = found
    if pvalues is not None:  # the higher the score, the smaller the p-value
        top = int(np.sum(pvalues <= LEVEL))
        name = f"discovery ({slides.classifier.discovery_guarantee().partition(':')[0]})"
    own: dict[str, Any] = {"top": top, "colors": colors, "name": name, "pvalues": pvalues}
    write_geojson(file, bags.coords[rows], patch_side(bags, number), scores, **own)
