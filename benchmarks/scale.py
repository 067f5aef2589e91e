"""Passes, CPU time and memory of linear models on a mapped store of up to a million instances.

    python benchmarks/scale.py [--rows 100000 1000000] [--page]

Planted bags of 1,000 instances with 256 float32 features: 8 tissues in shares that differ from bag
to bag, and 1 to 5 % witnesses in positive bags, shifted along one direction. They are written as a
``.bags`` store, which is mapped, not read. Every fit is a process of its own with one BLAS thread.
Passes are those over all rows within the solver (checking and conditioning take four more, which
the CPU seconds include); CPU seconds are those of ``fit``; memory is the largest anonymous memory
(RssAnon) during the fit above that after a first small fit, so that neither the package nor the
mapped file counts. C is .01 at 100,000 rows, .003 at a million. "Steps looked at" takes a pass
after every Newton step that promises more than a thousandth of the objective (the default: a
tenth, or a ten-thousandth while promises grow at one temperature); "in memory" is the path of fits
below 50,000 rows, with products of vectors. Finished lines are stored in docs/results/scale.jsonl;
``--page`` only writes docs/results/scale.md from them, those of benchmarks/scale_gpu.py and the
cost model (benchmarks/scale_costs.py).

``--cold`` takes the file out of the page cache after every pass, as if the machine had no memory to
keep it, and compares the bytes that came from the disk, and the time, with passes times one
sequential read (docs/results/scale_cold.jsonl).
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parents[1] / "docs" / "results"
LINES, GPU_LINES, COLD_LINES, PAGE = (
    RESULTS / name for name in ("scale.jsonl", "scale_gpu.jsonl", "scale_cold.jsonl", "scale.md")
)
BAG, RANK, TISSUES, SHIFT = 1000, 16, 8, 2.5
WEIGHTS = {100_000: 0.01, 400_000: 0.005, 1_000_000: 0.003}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "SIL": ("InstanceSVC", {}),
    "MI-SVM": ("WitnessSVC", {}),
    "mi-SVM": ("LabelSVC", {}),
    "AW-SVM": ("AnnealedWitnessSVC", {}),
    "AW-SVM, one step": ("AnnealedWitnessSVC", {"annealing__newton_steps": 1}),
    "AL-SVM": ("AnnealedLabelSVC", {}),
    "AL-SVM, one step": ("AnnealedLabelSVC", {"annealing__newton_steps": 1}),
    "AL-SVM, steps looked at": ("AnnealedLabelSVC", {}),
    "AL-SVM, in memory": ("AnnealedLabelSVC", {}),
    "MIMN": ("MarkovNetworkClassifier", {"init": ["instances"]}),
    "RMIMN": (
        "MarkovNetworkClassifier",
        {"init": ["instances"], "cardinality": "ratio", "positive_fraction": 0.01},
    ),
    "GMIMN": ("MarkovNetworkClassifier", {"init": ["any"], "cardinality": "learned"}),
}
STORES = Path(os.environ["SCALE_STORES"]) if "SCALE_STORES" in os.environ else None  # to reuse
LOOKED_AT = 1e-3  # of the objective: steps that promise more are looked at, instead of a tenth
# Of version 0.1 on the same planted bags, with products of vectors.
BEFORE = {(100_000, "AL-SVM"): 223, (1_000_000, "AL-SVM"): 327}


GPU_NOTE = """\
`python benchmarks/scale_gpu.py --out docs/results/scale_gpu.jsonl` on one NVIDIA H200:
4,000 ragged bags of planted instances, 1,024 float16 features, on the GPU already. AUCs
are those of 400 other bags. ABMIL trains 50 epochs with eight bags per step in bfloat16 (an
implementation with recorded graphs took 38 s, with AUC .973 and .528 on bags of equal size). The C
of the plain lines was not tuned; the choice of C by three folds is inside the seconds of "AW with C
chosen". Networks descend from two starts, the second of which trains another network first. Without
an intercept a third of all instances is positive, scores follow the size of the bag, and the AUC of
MIMN is .66. Neither the path of annealed models nor the risk of networks is convex: other
precisions, other blocks and other ways to round end in other minima, with other AUCs. GMIMN is the
extreme: with blocks of half the size it had an objective of 867 and an AUC of .69. Its line is
older than the convex problem that it begins with now, and that ends lower on other bags."""
COST_NOTE = """\
Measured on one core, and on the H200, of one machine with 16 cores; "memory" and "mapped file" are
fits on one core, whose speed varies: AL-SVM on 150,000 float16 rows took 18.6 s here and 13.5 s
half an hour before, when a model without steps and without rates of mapped rows had 3 of 12
predictions within 25 %. The last four points of the list in benchmarks/scale_rates.py were not
reached. The GPU is bound by launches (some 3 ms per pass and block of up to 8 GiB).
`bags.to("cuda")` lets rows pass through one GPU, `bags.to("dask", device="cuda")` spreads them
over several. Float16 rows cost the processor more to convert than to multiply. In the second table
the number of passes is that of fits to a million rows; disk, network and the share of the rows
that stays on a GPU are assumptions."""
COLD_NOTE = """\
`python benchmarks/scale.py --rows 100000 --cold SIL MI-SVM AL-SVM MIMN`: the file leaves the page
cache after every pass, so that every pass comes from the disk. No memory cgroup was set; the
first table has the memory of fits to 977 MB of rows (RssAnon). MIMN has one start; with the bundle
method, which smaller networks still use, it took 4,314 passes to an objective of 32.20. The thread
that reads ahead serves all models; the processor bounds MIMN, which softens every bag."""


def make(n_bags: int, seed: int, features: int = 256) -> tuple[Any, Any, Any]:
    """Return bags of planted instances and the labels of bags and instances."""
    draw = np.random.default_rng(7)
    basis = np.linalg.qr(draw.normal(size=(features, RANK + 1)))[0]
    loadings = (basis[:, 1:] * np.linspace(3, 0.5, RANK)).T
    tissues = draw.normal(size=(TISSUES, RANK)) @ loadings
    rng = np.random.default_rng(seed)
    X = np.empty((n_bags * BAG, features), np.float32)
    y, witness = rng.random(n_bags) < 0.5, np.zeros(len(X), bool)
    for i in range(n_bags):
        rows = slice(i * BAG, (i + 1) * BAG)
        kind = rng.choice(TISSUES, BAG, p=rng.dirichlet(np.ones(TISSUES)))
        block = tissues[kind] + rng.normal(size=(BAG, RANK)) @ (0.5 * loadings)
        block += rng.standard_normal((BAG, features), dtype=np.float32)
        block += (0.35 * rng.normal(size=RANK)) @ loadings
        witness[rows] = (rng.random(BAG) < 0.01 + 0.04 * rng.random()) & y[i]
        block += (witness[rows] * SHIFT * (1 + 0.3 * rng.normal(size=BAG)))[:, None] * basis[:, 0]
        X[rows] = block
    return X, y.astype(int), witness


def written(folder: Path, n_rows: int, features: int = 256) -> Path:
    """Write a store and return its path."""
    from bagwise import Bags
    from bagwise.io import write

    path = folder / (f"{n_rows}.bags" if features == 256 else f"{n_rows}x{features}.bags")
    if path.exists():
        return path
    X, y, witness = make(n_rows // BAG, 1, features)
    write(path, Bags(X, np.arange(0, n_rows + 1, BAG), instance_labels=witness), y)
    return path


def anonymous(kind: str = "RssAnon") -> float:
    """Return this process's anonymous memory, or another kind, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(kind)) / 1024


class Peak(threading.Thread):
    """The largest anonymous memory until it is asked for."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.running = anonymous(), True

    def run(self) -> None:
        """Look every 20 ms."""
        while self.running:
            self.most = max(self.most, anonymous())
            time.sleep(0.02)


def model_of(name: str, n_rows: int) -> Any:
    """Return a model with its settings for this many rows."""
    import bagwise

    kind, options = MODELS[name]
    shared = {} if "MIMN" in name else {"kernel": "linear", "C": WEIGHTS[n_rows]}
    return getattr(bagwise, kind)(**shared).set_params(**options)


def one(path: Path, name: str) -> dict[str, Any]:
    """Fit one model to a store, and return what it took."""
    from sklearn.base import clone
    from sklearn.metrics import roc_auc_score

    import bagwise
    from bagwise.designs import swept
    from bagwise.estimators import sweeping
    from bagwise.io import read
    from bagwise.solvers import sweeps

    bags, y = read(path)
    if name.endswith("looked at"):
        sweeps._UNSEEN = LOOKED_AT
    if name.endswith("in memory"):
        sweeping._MANY_ROWS = bags.n_instances + 1
    model = model_of(name, bags.n_instances)
    small = bagwise.Bags(np.array(bags.X[: 60 * BAG]), np.arange(0, 60 * BAG + 1, BAG))
    light = {"max_iter": 1} if "MIMN" in name else {"C": 1.0}
    clone(model).set_params(**light).fit(small, y[:60])  # compile and import
    made: list[Any] = []
    begin = swept.Swept.__init__

    def remembered(self: Any, *args: Any) -> None:
        begin(self, *args)
        made.append(self)

    swept.Swept.__init__ = remembered  # type: ignore[method-assign]
    del small
    before, peak, began = anonymous(), Peak(), time.process_time()
    peak.start()
    model.fit(bags, y)
    seconds, peak.running = time.process_time() - began, False
    inside = model.instance_decision_function(bags)
    return {
        "rows": bags.n_instances,
        "features": bags.n_features,
        "model": name,
        "passes": sum(rows.passes for rows in made if rows.n_rows == bags.n_instances),
        "seconds": seconds,
        "megabytes": peak.most - before,
        "objective": float(model.objective_[0]),
        "gap": float(model.gap_[0]),
        "auc": roc_auc_score(y, model.decision_function(bags)),
        "instance_auc": roc_auc_score(bags.instance_labels, inside),
    }


class Cold:
    """Rows whose file leaves the page cache after every pass."""

    def __init__(self, X: Any) -> None:
        self.mapped, self.path, self.n_bytes, self.passes = X.base._mmap, X.filename, X.nbytes, 0

    def begin(self) -> None:
        """Begin the fit."""

    def end(self) -> dict[str, float]:
        """Return what is known after the fit."""
        return {}

    def evict(self) -> None:
        """Unmap the pages and drop them."""
        self.mapped.madvise(mmap.MADV_DONTNEED)
        with open(self.path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def passed(self) -> None:
        """Count a pass."""
        self.passes += 1
        self.evict()

    def after(self, kind: Any, name: str) -> None:
        """Know of every pass that a method takes."""
        method = getattr(kind, name)

        def called(rows: Any, *args: Any) -> Any:
            found = method(rows, *args)
            if rows.n_rows * rows.n_coef * 4 >= self.n_bytes:
                self.passed()
            return found

        setattr(kind, name, called)

    def read_once(self) -> float:
        """Return the seconds of one sequential read from the disk."""
        self.evict()
        began = time.perf_counter()
        with open(self.path, "rb") as file:
            while file.read(1 << 24):
                pass
        return time.perf_counter() - began


def from_disk() -> int:
    """Return the bytes that this process has made the disk read."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes"))


def cold(path: Path, name: str, kept: type[Cold] = Cold) -> dict[str, Any]:
    """Fit one model whose rows come from the disk in every pass."""
    import bagwise
    from bagwise.designs import dense, swept
    from bagwise.io import read

    bags, y = read(path)
    model = model_of(name, bags.n_instances)
    small = bagwise.Bags(np.array(bags.X[: 60 * BAG]), np.arange(0, 60 * BAG + 1, BAG))
    model.fit(small, y[:60])
    del small
    rows = kept(bags.X)
    rows.after(swept.Swept, "sweep")
    for method in ("__matmul__", "adjoint", "weighted_squares"):
        rows.after(dense.Dense, method)
    once = rows.read_once()
    rows.evict()
    rows.begin()
    disk, began = from_disk(), time.perf_counter()
    model.fit(bags, y)
    seconds = time.perf_counter() - began
    return {
        **rows.end(),
        "rows": bags.n_instances,
        "features": bags.n_features,
        "model": name,
        "passes": rows.passes,
        "disk passes": (from_disk() - disk) / rows.n_bytes,
        "seconds": seconds,
        "one read": once,
        "data": rows.n_bytes / 2**20,
        "objective": float(model.objective_[0]),
    }


def measure(
    n_rows: int, features: int, names: list[str], how: str, lines: Path, script: str = __file__
) -> None:
    """Run the models that have no line yet, each in a process of its own."""
    found = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    done = {(line["rows"], line["features"], line["model"]) for line in found}
    left = [name for name in names if (n_rows, features, name) not in done]
    if not left:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = written(STORES or Path(folder), n_rows, features)
        for name in left:
            command = [sys.executable, script, how, str(path), name]
            line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            print(line, end="", flush=True)
            with lines.open("a") as stream:
                stream.write(line)


def each_alone(
    doc: str | None, models: Sequence[str], run: Callable[..., Any], lines: Path, script: str
) -> None:
    """Measure models on a store, each by the same script in a process of its own."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--models", nargs="+", default=list(models))
    parser.add_argument("--one", nargs=2)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run(Path(options.one[0]), options.one[1])))
        return
    measure(options.rows, 256, options.models, "--one", lines, script)


def page() -> None:
    """Write the page."""
    lines = [json.loads(line) for line in LINES.read_text().splitlines()]
    text = ["# Scale: passes, seconds, memory", "", (__doc__ or "").strip(), ""]
    head = "rows | features | model | passes | CPU s | MB | objective | relative gap | AUC"
    text += [f"| {head} | instance AUC |"]
    text += ["|---|---|---|---|---|---|---|---|---|---|"]
    for line in sorted(lines, key=lambda line: line["rows"]):
        passes = f"{line['passes']}"
        if (line["rows"], line["model"]) in BEFORE:
            passes += f" (0.1: {BEFORE[line['rows'], line['model']]})"
        cells = [
            f"{line['rows']:,}",
            str(line["features"]),
            line["model"],
            passes,
            f"{line['seconds']:.1f}",
            f"{line['megabytes']:.0f}",
            f"{line['objective']:.5g}",
            f"{line['gap'] / line['objective']:.0e}",
            f"{line['auc']:.3f}",
            f"{line['instance_auc']:.3f}",
        ]
        text.append("| " + " | ".join(cells) + " |")
    text += [
        "",
        "AUCs are those of the training bags. The computer was busy; CPU seconds vary by a fifth.",
        "The path is not convex: other steps may end in another minimum. At 100,000 rows AL-SVM",
        "ends where the path in memory does, at a million 1 % higher than with steps looked at.",
        "Networks have one start: MIMN and RMIMN (a hundredth of the instances) that of all",
        "instances, GMIMN the weights of MIMN, which are part of its passes. GMIMN was stopped by",
        "its limit of passes both times, with gaps of 4 % and 11 %.",
        "",
    ]
    from scale_commands import section as command_part
    from scale_dask import section as dask_part
    from scale_folds import section as folds_part
    from scale_limit import section as limit_part
    from scale_stream import section as stream_part

    parts = (
        cold_part(),
        limit_part(),
        folds_part(),
        command_part(),
        gpu_part(),
        stream_part(),
        dask_part(),
        cost_part(),
    )
    PAGE.write_text("\n".join(sum(parts, text)))


def cold_part() -> list[str]:
    """Return the table of fits whose rows come from the disk."""
    text = ["## Rows from the disk in every pass", "", COLD_NOTE, ""]
    text += ["| model | passes | read from the disk, in passes | s | passes x one read, s |"]
    text += ["|---|---|---|---|---|"]
    for line in map(json.loads, COLD_LINES.read_text().splitlines()):
        reads = line["passes"] * line["one read"]
        text.append(
            f"| {line['model']}, {line['data']:.0f} MB | {line['passes']} "
            f"| {line['disk passes']:.1f} | {line['seconds']:.1f} | {reads:.1f} |"
        )
    return [*text, ""]


def cost_part() -> list[str]:
    """Return what the cost model says."""
    import scale_costs

    note = (scale_costs.__doc__ or "").strip()
    return [
        "## What a fit costs",
        "",
        note,
        "",
        COST_NOTE,
        scale_costs.near(),
        "",
        *scale_costs.table(),
        "",
    ]


def gpu_part() -> list[str]:
    """Return the table of the GPU, where its lines are."""
    if not GPU_LINES.exists():
        return []
    text = [
        "## One GPU",
        "",
        GPU_NOTE,
        "",
    ]
    text += [
        "| what | rows | seconds | objective | AUC | instance AUC |",
        "|---|---|---|---|---|---|",
    ]
    notes = []
    for record in map(json.loads, GPU_LINES.read_text().splitlines()):
        if "seconds" not in record:
            notes.append("- " + ", ".join(f"{key}: {value}" for key, value in record.items()))
            continue
        numbers = [record.get(key) for key in ("objective", "auc", "instance_auc")]
        cells = [f"{number:.4g}" if number is not None else "" for number in numbers]
        rows = f"{record['rows']:,}" if "rows" in record else ""
        text.append(
            f"| {record['what']} | {rows} | {record['seconds']:.2f} | {' | '.join(cells)} |"
        )
    return [*text, "", *notes, ""]


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--cold", nargs="*", metavar="MODEL")
    parser.add_argument("--one", nargs=2)
    parser.add_argument("--one-cold", nargs=2)
    options = parser.parse_args()
    for found, run in ((options.one, one), (options.one_cold, cold)):
        if found:
            print(json.dumps(run(Path(found[0]), found[1])))
            return
    if options.page:
        page()
        return
    for n_rows in options.rows:
        if options.cold is None:
            measure(n_rows, options.features, options.models, "--one", LINES)
        else:
            measure(n_rows, options.features, options.cold, "--one-cold", COLD_LINES)


if __name__ == "__main__":
    main()
