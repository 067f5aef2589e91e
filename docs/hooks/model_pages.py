"""What pages say about models: guides, the table of measured models, citations. All from data."""

from __future__ import annotations

import csv
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from numpydoc.docscrape import NumpyDocString

from bagwise.catalog import ENTRIES, METHODS
from bagwise.catalog.entry import Entry
from bagwise.catalog.papers import PAPERS, Paper

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "docs" / "results" / "methods.csv"
COSTS = ROOT / "docs" / "results" / "model_costs.json"
GUIDES: dict[str, dict[str, str]] = yaml.safe_load(
    (ROOT / "docs" / "guides.yaml").read_text(encoding="utf-8")
)["guides"]
TASKS = ("musk1 (nested)", "digits (nested)")  # measured for all methods, by nested selection


def guide(thing: Any, linked: Callable[[str], str]) -> list[str]:
    """Return what a page says about an estimator before its parameters; nothing for other names."""
    name = getattr(thing, "__name__", "")
    if name not in GUIDES:
        return []
    told, entry = GUIDES[name], next((e for e in ENTRIES if e.class_name == name), None)
    rows = [
        ("Use it when", told["use"]),
        ("Do not use it when", told["avoid"]),
        ("Time of a fit", told["time"]),
        ("Memory beside the data", told["memory"]),
    ]
    rows = [(head, _with_links(text, linked)) for head, text in rows]
    papers = _papers(entry) if entry and entry.methods else _reference(thing)
    rows += [("Papers", papers)] if papers else []
    table = "\n".join(f"| **{head}** | {text} |" for head, text in rows)
    legend = (
        "n instances of d features in N bags of m instances, T outer iterations; f is the score of "
        "an instance, Y the label of a bag, ℓ the margin loss. [Measured costs](../choose.md)."
    )
    return [
        "## At a glance",
        f"```math\n{told['objective']}\n```",
        f"| | |\n|---|---|\n{table}",
        f"*{legend}*",
    ]


def _papers(entry: Entry) -> str:
    by_paper: dict[str, list[str]] = {}
    for method in entry.methods:
        by_paper.setdefault(str(method.paper), []).append(f"{method.name} = `{method.code}`")
    return "; ".join(f"{', '.join(names)}: {paper}" for paper, names in by_paper.items())


def _reference(thing: Any) -> str:
    """Return the references of a docstring in one line."""
    text = " ".join(NumpyDocString(inspect.getdoc(thing) or "")["References"])
    return " ".join(re.sub(r"\.\. \[\d+\]", "", text).split())


def _with_links(text: str, linked: Callable[[str], str]) -> str:
    """Link the classes that a sentence recommends."""
    return re.sub(rf"(?<![`\w])({'|'.join(GUIDES)})(?=[ ,.:;()]|$)", lambda m: linked(m[1]), text)


def model_table() -> str:
    """Return the table of all methods: measured accuracy, time and memory."""
    with MEASURED.open(encoding="utf-8") as file:
        measured = {row["method"]: row for row in csv.DictReader(file)}
    costs = json.loads(COSTS.read_text(encoding="utf-8"))["methods"]
    head = (
        "| method | AUC musk1 | AUC digits | time | MB | instances |\n|---|--:|--:|--:|--:|---|\n"
    )
    return head + "\n".join(_row(m, measured.get(m.name, {}), costs.get(m.name)) for m in METHODS)


def _row(method: Any, measured: dict[str, str], cost: dict[str, Any] | None) -> str:
    areas = [f"{100 * float(v):.0f}" if (v := measured.get(task)) else "–" for task in TASKS]
    spent = [_spent(cost, "ratio", ".1f"), _spent(cost, "megabytes", ".0f")]
    link = f"[{method.name}](api/bagwise.{method.class_name}.md)"
    return f"| {' | '.join([link, *areas, *spent, method.can['instance_scores']])} |"


def _spent(cost: dict[str, Any] | None, what: str, form: str) -> str:
    return " / ".join(f"{size[what]:{form}}" for size in cost.values()) if cost else "–"


MEETINGS = ("NIPS", "ICML", "AISTATS", "ECML", "ECML PKDD", "IJCAI")
THESIS = "master's thesis, "


def bibtex(key: str, paper: Paper) -> str:
    """Return the entry of a paper for a BibTeX file."""
    names = paper.authors.replace(" & ", ", ").split(", ")
    first = paper.initials.split(", ") if paper.initials else [""] * len(names)
    whole = (", ".join(filter(None, pair)) for pair in zip(names, first, strict=True))
    kind, place = "article", "journal"
    if paper.venue.startswith(THESIS):
        kind, place = "mastersthesis", "school"
    elif paper.venue in MEETINGS:
        kind, place = "inproceedings", "booktitle"
    fields = {
        "author": " and ".join(whole),
        "title": f"{{{paper.title}}}",
        place: paper.venue.removeprefix(THESIS),
        "year": paper.year,
    }
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}\n}}"


def citations() -> str:
    """Return the BibTeX entries of all papers, each under its methods."""
    parts = []
    for key, paper in PAPERS.items():
        methods = [method for method in METHODS if method.paper == paper]
        if methods:
            names = ", ".join(f"[{m.name}](api/bagwise.{m.class_name}.md)" for m in methods)
            parts.append(f"### {paper.short}\n\n{names}\n\n```bibtex\n{bibtex(key, paper)}\n```")
    return "\n\n".join(parts)
