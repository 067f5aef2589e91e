"""Passes, CPU time and memory of linear models on a mapped store of up to a million instances.

    python benchmarks/scale.py [--rows 100000 1000000]

Planted bags of 1,000 instances with 256 float32 features: 8 tissues in shares that differ from bag
to bag, and 1 to 5 % witnesses in positive bags, shifted along one direction. They are written as a
``.bags`` store, which is mapped, not read. Every fit is a process of its own with one BLAS thread.
Passes are those over all rows within the solver (checking and conditioning take four more, which
the CPU seconds include); CPU seconds are those of ``fit``; memory is the largest anonymous memory
(RssAnon) during the fit above that after a first small fit, so that neither the package nor the
mapped file counts. C is .01 at 100,000 rows, .003 at a million. "Steps looked at" takes a pass
after every Newton step that promises more than a thousandth of the objective (the default: a
tenth, or a ten-thousandth while promises grow at one temperature). Finished lines are stored in
docs/results/scale.jsonl; docs/results/scale.md has them as tables.

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
LINES, COLD_LINES = RESULTS / "scale.jsonl", RESULTS / "scale_cold.jsonl"
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
    "MIMN": ("MarkovNetworkClassifier", {"init": ["instances"]}),
    "RMIMN": (
        "MarkovNetworkClassifier",
        {"init": ["instances"], "cardinality": "ratio", "positive_fraction": 0.01},
    ),
    "GMIMN": ("MarkovNetworkClassifier", {"init": ["any"], "cardinality": "learned"}),
}
STORES = Path(os.environ["SCALE_STORES"]) if "SCALE_STORES" in os.environ else None  # to reuse
LOOKED_AT = 1e-3  # of the objective: steps that promise more are looked at, instead of a tenth


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
    from bagwise.io import read
    from bagwise.rows import Rows, newton

    bags, y = read(path)
    if name.endswith("looked at"):
        newton.INNER = LOOKED_AT
    model = model_of(name, bags.n_instances)
    small = bagwise.Bags(np.array(bags.X[: 60 * BAG]), np.arange(0, 60 * BAG + 1, BAG))
    light = {"max_iter": 1} if "MIMN" in name else {"C": 1.0}
    clone(model).set_params(**light).fit(small, y[:60])  # compile and import
    made: list[Any] = []
    begin = Rows.__init__

    def remembered(self: Any, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        made.append(self)

    Rows.__init__ = remembered  # type: ignore[method-assign]
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
    from bagwise.designs import Dense
    from bagwise.io import read
    from bagwise.rows import Rows

    bags, y = read(path)
    model = model_of(name, bags.n_instances)
    small = bagwise.Bags(np.array(bags.X[: 60 * BAG]), np.arange(0, 60 * BAG + 1, BAG))
    model.fit(small, y[:60])
    del small
    rows = kept(bags.X)
    rows.after(Rows, "run_pass")
    for method in ("__matmul__", "adjoint", "weighted_squares"):
        rows.after(Dense, method)
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


def main() -> None:
    """Measure what has no line yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--cold", nargs="*", metavar="MODEL")
    parser.add_argument("--one", nargs=2)
    parser.add_argument("--one-cold", nargs=2)
    options = parser.parse_args()
    for found, run in ((options.one, one), (options.one_cold, cold)):
        if found:
            print(json.dumps(run(Path(found[0]), found[1])))
            return
    for n_rows in options.rows:
        if options.cold is None:
            measure(n_rows, options.features, options.models, "--one", LINES)
        else:
            measure(n_rows, options.features, options.cold, "--one-cold", COLD_LINES)


if __name__ == "__main__":
    main()
