"""Rows that do not fit on the GPU, and pass through it in every pass.

    python benchmarks/scale_stream.py --out docs/results/scale_stream.jsonl

The planted bags of benchmarks/scale_gpu.py. All, half or none of the instances stay on the GPU; the
others come from the memory of the host, or from a mapped file in the page cache. "One pass" is the
reading of all rows without products. Seconds are those of ``fit``. "Bits" is a digest of the
coefficients. The
page cache of the machine could not be emptied: a disk is not measured.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

LINES = Path(__file__).parents[1] / "docs" / "results" / "scale_stream.jsonl"
MODELS = ("InstanceSVC", "AnnealedWitnessSVC", "AnnealedLabelSVC")


def measure(bench: Any, place: str, X: Any, share: float) -> None:
    """Measure one pass, and fits, with a share of the rows on the device."""
    import bagwise
    from scale_gpu import DEVICE, sync

    began = sync()
    bags = bench.bags.replace(X=X).to(DEVICE, memory=share * X.nbytes)
    placed, rows = sync(), bags.X
    for _ in rows.blocks():
        pass
    once, streamed = sync() - placed, (1 - rows.n_resident / len(rows)) * X.nbytes / 1e9
    found = {"one pass": once, "GB": streamed, "placement": placed - began}
    bench._say(what="one pass", place=place, **found)
    for name in MODELS:
        model = getattr(bagwise, name)(kernel="linear", C=bench.C)
        began = sync()
        model.fit(bags, bench.y)
        seconds = sync() - began
        bits = hashlib.sha256(np.ascontiguousarray(model.coef_)).hexdigest()[:12]
        objective = float(model.objective_[0])
        record = {"seconds": seconds, "objective": objective, "gap": float(model.gap_[0])}
        bench._say(what=name, place=place, **record, bits=bits)


def main() -> None:
    """Measure every place."""
    from scale_gpu import Bench

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--bags", type=int, default=4000)
    parser.add_argument("--features", type=int, default=1024)
    parser.add_argument("--sizes", type=int, nargs=2, default=(500, 1500))
    options = parser.parse_args()
    bench = Bench(options.out, options.bags, options.features, tuple(options.sizes))
    bench._warm()
    host = np.asarray(bench.bags.X)
    bench.bags = bench.bags.replace(X=host)  # off the device
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "rows.npy", host)
        mapped = np.load(Path(folder) / "rows.npy", mmap_mode="r")
        measure(bench, "all on the GPU", host, 1.0)
        measure(bench, "half in the host's memory", host, 0.5)
        measure(bench, "all in the host's memory", host, 0.0)
        measure(bench, "all in a mapped file", mapped, 0.0)


if __name__ == "__main__":
    main()
