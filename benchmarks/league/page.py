"""Make the page of the league from its records.

    python benchmarks/league/page.py [--pack 1]

Reads docs/results/league/*.jsonl and their packed forms (``--pack 1`` packs what is plain), and
writes docs/results/league.md and the figure of critical differences.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
import ranks

from bagwise.io._records import read_records
from options import options

HERE, RESULTS = Path(__file__).parent, Path(__file__).parents[2] / "docs" / "results"
SETS = [*json.loads((HERE / "sets.json").read_text())]
TESTS = ("single concept", "threshold", "false frequency")
MEASURES = {
    "accuracy": "accuracy %",
    "log_loss": "log loss",
    "key_rate": "key instance right %",
    "instance_auc": "instance AUC %",
    "fit_s": "CPU s per fit",
}
OURS = "bagwise auto"
NAME = re.compile(r"(?!failed$)[a-zA-Z]")  # how a cell begins that is no number
TEXT = (HERE / "page.md").read_text()


def read_all(folder: Path) -> tuple[dict[tuple[str, str], list[dict]], dict[str, dict]]:
    """Return records by entry and set, and of each file the last versions and all machines."""
    cells: dict[tuple[str, str], dict[str, dict]] = {}
    versions: dict[str, dict] = {}
    machines: dict[str, dict[str, None]] = {}
    for name in sorted({path.name.split(".")[0] for path in folder.glob("*.jsonl*")}):
        for record in read_records(folder / f"{name}.jsonl"):
            if "versions" in record:
                versions[name] = record["versions"]
            if "cell" in record:
                entry, data, *rest = record["cell"]
                cells.setdefault((entry, data), {})[json.dumps(rest)] = record
                machines.setdefault(name, {})[record["machine"]] = None
    used = {
        name: {"machine": " and ".join(own), "versions": versions[name]}
        for name, own in machines.items()
    }
    return {key: [*found.values()] for key, found in cells.items()}, used


def keep_whole_sets(cells: dict[tuple[str, str], list[dict]]) -> dict[tuple[str, str], list[dict]]:
    """Drop sets of which an entry has only a part of the folds that others have."""
    folds = {key: {record["cell"][2] for record in found} for key, found in cells.items()}
    most = {name: max(len(f) for (_, s), f in folds.items() if s == name) for _, name in folds}
    return {key: found for key, found in cells.items() if len(folds[key]) == most[key[1]]}


def list_seeds(cells: dict[tuple[str, str], list[dict]]) -> str:
    """Return the entries that have been run with several seeds, with the number of such sets."""
    several: dict[str, int] = {}
    for (entry, _), found in cells.items():
        if len({record["cell"][3] for record in found}) > 1:
            several[entry] = several.get(entry, 0) + 1
    return ", ".join(f"{entry} on {n} sets" for entry, n in sorted(several.items())) or "none"


def by_fold(records: list[dict], measure: str) -> np.ndarray:
    """Return the mean over seeds of every fold; folds in which all seeds failed are left out."""
    folds: dict[int, list[float]] = {}
    for record in records:
        if measure in record:
            folds.setdefault(record["cell"][2], []).append(record[measure])
    return np.array([np.mean(values) for _, values in sorted(folds.items())])


def show(records: list[dict] | None, measure: str = "auc") -> str:
    """Return the mean and, of several folds, half the width of its 95 % interval."""
    if not records:
        return ""
    values = by_fold(records, measure)
    if not len(values):
        return "failed" if measure == "auc" else ""
    times = 1 if measure in ("log_loss", "fit_s") else 100
    text = f"{times * values.mean():.{1 if times > 1 or measure == 'fit_s' else 2}f}"
    if len(values) < 2 or measure != "auc":
        return text
    wide = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{text} ± {100 * wide:.1f}"


def table(rows: list[list[str]], *head: str) -> str:
    """Return a Markdown table, with columns of numbers on the right."""
    columns = zip(*rows, strict=True) if rows else [head] * len(head)
    rules = ["---" if any(map(NAME.match, column)) else "---:" for column in columns]
    lines = [head, rules, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def rank(cells: Any, entries: list[str], sets: list[str]) -> list[tuple[str, float]]:
    """Rank the entries on sets that all of them have, by AUC; a failed entry counts as chance."""
    return ranks.rank(entries, [[_auc(cells[e, s]) for e in entries] for s in sets])


def list_ranks(ranked: Any, cells: Any, sets: list[str]) -> list[list[str]]:
    """Return the ranked systems, best first: mean AUC over the sets, and average rank."""
    return [
        [name, f"{100 * np.mean([_auc(cells[name, s]) for s in sets]):.1f}", f"{rank:.1f}"]
        for name, rank in ranked
    ]


def say_missing(entry: str, run: list[str]) -> str:
    """Return which sets a system has been run on, or which are missing if those are fewer."""
    missing = [name for name in SETS if name not in run]
    names = ", ".join(run) if len(run) < len(missing) else f"all but {', '.join(missing)}"
    return f"- {entry}: {len(run)} of {len(SETS)} sets run ({names})"


def _auc(records: list[dict]) -> float:
    values = by_fold(records, "auc")
    return float(values.mean()) if len(values) else 0.5


def losses(cells: Any, entries: list[str], sets: list[str]) -> list[list[str]]:
    """Return the sets on which another system has a higher AUC than the automatic model."""
    rows = []
    for name in sets:
        others = [e for e in entries if (e, name) in cells and not e.startswith("bagwise")]
        there = [OURS, *others]
        if (OURS, name) in cells:
            best = max(there, key=lambda entry: _auc(cells[entry, name]))
            if _auc(cells[best, name]) > _auc(cells[OURS, name]):
                rows.append([name, show(cells[OURS, name]), best, show(cells[best, name])])
    return rows


def count_failures(cells: Any, entries: list[str]) -> list[list[str]]:
    """Return entries with failures: how many cells of how many, and the first message."""
    rows = []
    for entry in entries:
        every = [r for (e, _), found in cells.items() if e == entry for r in found]
        failed = [record["failure"] for record in every if "failure" in record]
        if failed:
            first = failed[0].replace("|", "/")
            rows.append([entry, f"{len(failed)} of {len(every)}", first])
    return rows


def make_page(folder: Path) -> str:
    """Return the page; the figure is written beside it."""
    every_cell, ran = read_all(folder)
    cells = keep_whole_sets(every_cell)
    tried = sorted({entry for entry, _ in cells}, key=lambda e: (not e.startswith("bagwise"), e))
    answered = {e for (e, _), found in cells.items() if any("auc" in r for r in found)}
    entries = [entry for entry in tried if entry in answered]
    real = [s for s in SETS if s not in TESTS]
    there = [s for s in real if any((e, s) in cells for e in entries)]
    aucs = [[s, *(show(cells.get((e, s))) for e in entries)] for s in there]
    tests = [[e, *(show(cells.get((e, s))) for s in TESTS)] for e in entries]
    more = []
    for entry in entries:
        every = [r for s in real for r in cells.get((entry, s), [])]
        more.append([entry, *(show(every, measure) for measure in MEASURES), str(len(every))])
    count = {e: sum((e, s) in cells for s in real) for e in entries}
    ranked = [e for e in entries if 5 * count[e] >= 4 * max(count.values())]
    shared = [s for s in real if all((e, s) in cells for e in ranked)]
    ranking = rank(cells, ranked, shared) if len(shared) > 1 and len(ranked) > 2 else []
    if ranking:
        critical = ranks.find_critical(len(ranking), len(shared))
        figure = ranks.draw(ranking, critical, f"AUC, ranks on {len(shared)} sets")
        figure.savefig(folder / "ranks.png", dpi=110, bbox_inches="tight")
    means = list_ranks(ranking, cells, shared)
    run = {e: [s for s in SETS if (e, s) in cells] for e in entries}
    missing = [say_missing(e, names) for e, names in run.items() if len(names) < len(SETS)]
    used = [
        [name, own["machine"], ", ".join(f"{k} {v}" for k, v in own["versions"].items())]
        for name, own in ran.items()
    ]
    return TEXT.format(
        aucs=table(aucs, "set", *entries),
        tests=table(tests, "system", *TESTS),
        more=table(more, "system", *MEASURES.values(), "cells"),
        ranks="![Average ranks](league/ranks.png)" if ranking else "None yet.",
        means=table(means, "system", "mean AUC %", "average rank"),
        shared=", ".join(shared) or "none",
        unranked=", ".join(e for e in entries if e not in ranked) or "none",
        losses=table(losses(cells, entries, real), "set", OURS, "best", "its AUC %"),
        failures=table(count_failures(cells, tried), "system", "failed cells", "first message"),
        seeds=list_seeds(cells),
        versions=table(used, "file", "machine", "versions"),
        missing="\n".join(missing) or "None: every system below has been run on all of them.",
    )


def pack(folder: Path) -> None:
    """Pack plain files of records; packed ones come first."""
    for path in folder.glob("*.jsonl"):
        packed = path.with_name(f"{path.name}.xz")
        before = lzma.decompress(packed.read_bytes()) if packed.exists() else b""
        packed.write_bytes(lzma.compress(before + path.read_bytes()))
        path.unlink()


if __name__ == "__main__":
    given = options(__doc__, pack=0)
    if given.pack:
        pack(RESULTS / "league")
    (RESULTS / "league.md").write_text(make_page(RESULTS / "league"))
