"""A cost model of fits that pass over the rows, and what it says of all public slide features.

    python benchmarks/scale_costs.py [--measure --out docs/results/scale_costs.jsonl]

A fit takes passes over the rows, of which some assign the instances of positive bags anew and some
are in float64; curvatures that change enter the d x d Hessian. Its seconds are

    processor:  passes x pass + assignments x assign + Hessians x enroll + exact x exact + look
    reading:    passes x bytes / bandwidth, at the same time: the longer of the two counts
    network:    passes x (round + workers x 8 d^2 / bandwidth): the sums of every worker

each of the first line a number per block and a number per row, for rows of one width and precision.
``--measure`` first takes these numbers from a microbenchmark: single passes over 128 MB of rows, on
a GPU over 0.5 and 2 GB, and one reading of 4 GB. It then predicts fits to other, larger
rows, with the counts of a fit to 100,000 x 256 rows, and measures them afterwards. Where a fit took
other counts than that one, a second prediction with its own counts says whether seconds per pass or
passes were off. Nothing was adjusted afterwards; all lines are in the table.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
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
PIECE = 128e6  # bytes: more than the cache of a core
ON_GPU = 0.5e9, 2e9  # two sizes tell what a block costs from what its rows cost


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
        return f"{'GPU' if self.on_gpu else 'CPU'} {self.features} {self.dtype}"

    def __str__(self) -> str:
        return f"{self.model}, {self.rows:,} x {self.features} {self.dtype}, {self.place}"


POINTS = [
    Point("AW-SVM", 300_000, 64, "float32", "memory"),
    Point("AL-SVM", 300_000, 64, "float32", "mapped file"),
    Point("SIL", 200_000, 512, "float32", "memory"),
    Point("MI-SVM", 150_000, 512, "float16", "mapped file"),
    Point("AL-SVM", 150_000, 512, "float16", "memory"),
    Point("AW-SVM", 200_000, 512, "float32", "mapped file"),
    Point("AW-SVM", 3_000_000, 512, "float16", "GPU"),
    Point("AL-SVM", 3_000_000, 512, "float16", "GPU"),
    Point("AW-SVM", 3_000_000, 512, "float16", "GPU, 100 % streamed"),
    Point("AL-SVM", 3_000_000, 512, "float16", "GPU, 50 % streamed"),
    Point("MI-SVM", 4_000_000, 256, "float32", "GPU"),
    Point("AW-SVM", 4_000_000, 256, "float32", "GPU, 100 % streamed"),
]
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
    block: float = 2.0**32  # bytes


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
    return max(work, reading + last) + passes * (at.round + traffic)


# Measuring ----------------------------------------------------------------------------------------


def planted(point: Point, n_rows: int) -> tuple[Any, Any]:
    """Return planted bags and labels, on the host."""
    from bagwise import Bags

    if point.on_gpu:
        from scale_gpu import make

        X, y, _, offsets = make(n_rows // 1000, point.features, 1, 500, 1500)
        dtype = {"float16": X.dtype}.get(point.dtype)
        X = (X if dtype else X.float()).cpu().numpy()
        return Bags(X, offsets), y.cpu().numpy().astype(int)
    from scale import make as made

    X, y, _ = made(n_rows // 1000, 1, point.features)
    return Bags(X.astype(point.dtype), np.arange(0, len(X) + 1, 1000)), y


def weight(n_rows: int) -> float:
    """Return the C of a fit."""
    return 3e-3 * (1e6 / n_rows) ** 0.5


def timed(call: Callable[[], Any], times: int = 1) -> float:
    """Return the seconds of a call, the least of some; the GPU finishes first."""
    best = np.inf
    for _ in range(times):
        began = now()
        call()
        best = min(best, now() - began)
    return best


def now() -> float:
    """Return the time when the GPU has finished."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def _rules(C: float) -> dict[str, list[Any]]:
    """Return how models assign instances, at temperatures from hot to cold."""
    from bagwise.assumptions import ExactlyOne
    from bagwise.assumptions.rules import Choose, Soften
    from bagwise.assumptions.soft import SoftLabels, SoftWitness
    from bagwise.losses import SquaredHinge

    soft = {"AW-SVM": SoftWitness(1), "AL-SVM": SoftLabels()}
    warm = [10 * C, C, 0.1 * C, 0.01 * C]
    rules: dict[str, list[Any]] = {"MI-SVM": [Choose(ExactlyOne())]}
    for name, softening in soft.items():
        rules[name] = [Soften(softening, SquaredHinge(), C, T, 1e-6 * C) for T in warm]
    return rules


def single_passes(bags: Any, y: Any) -> dict[str, float]:
    """Return the seconds of every part of a fit on some rows."""
    from bagwise.bags.checks import check_finite
    from bagwise.designs import conditioned_design
    from bagwise.designs.swept import Labels
    from bagwise.estimators.sweeping import _positive_means
    from bagwise.estimators.task import Task
    from bagwise.losses import SquaredHinge

    C, positive = weight(bags.n_instances), y == 1
    found = {"look": timed(lambda: (check_finite(bags), conditioned_design(bags.X)), 2)}
    design = conditioned_design(bags.X)
    of_rows = np.full(bags.n_instances, C)
    task = Task(design, bags.offsets, positive, of_rows, SquaredHinge(), C, None)
    found["means"] = timed(lambda: _positive_means(task), 2)
    labels = Labels(bags.offsets, positive, np.full(len(y), C), C, rest_is_negative=True)
    rows = design.labeled(labels)
    w = 0.01 * np.random.default_rng(0).normal(size=bags.n_features)
    rows.assignment = np.full(len(rows.assignment), 0.5)
    rows.sweep(w, 0.0)  # every row enters the Hessian; compiles what is compiled
    found["pass"] = timed(lambda: rows.sweep(w, 0.0), 3)
    apart = w / np.std(design @ w)  # scores as of a model: bags are easy, or hard, to assign
    for name, rules in _rules(C).items():
        found[f"assign {name}"] = 0.0
        for rule in rules:
            rows.sweep(apart, 0.0, rule)
            taken = timed(lambda r=rule: rows.sweep(apart, 0.0, r), 2) - found["pass"]
            found[f"assign {name}"] += max(0.0, taken) / len(rules)
    again = design.labeled(labels)
    found["enroll"] = timed(lambda: again.sweep(w, 0.0)) - found["pass"]
    found["exact"] = found["pass"]
    if again.refine():
        again.sweep(w, 0.0)
        found["exact"] = timed(lambda: again.sweep(w, 0.0), 2)
    again.sharpen()
    found["enroll exactly"] = timed(lambda: again.sweep(w, 0.0)) - found["exact"]
    return {name: max(0.0, value) for name, value in found.items()}


def calibrated(point: Point) -> dict[str, Any]:
    """Return the rates of rows of one width and precision."""
    width = point.features * np.dtype(point.dtype).itemsize
    if not point.on_gpu:
        n = int(PIECE / width) // 1000 * 1000
        found = single_passes(*planted(point, n))
        return {name: (0.0, value / n) for name, value in found.items()}
    made = []
    for size in ON_GPU:
        bags, y = planted(point, int(size / width))
        bags = bags.to("cuda")
        made.append((bags.n_instances, single_passes(bags, y)))
    (n, few), (m, many) = made
    slopes = {name: max(0.0, (many[name] - few[name]) / (m - n)) for name in few}
    return {name: (max(0.0, few[name] - n * slopes[name]), slopes[name]) for name in few}


def bandwidth(n_bytes: float = 4e9) -> float:
    """Return the bytes per second that pass through the GPU from the memory of the host."""
    from bagwise.rowstores.device import DeviceRows

    X = np.zeros((int(n_bytes // 2048), 1024), np.float16)
    X[:] = 1.0
    rows = DeviceRows.of(X, "cuda", 0.0)
    return X.nbytes / timed(lambda: [None for _ in rows.blocks()], 3)


@contextmanager
def counted(n_rows: int) -> Iterator[Counter]:
    """Count what the fits within do."""
    from bagwise.designs import swept, torch, torch_swept

    counts, kept = Counter(), []

    def wrap(owner: Any, name: str, count: Callable[..., None]) -> None:
        method = getattr(owner, name)
        kept.append((owner, name, method))

        def called(self: Any, *args: Any, **options: Any) -> Any:
            count(self, *args, **options)
            return method(self, *args, **options)

        setattr(owner, name, called)

    def swept_once(self: Any, coef: Any, intercept: float, rule: Any = None) -> None:
        if self.labels.offsets[-1] == n_rows:
            counts["exact" if getattr(self, "exact", False) else "passes"] += 1
            counts["assigned"] += rule is not None and type(rule).__name__ != "Keep"

    def enrolled(self: Any, block: Any, weights: Any, *, exact: bool) -> None:
        found = weights.count_nonzero() / n_rows
        counts["enrolled exactly" if exact else "enrolled"] += found

    def pending(self: Any, shard: Any, block: Any, amount: Any, count: int) -> None:
        exact = shard.lazy == 0
        counts["enrolled exactly" if exact else "enrolled"] += count / n_rows

    wrap(swept.Swept, "sweep", swept_once)
    wrap(torch_swept.TorchSwept, "sweep", swept_once)
    wrap(torch.TorchDense, "gram_of", enrolled)
    wrap(swept._Pending, "add", pending)
    try:
        yield counts
    finally:
        for owner, name, method in kept:
            setattr(owner, name, method)


def fitted(point: Point, bags: Any, y: Any) -> tuple[float, dict[str, float]]:
    """Return seconds and counts of a fit."""
    import bagwise
    from bagwise import io

    with tempfile.TemporaryDirectory() as folder:
        if point.place == "mapped file":
            io.write(f"{folder}/rows.bags", bags, y)
            bags, y = io.read(f"{folder}/rows.bags")
        if point.on_gpu:
            memory = (1 - point.streamed) * bags.X.nbytes if point.streamed else None
            bags = bags.to("cuda", memory=memory)
        model = getattr(bagwise, KINDS[point.model])(kernel="linear", C=weight(bags.n_instances))
        model.fit(bags[:60], y[:60])  # compile and import
        with counted(bags.n_instances) as counts:
            taken = timed(lambda: model.fit(bags, y))
    names = ("passes", "exact", "assigned", "enrolled", "enrolled exactly")
    return taken, {name: float(counts[name]) for name in names}


def measure(out: Path, share: float) -> None:
    """Calibrate, predict, then measure."""
    import torch

    points = [replace(p, rows=int(p.rows * share)) for p in POINTS]
    points = [p for p in points if torch.cuda.is_available() or not p.on_gpu]

    def say(**record: Any) -> None:
        print(json.dumps(record), flush=True)
        with out.open("a") as stream:
            stream.write(json.dumps(record) + "\n")

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    say(what="machine", gpu=gpu, cores=os.cpu_count())
    reading = bandwidth() if gpu else None
    say(what="reading", bytes_per_second=reading)
    slides = [
        Point("AW-SVM", *SLIDES, place) for place in (("memory", "GPU") if gpu else ("memory",))
    ]
    rates = {p.kind: p for p in [*points, *slides]}
    rates = {kind: calibrated(p) for kind, p in rates.items()}
    for kind, of in rates.items():
        say(what="rates", kind=kind, rates=of)
    usual: dict[str, dict[str, float]] = {}
    for where in dict.fromkeys(p.on_gpu for p in points):
        for name in KINDS:
            place, dtype = ("GPU", "float16") if where else ("memory", "float32")
            small = Point(name, int(1e5 * share), 256, dtype, place)
            usual[f"{name}, {place}"] = fitted(small, *planted(small, small.rows))[1]
            say(what="counts", model=name, place=place, **usual[f"{name}, {place}"])
    made: tuple[Any, Any, Any] = None, None, None
    for point in points:
        place = "GPU" if point.on_gpu else "memory"
        shape = point.rows, point.features, point.dtype, point.on_gpu
        made = made if made[0] == shape else (shape, *planted(point, point.rows))
        exact = replace(point, rows=made[1].n_instances)
        at = Worker(reading=reading or np.inf, share=point.streamed)
        said = seconds(rates[point.kind], usual[f"{point.model}, {place}"], exact, at)
        taken, counts = fitted(point, *made[1:])
        own = seconds(rates[point.kind], counts, exact, at)
        found = {"measured": taken, "predicted": said, "at its own counts": own}
        say(what="point", **asdict(exact), **found, **counts)


# The page -----------------------------------------------------------------------------------------


def points() -> list[dict[str, Any]]:
    """Return the measured lines with their predictions."""
    return [line for line in _lines() if line["what"] == "point"]


def _lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in LINES.read_text().splitlines()]


def near(what: str = "predicted") -> int:
    """Return how many predictions are close to what was measured."""
    return sum(abs(line[what] / line["measured"] - 1) <= WITHIN for line in points())


PLACES = {
    "one H200, 84 GB stay on it, rows from the host's memory": ("GPU", Worker(share=0.77)),
    "one H200, 84 GB stay on it, rows from a disk (6 GB/s)": (
        "GPU",
        Worker(share=0.77, reading=6e9),
    ),
    "one core, rows from a disk (6 GB/s)": ("CPU", Worker(share=1.0, reading=6e9)),
    "8 workers with an H200 each, rows on the GPUs, 10 Gbit/s": (
        "GPU",
        Worker(workers=8, network=1.25e9, round=0.01),
    ),
    "16 workers with one core and a disk (1 GB/s) each, 10 Gbit/s": (
        "CPU",
        Worker(workers=16, share=1.0, reading=1e9, network=1.25e9, round=0.01),
    ),
}
# A million rows and more: those of benchmarks/scale.py. The other counts are those of 100,000 rows.
PASSES = {"SIL": 2, "MI-SVM": 54, "AW-SVM": 35, "AL-SVM": 60}


def table() -> list[str]:
    """Return the part of the page: measured against predicted, and the prediction."""
    head = "fit | measured s | predicted s | ratio | ratio at its own counts | passes"
    text = [f"| {head} |", "|---|---|---|---|---|---|"]
    for line in points():
        point = Point(*(line[name] for name in ("model", "rows", "features", "dtype", "place")))
        measured, said = line["measured"], line["predicted"]
        own, passes = line["at its own counts"] / measured, line["passes"] + line["exact"]
        ratios = f"{said / measured:.2f} | {own:.2f}"
        text.append(f"| {point} | {measured:.2f} | {said:.2f} | {ratios} | {passes:.0f} |")
    names = " | ".join(KINDS)
    text += ["", f"| 1.2e8 x 1,536 float16, 369 GB | {names} |", "|---|---|---|---|---|"]
    lines = _lines()
    rates = {line["kind"]: line["rates"] for line in lines if line["what"] == "rates"}
    reading = next(line for line in lines if line["what"] == "reading")["bytes_per_second"]
    usual = {(c["model"], c["place"]): c for c in lines if c["what"] == "counts"}
    for name, (place, at) in PLACES.items():
        at = replace(at, reading=reading) if at.share and at.reading == np.inf else at
        cells = []
        for model in KINDS:
            where = "GPU" if place == "GPU" else "memory"
            counts = {**usual[model, where], "passes": PASSES[model]}
            point = Point(model, *SLIDES, where)
            cells.append(_readable(seconds(rates[point.kind], counts, point, at)))
        text.append(f"| {name} | {' | '.join(cells)} |")
    return text


def _readable(value: float) -> str:
    return f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min"


def main() -> None:
    """Measure, or print the tables, and how many predictions are close."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--out", type=Path, default=LINES)
    parser.add_argument("--share", type=float, default=1.0, help="of all numbers of rows")
    options = parser.parse_args()
    if options.measure:
        measure(options.out, options.share)
        return
    print("\n".join(table()))
    print(f"\n{near()} of {len(points())} within {WITHIN:.0%}")


if __name__ == "__main__":
    main()
