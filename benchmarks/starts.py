"""Compare the usual start of mi-SVM and MI-SVM with an annealed one: objectives, nested AUC.

``BAGWISE_DATA=... python benchmarks/starts.py musk1 fox --kernels linear`` prints one line per
kernel, set and model: for both starts the objective on all bags at C = 0.1, 1 and 10, and the AUC
of 5 outer folds where C is chosen by 3 inner ones; then the CPU seconds of the line.
"""

from __future__ import annotations

import argparse
import time

from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import LabelSVC, WitnessSVC
from bagwise.datasets import fetch
from bagwise.preprocessing import PerInstance

STARTS = {LabelSVC: ("bags", "anneal"), WitnessSVC: ("mean", "anneal")}
WEIGHTS = (0.1, 1.0, 10.0)


def measure(bags, y, kind: type, init: str, kernel: str) -> str:
    """Return the cells of one start: the objectives and the nested AUC."""
    pipeline = make_pipeline(PerInstance(StandardScaler()), kind(init=init, kernel=kernel))
    name = f"{kind.__name__.lower()}__C"
    fits = (pipeline.set_params(**{name: C}).fit(bags, y)[-1] for C in WEIGHTS)
    objectives = ", ".join(f"{fit.objective_[0]:.4g}" for fit in fits)
    inner, outer = (StratifiedKFold(n, shuffle=True, random_state=0) for n in (3, 5))
    search = GridSearchCV(pipeline, {name: WEIGHTS}, scoring="roc_auc", cv=inner)
    scores = cross_val_score(search, bags, y, cv=outer, scoring="roc_auc")
    return (
        f"{objectives} | {100 * scores.mean():.1f} ± {100 * scores.std() / len(scores) ** 0.5:.1f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--kernels", nargs="+", default=["linear", "rbf"])
    options = parser.parse_args()
    for name in options.names:
        for kernel in options.kernels:
            for kind, inits in STARTS.items():
                began = time.process_time()
                cells = [measure(*fetch(name), kind, init, kernel) for init in inits]
                words = [kernel, name, kind.__name__, *cells, f"{time.process_time() - began:.0f}"]
                print("|", " | ".join(words), "|", flush=True)


if __name__ == "__main__":
    main()
