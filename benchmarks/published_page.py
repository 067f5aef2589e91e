"""Every number that the five papers print, with ours beside it.

    python benchmarks/published_page.py docs/results/published.md

Ours come from the folders of `bagwise bench` under ``docs/results``: the best grid point on the
test folds (optimistic, as in the papers) and the nested choice, each with its standard error. A
number is *reproduced* where our best grid point differs from it by at most five points and two
standard errors of the difference, and *undecided* where it differs by more points, but not by more
standard errors. The paper's standard error is its printed spread, or that of as many coin tosses as
the data set has bags, at the printed rate. Shares of positive instances (p-hat), which the papers
print to describe a model, count as reproduced within ten points. Seconds were measured on other
machines and are not judged.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from bagwise.bench.aggregate import Number, numbers
from bagwise.bench.measures import METRICS
from bagwise.bench.published import PublishedTable, read_published
from bagwise.bench.run import read_plan

RESULTS = Path("docs/results")
BAGS = {
    "musk1": 92, "musk2": 102, "elephant": 200, "fox": 200, "tiger": 200,
    "corel1000": 1000, "corel2000": 2000, "course": 1326, "faculty": 1592, "student": 2322,
}  # fmt: skip
UNAVAILABLE = {
    "castle": "the images are not public with their regions",
    "helmets": "the videos are not public",
    "nursing home": "the videos are private",
    "collective activity": "the tracks and descriptors are not public",
    "ascot": "the company's data are not public",
    "protein": "its links are not public",
}
FOREIGN = {
    "gamma-rule SVM", "SetMaxRBM-XOR", "MIRealBoost", "MIForest", "SVR-SVM", "MIGraph",
    "MKSVM-MIL", "LC-MF", "global BoW SVM", "DD-SVM", "MissSVM",
}  # fmt: skip
SPREADS = {"95 % interval": 1.96, "standard deviation over 10 splits": np.sqrt(10)}
POINTS = 5.0  # beyond which a difference is not called a reproduction, whatever the noise
P_HAT = 10.0  # points within which a share of positive instances counts as reproduced
VERDICTS = (
    "reproduced", "undecided", "better here", "not reproduced", "not run",
    "quoted there, not run here", "cannot be had", "not judged",
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A printed number and ours."""

    table: PublishedTable
    metric: str
    model: str
    data: str
    printed: float
    spread: float | None
    ours: dict[str, Number]

    def verdict(self) -> str:
        """Say how the two compare."""
        if self.unavailable():
            return "cannot be had"
        if self.metric == "fit_seconds":
            return "not judged"
        if "best" not in self.ours:
            return "quoted there, not run here" if self.model in FOREIGN else "not run"
        measure, best = METRICS[self.metric], self.ours["best"]
        lead = best.mean - self.printed
        if self.metric == "p_hat":
            return "reproduced" if abs(lead) <= P_HAT else "not reproduced"
        if abs(lead) <= 2 * np.hypot(best.error or 0.0, self.printed_error()):
            return "reproduced" if abs(lead) <= POINTS else "undecided"
        return "better here" if measure.better * lead > 0 else "not reproduced"

    def unavailable(self) -> str:
        """Say why the data cannot be had; empty where they can."""
        columns = list(self.table.values[self.metric][self.model])
        names = [self.data, *columns[:1]] if self.data not in BAGS else []
        return next((UNAVAILABLE[name] for name in names if name in UNAVAILABLE), "")

    def printed_error(self) -> float:
        """Return the printed number's standard error."""
        if self.spread is not None and self.table.spread in SPREADS:
            return self.spread / float(SPREADS[self.table.spread])
        rate = self.printed / 100
        return 100 * np.sqrt(rate * (1 - rate) / BAGS[self.data])

    def row(self) -> str:
        """Return the line of the page."""
        shown = [self._text(kind) for kind in ("best", "nested")]
        why = f" ({self.unavailable()})" if self.unavailable() else ""
        printed = f"{self.printed:g}" + ("" if self.spread is None else f" ± {self.spread:g}")
        names = f"{self.model} | {self.data} | {METRICS[self.metric].label}".replace("*", r"\*")
        return f"| {names} | {printed} | {' | '.join(shown)} | {self.verdict()}{why} |"

    def _text(self, kind: str) -> str:
        if kind not in self.ours:
            return ""
        number = self.ours[kind]
        spread = "" if number.error is None else f" ± {number.error:.1f}"
        return f"{number.mean:.1f}{spread}"


WHY = """
Why some are not reproduced, or undecided:

- *AL-SVM T=10C on musk2*: the paper's C ends at our 5. At C = 500 AL-SVM has an error of 17.6,
  on standardized features 14.7 ([study](annealing_study.md)).
- *p-hat*: the share follows from the positive_fraction that was chosen; several of them have equal
  errors, and the paper's ties went elsewhere. T = 0 on elephant: 57 at the best grid point, more at
  other values of C.
- *KI-SVM and MI-ODM on the musk sets*: the preset has raw features, one width, nu and theta. On
  standardized features, with draws from the paper's whole grid, Bag-KI-SVM has 88.0 and 85.3 on
  musk1 and musk2, MI-ODM 87.0 to 89.1 and 81.4 to 86.3 ([draws](odm.md)).
- *Markov networks on musk2 and fox*: one map is run here, on musk2 one alpha. With others the best
  network has 89.9 on musk2 and 65.5 on fox ([all maps](markov.md)).
- *B-MILSD on WebKB*: passages, words and links were rebuilt from the pages. Without the graph
  (I-miSVM) our numbers are the paper's; our hyperlinks connect unequal labels too often to help
  ([what links add](webkb.md)).
- *MI-SVM, MICA, MILES and miGraph*: quoted there from papers with other losses, kernels and folds.
"""


def cells() -> list[Cell]:
    found = []
    for name, table in read_published().items():
        ours = measured(name)
        for metric, rows in table.values.items():
            for model, row in rows.items():
                for data, (printed, spread) in row.items():
                    beside = ours.get((metric, model, data), {})
                    found.append(Cell(table, metric, model, data, printed, spread, beside))
    return found


def measured(name: str) -> dict[tuple[str, str, str], dict[str, Number]]:
    folder, found = RESULTS / name, {}
    if folder.is_dir():
        plan = read_plan(folder)
        for number in numbers(plan, (*plan.spec.metrics, "fit_seconds")):
            where = (number.metric, number.model, number.column.removesuffix(" @ 0.2"))
            found.setdefault(where, {})[number.kind] = number
    return found


def page(found: list[Cell]) -> str:
    count = Counter(cell.verdict() for cell in found)
    head = ["| verdict | numbers |", "|---|---:|"]
    head += [f"| {verdict} | {count[verdict]} |" for verdict in VERDICTS]
    lines = [
        "# Every published number, with ours beside it",
        "`python benchmarks/published_page.py docs/results/published.md`",
        __doc__.split("\n\n", 2)[2].strip(),
        "\n".join([*head, f"| all | {len(found)} |"]),
        WHY.strip(),
    ]
    for table, group in groupby(found, key=lambda cell: cell.table):
        lines.append(f"## {table.source}, {table.table}")
        folder = RESULTS / table.name
        link = f" Ours: [all tables]({table.name}/tables.md)." if folder.is_dir() else ""
        lines.append(f"Protocol there: {table.protocol}.{link}")
        rows = ["| model | data | metric | printed | best grid point | nested | verdict |"]
        rows += ["|---|---|---|---:|---:|---:|---|", *(cell.row() for cell in group)]
        lines.append("\n".join(rows))
    return "\n\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(cells()))
