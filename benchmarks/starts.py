"""Compare the usual start of mi-SVM and MI-SVM with an annealed one: objective, out-of-fold AUC.

``BAGWISE_DATA=... python benchmarks/starts.py musk1 fox --kernel linear`` prints one line per set,
model and C: objectives on all bags, AUC of 5 folds, and the CPU seconds of both starts.
"""

from __future__ import annotations

import argparse
import time

from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import LabelSVC, WitnessSVC
from bagwise.datasets import fetch
from bagwise.preprocessing import PerInstance

_STARTS = {LabelSVC: ("bags", "anneal"), WitnessSVC: ("mean", "anneal")}


def measure(name: str, kind: type, init: str, C: float, kernel: str) -> tuple[float, float, float]:
    """Return the objective on all bags, the out-of-fold AUC and the CPU seconds."""
    bags, y = fetch(name)
    began = time.process_time()
    steps = PerInstance(StandardScaler()), kind(init=init, C=C, kernel=kernel)
    objective = float(make_pipeline(*steps).fit(bags, y)[-1].objective_[0])
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = make_pipeline(*steps)
    scores = cross_val_predict(model, bags, y, cv=folds, method="decision_function")
    return objective, float(roc_auc_score(y, scores)), time.process_time() - began


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--kernel", default="linear")
    options = parser.parse_args()
    for name in options.names:
        for kind, inits in _STARTS.items():
            for C in (0.1, 1.0, 10.0):
                found = [measure(name, kind, init, C, options.kernel) for init in inits]
                cells = [f"{o:.4g} | {100 * a:.1f} | {s:.1f}" for o, a, s in found]
                print("|", " | ".join([name, kind.__name__, f"{C:g}", *cells]), "|", flush=True)


if __name__ == "__main__":
    main()
