"""A cost model of fits that pass over the rows, and what it says of all public slide features.

    python benchmarks/scale_rates.py
    python benchmarks/scale_costs.py

A fit takes passes over the rows, of which some assign the instances of positive bags anew and some
are in float64; curvatures that change enter the d x d Hessian. Its seconds are

    processor:  passes x pass + assignments x assign + Hessians x enroll + exact x exact + look
    reading:    passes x bytes / bandwidth, at the same time: the longer of the two counts
    steps:      passes x step: the d x d system of a Newton step, when the pass is over
    network:    passes x (round + workers x 8 d^2 / bandwidth): the sums of every worker

each of the first line a number per block and a number per row, for rows of one width and
precision, in memory, in a mapped file or on a GPU. benchmarks/scale_rates.py first takes these
numbers from a microbenchmark: single passes over 128 MB of rows, on a GPU over 1 and 4 GB, and one
reading of 4 GB. It then predicts fits to other rows, with the counts of a fit to 100,000 x 256
rows, on a GPU to a million, and measures them afterwards. Where a fit took other counts than that
one, a second prediction with its own counts says whether seconds per pass or passes were off.
Nothing was adjusted afterwards; all lines are in the table. Those of 1,024 features are fits of
benchmarks/scale_stream.py in the same run. Their predictions were computed afterwards, with rates
between those of 512 and 1,536 features.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

LINES = Path(__file__).parents[1] / "docs" / "results" / "scale_costs.jsonl"
WITHIN = 0.25
KINDS = {
    "SIL": "InstanceSVC",
    "MI-SVM": "WitnessSVC",
    "AW-SVM": "AnnealedWitnessSVC",
    "AL-SVM": "AnnealedLabelSVC",
}


@dataclass(frozen=True)
class Point:
    """A fit: the shape of its rows, and where they are."""

    model: str
    rows: int
    features: int
    dtype: str
    place: str  # "memory", "mapped file", "GPU", or "GPU, x % streamed"

    @property
    def on_gpu(self) -> bool:
        """Whether a GPU multiplies the rows."""
        return self.place.startswith("GPU")

    @property
    def streamed(self) -> float:
        """The share of the rows that passes through the GPU."""
        return float(self.place.split()[1]) / 100 if "%" in self.place else 0.0

    @property
    def bytes(self) -> float:
        """The size of the rows."""
        return self.rows * self.features * np.dtype(self.dtype).itemsize

    @property
    def kind(self) -> str:
        """What the rates depend on."""
        where = "GPU" if self.on_gpu else self.place
        return f"{where} {self.features} {self.dtype}"

    def __str__(self) -> str:
        return f"{self.model}, {self.rows:,} x {self.features} {self.dtype}, {self.place}"


SLIDES = 120_000_000, 1536, "float16"  # 11,760 slides of 10,000 patches: 369 GB


# The model ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Worker:
    """How rows reach what multiplies them, and what connects workers."""

    workers: int = 1
    reading: float = float("inf")  # bytes per second of the rows that come in every pass
    share: float = 0.0  # of the rows that come in every pass
    network: float = float("inf")  # bytes per second
    round: float = 0.0  # seconds of a pass with nothing in it
    block: float = 2.0**33  # bytes


def seconds(rates: dict[str, Any], counts: dict[str, float], point: Point, at: Worker) -> float:
    """Return the predicted seconds of a fit."""
    rows, size = point.rows / at.workers, point.bytes / at.workers
    blocks = max(1.0, np.ceil(size / at.block)) if point.on_gpu else 1.0

    def cost(kind: str) -> float:
        per_block, per_row = rates[kind]
        return blocks * per_block + rows * per_row

    work = counts["passes"] * cost("pass") + counts["exact"] * cost("exact") + cost("look")
    work += counts["assigned"] * cost(f"assign {point.model}") if counts["assigned"] else 0.0
    work += counts["enrolled"] * cost("enroll") + counts["enrolled exactly"] * cost(
        "enroll exactly"
    )
    work += cost("means") if point.model in ("MI-SVM", "AW-SVM") else 0.0
    passes = counts["passes"] + counts["exact"]
    reading = (passes + 1) * at.share * size / at.reading
    last = work / blocks if at.share > 0 else 0.0  # nothing travels while it is multiplied
    traffic = at.workers * 8 * point.features**2 / at.network
    step, _ = rates["step"]
    return max(work, reading + last) + passes * (step + at.round + traffic)


# The page -----------------------------------------------------------------------------------------


def points() -> list[dict[str, Any]]:
    """Return the measured lines with their predictions."""
    return [line for line in _lines() if line["what"] == "point"]


def _lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in LINES.read_text().splitlines()]


def near() -> str:
    """Return how many predictions are close to what was measured, in words."""
    before = [line for line in points() if "passes" in line]
    after = [line for line in points() if "passes" not in line]
    counts = [
        sum(abs(line[what] / line["measured"] - 1) <= WITHIN for line in lines)
        for lines, what in (
            (before, "predicted"),
            (before, "at its own counts"),
            (after, "predicted"),
        )
    ]
    return (
        f"{counts[0]} of {len(before)} predictions that were made before are within {WITHIN:.0%}, "
        f"{counts[1]} at the fit's own counts; {counts[2]} of {len(after)} computed afterwards."
    )


PLACES = {
    "one H200, 115 GB stay on it, rows from the host's memory": ("GPU", Worker(share=0.69)),
    "one H200, 115 GB stay on it, rows from a disk (6 GB/s)": (
        "GPU",
        Worker(share=0.69, reading=6e9),
    ),
    "one core, rows from a disk (6 GB/s)": ("memory", Worker(share=1.0, reading=6e9)),
    "8 workers with an H200 each, rows on the GPUs, 10 Gbit/s": (
        "GPU",
        Worker(workers=8, network=1.25e9, round=0.01),
    ),
    "16 workers with one core and a disk (1 GB/s) each, 10 Gbit/s": (
        "memory",
        Worker(workers=16, share=1.0, reading=1e9, network=1.25e9, round=0.01),
    ),
}


def passes_of_a_million() -> dict[str, int]:
    """Return the passes of fits to a million rows (benchmarks/scale.py)."""
    lines = map(json.loads, (LINES.parent / "scale.jsonl").read_text().splitlines())
    return {line["model"]: line["passes"] for line in lines if line["rows"] == 1_000_000}


def table() -> list[str]:
    """Return the part of the page: measured against predicted, and the prediction."""
    head = "fit | measured s | predicted s | ratio | ratio at its own counts | passes"
    text = [f"| {head} |", "|---|---|---|---|---|---|"]
    for line in points():
        point = Point(*(line[name] for name in ("model", "rows", "features", "dtype", "place")))
        measured, said = line["measured"], line["predicted"]
        own, passes = "", ""
        if "passes" in line:
            own = f"{line['at its own counts'] / measured:.2f}"
            passes = f"{line['passes'] + line['exact']:.0f}"
        ratios = f"{said / measured:.2f} | {own} | {passes}"
        text.append(f"| {point} | {measured:.2f} | {said:.2f} | {ratios} |")
    names = " | ".join(KINDS)
    text += ["", f"| 1.2e8 x 1,536 float16, 369 GB | {names} |", "|---|---|---|---|---|"]
    lines, passes = _lines(), passes_of_a_million()
    rates = {line["kind"]: line["rates"] for line in lines if line["what"] == "rates"}
    reading = next(line for line in lines if line["what"] == "reading")["bytes_per_second"]
    usual = {(c["model"], c["place"]): c for c in lines if c["what"] == "counts"}
    for name, (place, at) in PLACES.items():
        at = replace(at, reading=reading) if at.share and at.reading == np.inf else at
        cells = []
        for model in KINDS:
            counts = {**usual[model, place], "passes": passes[model]}
            point = Point(model, *SLIDES, place)
            cells.append(_readable(seconds(rates[point.kind], counts, point, at)))
        text.append(f"| {name} | {' | '.join(cells)} |")
    return text


def _readable(value: float) -> str:
    return f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min"


def main() -> None:
    """Print the tables, and how many predictions are close."""
    print("\n".join(table()))
    print(f"\n{near()}")


if __name__ == "__main__":
    main()
