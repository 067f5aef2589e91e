"""Pages of the executed notebooks in examples/tutorials, which can also be downloaded."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples" / "tutorials"
FIRST = (
    "molecules",
    "slides",
    "images",
    "text",
    "audio",
    "cells",
)  # data; then what to do with them


@cache
def _notebooks() -> dict[str, list[dict[str, Any]]]:
    place = {name: i for i, name in enumerate(FIRST)}
    paths = sorted(FOLDER.glob("*.ipynb"), key=lambda p: (place.get(p.stem, len(place)), p.stem))
    return {path.stem: json.loads(path.read_text(encoding="utf-8"))["cells"] for path in paths}


def _title(cells: list[dict[str, Any]]) -> str:
    return cells[0]["source"][0].removeprefix("# ").strip()


def _summary(cells: list[dict[str, Any]]) -> str:
    """Return the first paragraph below the title."""
    return "".join(cells[0]["source"]).split("\n\n")[1].replace("\n", " ")


def navigation() -> list[dict[str, str]]:
    """Return the tutorials' part of the navigation."""
    return [{_title(cells): f"tutorials/{name}.md"} for name, cells in _notebooks().items()]


def pages() -> dict[str, Callable[[], str | bytes]]:
    """Return how to make each page, figure, notebook and script, by path."""
    found: dict[str, Callable[[], str | bytes]] = {}
    for name, cells in _notebooks().items():
        found[f"tutorials/{name}.md"] = partial(_page, name, cells)
        for i, data in enumerate(_figures(cells)):
            found[f"tutorials/{name}-{i}.png"] = partial(bytes, data)
        for suffix in ("ipynb", "py"):
            found[f"tutorials/{name}.{suffix}"] = (FOLDER / f"{name}.{suffix}").read_bytes
    return found


def _page(name: str, cells: list[dict[str, Any]]) -> str:
    first, *rest = cells
    download = (
        f"[Download the notebook]({name}.ipynb){{ download }} or [the script]({name}.py)"
        "{ download }. The outputs below are checked by the tests."
    )
    parts = ["".join(first["source"]), download]
    figures = 0
    for cell in rest:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
            else:
                alt = cell["metadata"]["alt"]
                parts.append(f"![{alt}]({name}-{figures}.png)")
                figures += 1
    return "\n\n".join(parts) + "\n"


def _figures(cells: list[dict[str, Any]]) -> list[bytes]:
    outputs = [o for cell in cells for o in cell.get("outputs", ()) if "data" in o]
    return [base64.b64decode(output["data"]["image/png"]) for output in outputs]


def gallery() -> str:
    """Return the overview: the last picture of each tutorial, its title and its first paragraph."""
    cards = []
    for name, cells in _notebooks().items():
        last = len(_figures(cells)) - 1
        head, picture = (
            f"## [{_title(cells)}](tutorials/{name}.md)",
            f"![](tutorials/{name}-{last}.png)",
        )
        parts = "\n\n".join((head, picture, _summary(cells)))
        cards.append(f"<div markdown>\n\n{parts}\n\n</div>")
    return '<div class="gallery" markdown>\n\n' + "\n\n".join(cards) + "\n\n</div>"
