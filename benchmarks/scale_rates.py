"""Rates of this machine for the cost model, predictions from them, and what was then measured.

    python benchmarks/scale_rates.py [--out docs/results/scale_costs.jsonl] [--share 0.1]
    python benchmarks/scale_rates.py --stream docs/results/scale_stream.jsonl

See benchmarks/scale_costs.py, which has the model. Without a GPU its points are left out.
``--stream`` adds the fits of benchmarks/scale_stream.py, measured on the same machine.
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
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from scale_costs import KINDS, LINES, SLIDES, Point, Worker, seconds

USUAL = {False: 1e5, True: 1e6}  # rows of the fits that passes are counted of, by GPU
PIECE = 128e6  # bytes: more than the cache of a core
ON_GPU = 1e9, 4e9  # two sizes tell what a block costs from what its rows cost
POINTS = """
AW-SVM,  300000,  64, float32, memory
AL-SVM,  300000,  64, float32, mapped file
SIL,     200000, 512, float32, memory
MI-SVM,  150000, 512, float16, mapped file
AL-SVM,  150000, 512, float16, memory
AW-SVM,  200000, 512, float32, mapped file
AW-SVM, 3000000, 512, float16, GPU
AL-SVM, 3000000, 512, float16, GPU
AW-SVM, 3000000, 512, float16, GPU, 100 % streamed
AL-SVM, 3000000, 512, float16, GPU, 50 % streamed
MI-SVM, 4000000, 256, float32, GPU
AW-SVM, 4000000, 256, float32, GPU, 100 % streamed
"""


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
    """Return the seconds of a call, the mean of some; the GPU finishes first."""
    began = now()
    for _ in range(times):
        call()
    return (now() - began) / times


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
    found["pass"] = timed(lambda: rows.sweep(w, 0.0), 5)
    sums = rows.sweep(w, 0.0)
    found["step"] = timed(lambda: sums.step(w, rows.metric), 3)
    apart = w / np.std(design @ w)  # scores as of a model: bags are easy, or hard, to assign
    for name, rules in _rules(C).items():
        found[f"assign {name}"] = 0.0
        for rule in rules:
            rows.sweep(apart, 0.0, rule)
            taken = timed(lambda r=rule: rows.sweep(apart, 0.0, r), 3) - found["pass"]
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
        with placed(point, *planted(point, n)) as made:
            found = single_passes(*made)
        step = found.pop("step"), 0.0
        return {"step": step, **{name: (0.0, value / n) for name, value in found.items()}}
    made = []
    for size in ON_GPU:
        bags, y = planted(point, int(size / width))
        bags = bags.to("cuda")
        made.append((bags.n_instances, single_passes(bags, y)))
    (n, few), (m, many) = made
    steps = [of.pop("step") for of in (few, many)]
    slopes = {name: max(0.0, (many[name] - few[name]) / (m - n)) for name in few}
    rates = {name: (max(0.0, few[name] - n * slopes[name]), slopes[name]) for name in few}
    return {"step": (float(np.mean(steps)), 0.0), **rates}


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
    from bagwise.designs.swept import Pending, Swept
    from bagwise.designs.torch import TorchDense
    from bagwise.designs.torch_swept import TorchSwept

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

    wrap(Swept, "sweep", swept_once)
    wrap(TorchSwept, "sweep", swept_once)
    wrap(TorchDense, "gram_of", enrolled)
    wrap(Pending, "add", pending)
    try:
        yield counts
    finally:
        for owner, name, method in kept:
            setattr(owner, name, method)


@contextmanager
def placed(point: Point, bags: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Put bags where a point has them."""
    from bagwise import io

    if point.on_gpu:
        memory = (1 - point.streamed) * bags.X.nbytes if point.streamed else None
        yield bags.to("cuda", memory=memory), y
    elif point.place == "mapped file":
        with tempfile.TemporaryDirectory() as folder:
            io.write(f"{folder}/rows.bags", bags, y)
            yield io.read(f"{folder}/rows.bags")
    else:
        yield bags, y


def fitted(point: Point, bags: Any, y: Any) -> tuple[float, dict[str, float]]:
    """Return seconds and counts of a fit."""
    import bagwise

    with placed(point, bags, y) as (bags, y):
        model = getattr(bagwise, KINDS[point.model])(kernel="linear", C=weight(bags.n_instances))
        model.fit(bags[:60], y[:60])  # compile and import
        with counted(bags.n_instances) as counts:
            taken = timed(lambda: model.fit(bags, y))
    names = ("passes", "exact", "assigned", "enrolled", "enrolled exactly")
    return taken, {name: float(counts[name]) for name in names}


def measure(out: Path, share: float) -> None:
    """Calibrate, predict, then measure."""
    import torch

    lines = (line.split(",", 4) for line in POINTS.split("\n") if line)
    points = [
        Point(model, int(int(rows) * share), int(features), dtype.strip(), place.strip())
        for model, rows, features, dtype, place in lines
    ]
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
            small = Point(name, int(USUAL[where] * share), 256, dtype, place)
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


def compared(stream: Path, out: Path, n_rows: int = 4_002_817) -> None:
    """Predict the fits of benchmarks/scale_stream.py from the rates of the same run."""
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    rates = {line["kind"]: line["rates"] for line in lines if line["what"] == "rates"}
    pairs = [rates[f"GPU {d} float16"] for d in (512, 1536)]
    between = {name: np.mean([of[name] for of in pairs], axis=0) for name in pairs[0]}
    usual = {c["model"]: c for c in lines if c["what"] == "counts" and c["place"] == "GPU"}
    reading = next(line for line in lines if line["what"] == "reading")["bytes_per_second"]
    names = {kind: name for name, kind in KINDS.items()}
    shares = {"all on the GPU": "GPU", "half in the host's memory": "GPU, 50 % streamed"}
    shares["all in the host's memory"] = "GPU, 100 % streamed"
    for line in map(json.loads, stream.read_text().splitlines()):
        if line["what"] not in names or line["place"] not in shares:
            continue
        point = Point(names[line["what"]], n_rows, 1024, "float16", shares[line["place"]])
        at = Worker(reading=reading, share=point.streamed)
        said = seconds(between, usual[point.model], point, at)
        found = {"measured": line["seconds"], "predicted": said}
        with out.open("a") as file:
            file.write(json.dumps({"what": "point", **asdict(point), **found}) + "\n")


def main() -> None:
    """Measure, or compare with other lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=LINES)
    parser.add_argument("--share", type=float, default=1.0, help="of all numbers of rows")
    parser.add_argument("--stream", type=Path, help="lines of benchmarks/scale_stream.py")
    options = parser.parse_args()
    if options.stream:
        compared(options.stream, options.out)
    else:
        measure(options.out, options.share)


if __name__ == "__main__":
    main()
