"""Objectives that annealed and alternating SVMs reach, on subsamples of four sets, and CPU seconds.

    BAGWISE_DATA=... python benchmarks/minima.py run FILE [--tree CHECKOUT] [--planted 1000]
    python benchmarks/minima.py table OLD NEW

``run`` fits linear models to twelve subsamples of four fifths of the bags of each set, at three C,
with the code of a checkout, and writes one JSON record per fit. With ``--planted`` it fits annealed
SVMs to five draws of that many bags of benchmarks/scale.py (1,000 x 256 each) instead. ``table``
compares two such files: the mean of log(new / old) with its standard error, how often the new
objective is lower or higher, and the median ratio of CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

SETS = ("musk1", "elephant", "tiger", "fox")
MODELS = (
    *("InstanceSVC", "LabelSVC", "WitnessSVC"),
    *("AnnealedLabelSVC", "AnnealedWitnessSVC", "AnnealedProportionSVC"),
)
CS = (0.1, 1.0, 100.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("run", "table", "fit"))
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--planted", type=int, default=0)
    given = parser.parse_args()
    if given.command == "table":
        compare(*(read(path) for path in given.files))
    elif given.command == "fit":
        fit_planted(given.planted) if given.planted else fit_subsamples()
    else:
        here = {**os.environ, "PYTHONPATH": str(given.tree.absolute() / "src")}
        call = [sys.executable, __file__, "fit", "--planted", str(given.planted)]
        with given.files[0].open("w") as out:
            subprocess.run(call, env=here, stdout=out, check=True)


def fit_subsamples() -> None:
    from bagwise.datasets import fetch

    for name in SETS:
        bags, y = fetch(name)
        for draw in range(12):
            chosen = np.random.RandomState(draw).permutation(len(bags))[: 4 * len(bags) // 5]
            part, labels = bags[np.sort(chosen)], y[np.sort(chosen)]
            for kind in MODELS:
                for C in CS:
                    fit_one(part, labels, {"set": name, "draw": draw, "model": kind, "C": C})


def fit_planted(n_bags: int) -> None:
    import scale
    from bagwise import Bags

    for seed in range(2, 7):
        X, y, _ = scale.make(n_bags, seed)
        bags = Bags(X, np.arange(0, len(X) + 1, scale.BAG))
        for kind in ("AnnealedLabelSVC", "AnnealedWitnessSVC"):
            C = scale.WEIGHTS[len(X)]
            fit_one(bags, y, {"set": f"{len(X)} rows", "draw": seed, "model": kind, "C": C})


def fit_one(bags: Any, y: Any, key: dict[str, Any]) -> None:
    import bagwise

    warnings.simplefilter("ignore")
    model = getattr(bagwise, key["model"])(kernel="linear", C=key["C"])
    start = process_time()
    model.fit(bags, y)
    found = {"objective": float(model.objective_[0]), "seconds": process_time() - start}
    print(json.dumps({**key, **found}), flush=True)


def read(path: Path) -> dict[tuple[Any, ...], dict[str, float]]:
    records = map(json.loads, path.read_text().splitlines())
    return {(r["model"], r["C"], r["set"], r["draw"]): r for r in records}


def compare(old: dict[Any, Any], new: dict[Any, Any]) -> None:
    cells = defaultdict(list)
    for key in old.keys() & new.keys():
        ratios = [new[key][name] / old[key][name] for name in ("objective", "seconds")]
        cells[key[:2]].append(ratios)
    print("| model | C | fits | log ratio of objectives | lower / equal / higher | CPU |")
    print("|---|---|---|---|---|---|")
    for (kind, C), pairs in sorted(cells.items()):
        logs, spent = np.log([p[0] for p in pairs]), np.median([p[1] for p in pairs])
        error = logs.std(ddof=1) / np.sqrt(len(logs))
        counts = (logs < -1e-6).sum(), (abs(logs) <= 1e-6).sum(), (logs > 1e-6).sum()
        signs = " / ".join(map(str, counts))
        print(f"| {kind} | {C:g} | {len(logs)} | {logs.mean():+.4f} +- {error:.4f} | {signs} |"
              f" {spent:.2f} |")  # fmt: skip


if __name__ == "__main__":
    main()
