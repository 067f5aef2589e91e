"""Objectives that annealed and alternating SVMs reach, on subsamples of four sets, and CPU seconds.

    BAGWISE_DATA=... python benchmarks/minima.py run FILE [--tree CHECKOUT]
    python benchmarks/minima.py table OLD NEW

``run`` fits linear models to twelve subsamples of four fifths of the bags of each set, at three C,
with the code of a checkout, and writes one JSON record per fit. ``table`` compares two such files:
the mean of log(new / old) over subsamples with its standard error, how often the new objective is
lower or higher, and the median ratio of CPU seconds.
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
    given = parser.parse_args()
    if given.command == "table":
        compare(*(read(path) for path in given.files))
    elif given.command == "fit":
        fit_all()
    else:
        here = {**os.environ, "PYTHONPATH": str(given.tree.absolute() / "src")}
        with given.files[0].open("w") as out:
            subprocess.run([sys.executable, __file__, "fit"], env=here, stdout=out, check=True)


def fit_all() -> None:
    import bagwise
    from bagwise.datasets import fetch

    warnings.simplefilter("ignore")
    for name in SETS:
        bags, y = fetch(name)
        for draw in range(12):
            chosen = np.random.RandomState(draw).permutation(len(bags))[: 4 * len(bags) // 5]
            part, labels = bags[np.sort(chosen)], y[np.sort(chosen)]
            for kind in MODELS:
                for C in CS:
                    model = getattr(bagwise, kind)(kernel="linear", C=C)
                    start = process_time()
                    model.fit(part, labels)
                    spent = process_time() - start
                    found = {"objective": float(model.objective_[0]), "seconds": spent}
                    key = {"set": name, "draw": draw, "model": kind, "C": C}
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
