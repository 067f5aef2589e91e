"""Time and memory of one fit of every method, for the page that helps to choose a model.

    python benchmarks/model_costs.py [--out docs/results/model_costs.json]

Data: `make_gaussian_bags` with 50 and 200 bags of 10 instances, 20 features. Default parameters,
threshold 0, one thread. "ratio" is the CPU time of a fit relative to one scikit-learn SVC (rbf, the
same C) on the same instances in the same run, the better of two fits after a first small one that
compiles. "megabytes" is the peak of memory that NumPy and Python allocate during a fit, measured in
a fit of its own. Methods that need a graph or race other methods are left out.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

from sklearn.svm import SVC

from bagwise.catalog import ENTRIES
from bagwise.datasets import make_gaussian_bags

SIZES = (50, 200)
BAG_SIZE = 10
OUT = Path(__file__).parents[1] / "docs" / "results" / "model_costs.json"


def cpu_seconds(fit: Any, repeats: int = 2) -> float:
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        fit()
        spent.append(time.process_time() - start)
    return min(spent)


def peak_megabytes(fit: Any) -> float:
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def measured(method: Any) -> dict[str, dict[str, float]]:
    model = method.build()
    if "threshold" in model.get_params():
        model.set_params(threshold=0.0)
    small = make_gaussian_bags(20, bag_size=BAG_SIZE, random_state=1)
    model.fit(*small)
    found = {}
    for n_bags in SIZES:
        bags, y = make_gaussian_bags(n_bags, bag_size=BAG_SIZE)
        labels = y.repeat(BAG_SIZE)
        one_svc = cpu_seconds(lambda bags=bags, labels=labels: SVC().fit(bags.X, labels), 5)
        ours = cpu_seconds(lambda bags=bags, y=y: model.fit(bags, y))
        peak = peak_megabytes(lambda bags=bags, y=y: model.fit(bags, y))
        found[str(bags.n_instances)] = {
            "ratio": round(ours / one_svc, 2),
            "megabytes": round(peak, 1),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT)
    out = parser.parse_args().out
    done: dict[str, Any] = json.loads(out.read_text())["methods"] if out.exists() else {}
    warnings.simplefilter("ignore")
    for method in (m for e in ENTRIES if not e.needs for m in e.methods):
        if method.name not in done:
            done[method.name] = measured(method)
            out.write_text(json.dumps({"protocol": __doc__, "methods": done}, indent=1) + "\n")
            print(method.name, done[method.name], flush=True)


if __name__ == "__main__":
    main()
