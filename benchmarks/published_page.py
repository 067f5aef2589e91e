"""Every number that the five papers print, with ours beside it in two columns.

    python benchmarks/published_page.py docs/results/published.md

*Their protocol*: the printed grid, features and way of choosing, of the folders of `bagwise bench`
under ``docs/results``. *Best effort*: the best of longer grids, standardized features, other maps
and text features. A dagger marks numbers whose grid point was chosen on the test folds, as most of
the papers did; they are optimistic. A number is *reproduced* where ours differs from it by at most
three points and two standard errors of the difference, and *undecided* where it differs by more
points, but not by more standard errors. The paper's standard error is its printed spread, or that
of as many coin tosses as the data set has bags, at the printed rate. Shares of positive instances
(p-hat), which the papers print to describe a model, count as reproduced within ten points. Seconds
were measured on other machines and are not judged.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.bench.aggregate import Number, numbers
from bagwise.bench.measures import METRICS
from bagwise.bench.run import read_plan
from bagwise.bench.tables import PublishedTable, read_published
from options import find_commit

RESULTS = Path("docs/results")
THEIRS, BEST, NESTING = "their protocol", "best effort", "nested"
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
    "MKSVM-MIL", "LC-MF", "global BoW SVM",
}  # fmt: skip
SPREADS = {"95 % interval": 1.96, "standard deviation over 10 splits": np.sqrt(10)}
# The largest C that a paper prints, in our scale; its grid of other tables is the preset's.
LARGEST_C = {"gehler2007-table1": 5.0, "gehler2007-table2": 5.0, "gehler2007-text": 5.0,
             "zhang2011-table2": 32.0}  # fmt: skip
BAGS_OF_WEBKB = ("course", "faculty", "student")
NESTED = {"zhang2011-table2"}  # tables whose paper chose within the training bags
# Better numbers of ours from other pages, chosen on test folds there.
BETTER = {
    ("error", "AL-SVM T=10C", "musk2"): 14.7,  # annealing_study.md
    ("accuracy", "Ins-KI-SVM", "musk1"): 87.0, ("accuracy", "Ins-KI-SVM", "musk2"): 83.3,  # odm.md
    ("accuracy", "Bag-KI-SVM", "musk1"): 88.0, ("accuracy", "Bag-KI-SVM", "musk2"): 85.3,
    ("accuracy", "MI-ODM", "musk1"): 89.1, ("accuracy", "MI-ODM", "musk2"): 86.3,
    ("accuracy", "MIMN", "musk2"): 85.9, ("accuracy", "GMIMN K=5", "musk2"): 89.2,  # markov.md
    ("accuracy", "RMIMN rho=0.5", "musk2"): 89.9,
}  # fmt: skip
POINTS = 3.0  # beyond which a difference is not called a reproduction, whatever the noise
ENOUGH = 10  # rounds that are due where one costs less than so many CPU minutes
P_HAT = 10.0  # points within which a share of positive instances counts as reproduced
VERDICTS = (
    "reproduced", "undecided", "better here", "not reproduced", "not run",
    "quoted there, not run here", "cannot be had", "not judged",
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A printed number and ours, by the name of the column."""

    table: PublishedTable
    metric: str
    model: str
    data: str
    printed: float
    spread: float | None
    ours: dict[str, Number]

    def verdict(self, column: str = THEIRS) -> str:
        """Say how the two compare."""
        if self.unavailable():
            return "cannot be had"
        if self.metric == "fit_seconds":
            return "not judged"
        if column not in self.ours:
            return "quoted there, not run here" if self.model in FOREIGN else "not run"
        return self.judge(self.ours[column])

    def judge(self, number: Number) -> str:
        """Compare a number of ours with the printed one."""
        lead = number.value - self.printed
        if self.metric == "p_hat":
            return "reproduced" if abs(lead) <= P_HAT else "not reproduced"
        if abs(lead) <= 2 * np.hypot(number.error or 0.0, self.printed_error()):
            return "reproduced" if abs(lead) <= POINTS else "undecided"
        return "better here" if METRICS[self.metric].better * lead > 0 else "not reproduced"

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
        why = f" ({self.unavailable()})" if self.unavailable() else ""
        printed = f"{self.printed:g}" + ("" if self.spread is None else f" ± {self.spread:g}")
        names = f"{self.model} | {self.data} | {METRICS[self.metric].label}".replace("*", r"\*")
        shown = [_text(self.ours.get(kind)) for kind in (THEIRS, BEST, NESTING)]
        verdicts = [self.verdict(THEIRS) + why, "" if why else self.verdict(BEST)]
        return f"| {names} | {printed} | {' | '.join([*shown, *verdicts])} |"


def _text(number: Number | None) -> str:
    if number is None:
        return ""
    spread = "" if number.error is None else f" ± {number.error:.1f}"
    return f"{number.value:.1f}{spread}" + (" †" if number.kind == "best" else "")


RATES = """
What such verdicts are worth, in %: **own** is the share of our numbers that count as reproduced;
**placebo** the share if every model is given the result of *another* model on the same data;
**ceiling** the share of pairs of printed numbers on the same data that differ by more than three
points, so that they could be told apart at all. p-hat and seconds are left out.
"""

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
- *WebKB*: passages, words and links were rebuilt from the pages. With passages alone, as in the
  paper, I-miSVM has 88.6, 89.2 and 83.1 (five splits; B-MILSD was not run so); with titles,
  addresses and the text of links to a page it has the paper's numbers. Our hyperlinks connect
  unequal labels too often to help ([what links add](webkb.md)). The printed columns of LC-MF and
  B-miSVM cannot be told apart in our source; ours are in [all tables](zhang2011-table2/tables.md).
- *MI-SVM, MICA, MILES and miGraph*: quoted there from papers with other losses, kernels and folds.

Rounds: a verdict to three points needs about ten rounds of folds. They were run wherever a round
of all models takes less than ten CPU minutes (table below); our errors there are mostly below one
point, and what is still undecided is so by the paper's error, that of one round. Other sets have
one round here too, with errors of two to six points. LC-MF has ten splits of WebKB, the others of
that table twenty. Inner folds take three quarters of a round: on tiger, fox and elephant of Gehler
& Chapelle and of Hajimirsadeghi & Mori, and of ALP-SVM, they are part of the first round only, and
nested numbers are of that one.
`python benchmarks/stale_pages.py` lists [which pages](../bench.md) are older than the code.
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
    """Return our numbers of a table by metric, model and data set, then by column."""
    folder, found = RESULTS / name, {}
    if not folder.is_dir():
        return {}
    plan, most = read_plan(folder), LARGEST_C.get(name, np.inf)
    printed = replace(plan, cells=[c for c in plan.cells if c.point.get("C", 0.0) <= most])
    kinds = {"best": BEST, "nested": NESTING}
    for column, asked in ((None, plan), (THEIRS, printed)):
        for number in numbers(asked, (*plan.spec.metrics, "fit_seconds")):
            if column and number.kind != ("nested" if name in NESTED else "best"):
                continue
            where = (number.metric, number.model, number.data.removesuffix(" @ 0.2"))
            mine = found.setdefault(where, {})
            mine[column or kinds[number.kind]] = number
            better = BETTER.get(where)
            if better and METRICS[where[0]].better * (better - mine[BEST].value) > 0:
                mine[BEST] = replace(number, kind="best", value=better, error=None)
    if name in NESTED:  # titles, addresses and anchors are ours: the paper has passages alone
        words = re.search(r"passages alone.*", (RESULTS / "webkb.md").read_text())
        plain = dict(zip(BAGS_OF_WEBKB, re.findall(r"\d\d\.\d", words[0]), strict=True))
        for (metric, model, data), mine in found.items():
            theirs = mine.pop(THEIRS, None)
            if theirs and (metric, model) == ("accuracy", "I-miSVM"):
                mine[THEIRS] = replace(theirs, value=float(plain[data]), error=None)
    return found


def rates(found: list[Cell], column: str) -> list[float]:
    """Return how often ours, and other models' numbers on the same data, count as reproduced.

    The third number is the ceiling: the share of pairs of printed numbers that can be told apart.
    """
    judged = [c for c in found if column in c.ours and c.metric not in ("p_hat", "fit_seconds")]
    own = [c.judge(c.ours[column]) == "reproduced" for c in judged if not c.unavailable()]
    placebo, apart = [], []
    for one in judged:
        for other in judged:
            pairs = ((each.table.name, each.metric, each.data) for each in (one, other))
            if len(set(pairs)) == 1 and one.model != other.model:
                placebo.append(one.judge(other.ours[column]) == "reproduced")
                apart.append(abs(one.printed - other.printed) > POINTS)
    return [100 * float(np.mean(values)) for values in (own, placebo, apart)]


COSTS = """
What rounds cost: ten are due where one of all models, with its inner folds, takes less than ten
CPU minutes. Cells that did not note their CPU time count as their fit times the number of inner
fits and one. "Missing" is what the rounds up to ten would take, of the models that have fewer.
"""


def round_costs() -> list[str]:
    """Return the lines of the table of rounds, one per set of a published table."""
    rows = ["| table | data | CPU minutes per round | rounds | due | CPU minutes missing |"]
    rows.append("|---|---|---:|---:|---|---:|")
    for name in (each for each in read_published() if (RESULTS / each).is_dir()):
        plan = read_plan(RESULTS / name)
        records, rounds = plan.records(), defaultdict(set)
        minutes: dict[Any, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for cell in (each for each in plan.cells if each.id in records):
            record, key = records[cell.id], (cell.data.name, cell.model.name)
            rounds[key].add(cell.split.repeat)
            if cell.inner == plan.spec.protocol.inner:
                own = record["metrics"]["fit_seconds"] * (1 + cell.inner)
                minutes[key][cell.split.repeat] += record.get("seconds", own) / 60
        for entry in plan.spec.data:
            ran = {key: len(found) for key, found in rounds.items() if key[0] == entry.name}
            cost = {key: float(np.mean([*minutes[key].values()])) for key in ran}
            total, few = sum(cost.values()), {key: n for key, n in ran.items() if n < ENOUGH}
            missing = sum((ENOUGH - n) * cost[key] for key, n in few.items())
            due = "exempt" if total >= 10 else "missing" if few else "done"
            counts = "-".join(map(str, sorted({min(ran.values()), max(ran.values())})))
            left = f"{missing:.0f}" if due == "missing" else ""
            rows.append(f"| {name} | {entry.name} | {total:.1f} | {counts} | {due} | {left} |")
    return rows


def page(found: list[Cell]) -> str:
    columns, command = (
        (THEIRS, BEST),
        "python benchmarks/published_page.py docs/results/published.md",
    )
    counts = [Counter(cell.verdict(column) for cell in found) for column in columns]
    head = [f"| verdict | {' | '.join(columns)} |", "|---|---:|---:|"]
    head += [f"| {name} | {' | '.join(str(c[name]) for c in counts)} |" for name in VERDICTS]
    table = ["| column | own | placebo | ceiling | own - placebo |", "|---|---:|---:|---:|---:|"]
    for column in columns:
        own, placebo, ceiling = rates(found, column)
        numbers = f"{own:.0f} | {placebo:.0f} | {ceiling:.0f} | {own - placebo:.0f}"
        table.append(f"| {column} | {numbers} |")
    lines = [
        "# Every published number, with ours beside it",
        f"`{command}` at commit {find_commit()}",
        __doc__.split("\n\n", 2)[2].strip(),
        "\n".join([*head, f"| all | {' | '.join([str(len(found))] * 2)} |"]),
        RATES.strip(),
        "\n".join(table),
        WHY.strip(),
        COSTS.strip(),
        "\n".join(round_costs()),
    ]
    for table, group in groupby(found, key=lambda cell: cell.table):
        lines.append(f"## {table.source}, {table.table}")
        folder = RESULTS / table.name
        link = f" Ours: [all tables]({table.name}/tables.md)." if folder.is_dir() else ""
        lines.append(f"Protocol there: {table.protocol}.{link}")
        names = f"printed | {THEIRS} | {BEST} | {NESTING} | verdict | {BEST}"
        rows = [f"| model | data | metric | {names} |"]
        rows += ["|---|---|---|---:|---:|---:|---:|---|---|", *(cell.row() for cell in group)]
        lines.append("\n".join(rows))
    return "\n\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(cells()))
