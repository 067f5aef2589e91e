"""A Dask cluster on one computer: bits and time against one process, and when workers are killed.

    python benchmarks/scale_dask.py [--rows 1000000] [--models ...] [--rounds 2]

The planted bags of benchmarks/scale.py, written as a ``.bags`` store. Every line is a fit of its
own: in one process, on worker processes of a local cluster, and on these with one of them killed
(SIGKILL) half-way: the second, or the slowest, which is the one that has used most CPU time so far.
Dask starts another worker in its place. Seconds are those of ``fit`` by the clock, with one BLAS
thread per process; rounds alternate between the ways of fitting, because other programs run on the
same computer. "Bits" is a digest of coefficients, intercept, objective, gap and weights of all
instances. Lines go to docs/results/scale_dask.jsonl; docs/results/scale.md shows them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import scale

LINES = scale.RESULTS / "scale_dask.jsonl"
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "AL-SVM": ("AnnealedLabelSVC", {}),
    "AL-SVM, slowly cooled": (
        "AnnealedLabelSVC",
        {"annealing__cooling": 1.025, "annealing__tol": 1e-3},
    ),
}
WAYS = ("one process", "cluster", "one worker killed", "slowest worker killed")


def digest(model: Any) -> str:
    """Return what has to be the same."""
    parts = model.coef_, model.intercept_, model.objective_, model.gap_, model.instance_weights_
    return hashlib.sha256(
        b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
    ).hexdigest()


class Killer(threading.Thread):
    """Kill a worker after some seconds."""

    def __init__(self, client: Any, seconds: float, slowest: bool) -> None:
        super().__init__(daemon=True)
        self.client, self.seconds, self.slowest = client, seconds, slowest

    def run(self) -> None:
        """Wait, choose and kill."""
        time.sleep(self.seconds)
        pids = dict(sorted(self.client.run(os.getpid).items()))
        used = self.client.run(time.process_time)
        which = max(used, key=used.__getitem__) if self.slowest else list(pids)[1]
        os.kill(pids[which], signal.SIGKILL)


def fitted(model: Any, bags: Any, y: Any) -> dict[str, Any]:
    """Fit, and return seconds and bits."""
    began = time.perf_counter()
    model.fit(bags, y)
    return {"seconds": time.perf_counter() - began, "bits": digest(model)[:16]}


def one(path: Path, name: str, way: str, n_workers: int, half: float) -> dict[str, Any]:
    """Return the line of one fit."""
    from distributed import Client, LocalCluster

    import bagwise

    bags, y = bagwise.io.read(path)
    kind, options = MODELS[name]
    options = {"kernel": "linear", "C": scale.WEIGHTS[bags.n_instances], **options}
    model = getattr(bagwise, kind)().set_params(**options)
    small = bagwise.Bags(np.array(bags.X[: 60 * scale.BAG]), bags.offsets[:61])
    getattr(bagwise, kind)(kernel="linear").fit(small, y[:60])  # compile and import
    head = {"rows": bags.n_instances, "model": name, "way": way, "workers": n_workers}
    if way == "one process":
        return {**head, "workers": 1, **fitted(model, bags, y)}
    local = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**local) as cluster, Client(cluster) as client:
        client.run(__import__, "bagwise.rows.cluster")
        if "killed" not in way:
            return {**head, **fitted(model, bags.to("dask"), y)}
        killer = Killer(client, half, slowest=way.startswith("slowest"))
        killer.start()
        line = {**head, **fitted(model, bags.to("dask"), y)}
        assert not killer.is_alive(), "the fit ended before a worker was killed"
        return {**line, "killed_at": half}


def main() -> None:
    """Measure what has no line yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--store", type=Path, help="a folder for the store, kept for the next time")
    options = parser.parse_args()
    done = [json.loads(line) for line in LINES.read_text().splitlines()] if LINES.exists() else []
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.store or Path(scratch)
        folder.mkdir(exist_ok=True)
        path = folder / f"{options.rows}.bags"
        if not path.exists():
            scale.written(folder, options.rows)
        for name in options.models:
            for _ in range(options.rounds):
                for way in options.ways:
                    whole = [
                        x["seconds"] for x in done if x["model"] == name and x["way"] == "cluster"
                    ]
                    line = one(path, name, way, options.workers, np.median(whole or [0]) / 2)
                    done.append(line)
                    print(json.dumps(line), flush=True)
                    with LINES.open("a") as stream:
                        stream.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
