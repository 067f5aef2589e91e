"""Compare version 0.2 with the working tree: the same models must give the same numbers.

    BAGWISE_DATA=... python benchmarks/same_numbers.py [--commit be8192e] [--only GraphSVC]

Version 0.2 is checked out into a temporary git worktree. Two processes, one per version, fit every
estimator of `bagwise.testing.estimators` and those of `MORE` to three data sets, on one thread;
`NAMES` and `VALUES` translate the parameters, and groups of parameters are flattened. Scores of
bags and of instances, objectives, gaps, weights of instances and counts of factorizations must be
equal: to the bit, or to the last digits, where the engine of passes adds in another order. Other
differences are printed with their size. `EXPECTED` lists those that have a reason; with any other
one the exit status is 1. Classes and options that version 0.2 did not have are passed over. Version
0.2 needs zlib-ng. Takes one to three minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).parents[1]
ATTRIBUTES = ("objective_", "gap_", "instance_weights_", "threshold_")
LAST_DIGITS = 1e-12  # of the largest value of an output, and of the objective for gaps
METHODS = (
    "decision_function",
    "predict_proba",
    "instance_decision_function",
    "predict_instances",
    "key_instances",
)

# From the parameters of the working tree to those of version 0.2, by class: extend these tables
# when a parameter is renamed. Members of a group (annealing__T0) had no group: T0.
NAMES: dict[str, dict[str, str]] = {}
VALUES: dict[tuple[str, str], dict[str, str]] = {}

# What the list of estimators does not cover: graphs, calibration, paths. "chain" is a graph.
MORE = [
    ("WitnessSVC", {"threshold": "calibrated", "probability": "sigmoid", "calibration_cv": 3}),
    ("WitnessSVC", {"init": "random", "class_weight": "balanced"}),
    ("AnnealedWitnessSVC", {"init": "mean", "annealing__T0": 1.0}),
    ("OptimalMarginSVC", {"C_pos": 10.0, "C_neg": 30.0, "calibration_cv": 2}),
    ("KeyInstanceSVC", {"pool__init": "cccp", "threshold": 0.0, "pool__max_columns": 5}),
    ("GraphSVC", {"bag_graph": "chain", "mu": 1.0, "tol": 1e-4}),
    ("MarkovNetworkClassifier", {"cardinality": "learned", "fit_intercept": True}),
    ("MarkovNetworkClassifier", {"bag_features": "kernels", "multi_class": "ovr", "cv": 2}),
    ("MarkovNetworkClassifier", {"init": ["instances", "mean", "random"]}),
    ("BagEnsemble", {"n_estimators": 3}),
]

# (estimator, output) -> the reason for a difference; None stands for every output.
EXPECTED: dict[tuple[str, str | None], str] = {
    ("BagKernelSVC", "instance_decision_function"): "last digits: the kernels' own way to occlude "
    "statistics is gone, and blocks of distances have another size",
    ("AnnealedProportionSVC", None): "the variance of its penalty is exact in every step",
    ("AutoBagClassifier", None): "its members are weighed by one convex problem, and are others",
    ("WitnessSVC", "predict_proba"): "far scores count as those of a fence, and a given threshold "
    "no longer moves the sigmoid",
}


# The data ----------------------------------------------------------------------------------------


def planted(n_bags: int = 45, n_features: int = 6) -> dict:
    """Draw bags of three classes: class k > 0 has one instance shifted in direction k."""
    rng = np.random.default_rng(0)
    sizes, y = rng.integers(2, 6, n_bags), np.arange(n_bags) % 3
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X = rng.normal(size=(offsets[-1], n_features))
    X[offsets[:-1][y > 0], y[y > 0]] += 3.0
    return {"X": X, "offsets": offsets, "y": y}


def text(n_bags: int = 40, bag_size: int = 4, n_words: int = 300) -> dict:
    """Draw sparse bags of documents; one document of a positive bag uses the first words more."""
    rng = np.random.default_rng(1)
    y = np.arange(n_bags) % 2
    rate = np.tile(0.6 / (1 + np.arange(n_words)) ** 0.7, (n_bags * bag_size, 1))
    rate[::bag_size][y == 1, 20:40] += 0.2
    counts = rng.poisson(rate) * np.log(1 + np.arange(n_words) + n_words / 10)
    X = counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-12)
    return {"X": X, "offsets": np.arange(0, n_bags * bag_size + 1, bag_size), "y": y, "sparse": 1}


def musk1() -> dict:
    """Load musk1 and standardize its features."""
    from bagwise.datasets import fetch

    bags, y = fetch("musk1")
    return {"X": (bags.X - bags.X.mean(0)) / bags.X.std(0), "offsets": bags.offsets, "y": y}


# One version -------------------------------------------------------------------------------------


def translate(kind: str, params: dict) -> dict:
    """Return parameters of the working tree under their names in version 0.2."""
    names, old = NAMES.get(kind, {}), {}
    for path, value in params.items():
        name = path.rpartition("__")[2]
        words = VALUES.get((kind, name), {})
        known = [words.get(v, v) for v in value] if isinstance(value, list) else value
        old[names.get(name, name)] = words.get(value, value) if isinstance(value, str) else known
    return old


def outputs(kind: str, params: dict, data: dict) -> dict:
    """Fit one estimator to one data set; return what is compared, or the error it raised."""
    import bagwise

    if not hasattr(bagwise, kind):
        return {}
    X = sp.csr_array(data["X"]) if "sparse" in data else data["X"]
    n_bags = len(data["y"])
    bags = bagwise.Bags(X, data["offsets"], ids=np.arange(n_bags))
    if params.get("bag_graph") == "chain":
        edges = [(i, i + 3) for i in range(n_bags - 3)]
        params = {**params, "bag_graph": bagwise.Graph.from_edges(edges)}
    try:
        model = getattr(bagwise, kind)(random_state=0).set_params(**params).fit(bags, data["y"])
    except (ValueError, TypeError) as error:
        return {"error": np.array(type(error).__name__)}
    found = {name: getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)}
    found |= {name: getattr(model, name)(bags) for name in METHODS if hasattr(model, name)}
    found["factorizations"] = factorizations(getattr(model, "history_", []))
    return {name: np.asarray(value) for name, value in found.items()}


def factorizations(history: list) -> int:
    """Sum the factorizations over the records of a fit, of one class or of several."""
    if history and isinstance(history[0], list):
        return sum(map(factorizations, history))
    return sum(r.get("factorizations", 0) for r in history)


def run(version: str, folder: Path) -> None:
    """Fit everything with the version that is on the path, and check that it is the one meant."""
    import bagwise

    assert bagwise.__file__.startswith(os.environ["PYTHONPATH"]), bagwise.__file__
    warnings.simplefilter("ignore")
    specs = json.loads((folder / "specs.json").read_text())
    for data_file in sorted(folder.glob("data-*.npz")):
        data = dict(np.load(data_file))
        for number, (kind, params) in enumerate(specs):
            named = translate(kind, params) if version == "old" else params
            target = folder / f"{version}-{data_file.stem}-{number}.npz"
            np.savez(target, **outputs(kind, named, data))


# The comparison ----------------------------------------------------------------------------------


def specs_of_estimators() -> list[tuple[str, dict]]:
    """Return class and changed parameters of every listed estimator, then those of MORE."""
    from bagwise.testing import estimators

    listed = []
    for model in estimators():
        defaults, params = type(model)().get_params(), model.get_params()
        changed = {k for k in params if params[k] != defaults.get(k)} - model._groups.keys()
        listed.append((type(model).__name__, {k: params[k] for k in sorted(changed)}))
    return listed + MORE


def difference(old: np.ndarray, new: np.ndarray, scale: float = 0.0) -> tuple[str, str]:
    """Return whether two arrays are equal, and how far they are apart."""
    if (old.shape, old.dtype) != (new.shape, new.dtype):
        return "different", f"{old.dtype} {old.shape} -> {new.dtype} {new.shape}"
    if old.tobytes() == new.tobytes():
        return "equal bits", ""
    places = f"in {np.sum(old != new)} places"
    if old.dtype.kind != "f":
        return "different", f"{old} -> {new}" if old.ndim == 0 else places
    apart = np.nanmax(np.abs(old - new)) / (scale or float(np.nanmax(np.abs(old))) or 1.0)
    verdict = "last digits" if apart <= LAST_DIGITS else "different"
    return verdict, f"{apart:.1e} of the largest value, {places}"


def compare(folder: Path, specs: list[tuple[str, dict]]) -> int:
    """Print every difference and a summary by output; return the number of unexpected ones."""
    verdicts: dict[str, Counter] = defaultdict(Counter)
    for data in sorted(path.stem for path in folder.glob("data-*.npz")):
        for number, (kind, params) in enumerate(specs):
            old, new = (np.load(folder / f"{v}-{data}-{number}.npz") for v in ("old", "new"))
            if not old.files or ("error" in old and "error" not in new):
                continue  # a class or an option that version 0.2 does not have
            for name in sorted({*old, *new}):
                if name in old and name in new:
                    scale = np.abs(old["objective_"]).max() if name == "gap_" else 0.0
                    verdict, apart = difference(old[name], new[name], scale)
                else:
                    verdict, apart = "different", "in one version only"
                reason = EXPECTED.get((kind, name)) or EXPECTED.get((kind, None), "")
                verdict = "expected" if verdict == "different" and reason else verdict
                verdicts[name][verdict] += 1
                if verdict in ("expected", "different"):
                    options = ", ".join(f"{k}={v!r}" for k, v in params.items())
                    print(f"{data}: {kind}({options}) {name} {verdict}: {apart} {reason}")
    columns = ("equal bits", "last digits", "expected", "different")
    print(f"{'output':28}" + "".join(f"{column:>13}" for column in columns))
    for name, count in verdicts.items():
        print(f"{name:28}" + "".join(f"{count[column]:13}" for column in columns))
    return sum(count["different"] for count in verdicts.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--commit", default="be8192e", help="the commit of version 0.2")
    parser.add_argument("--only", default="", help="only classes whose name contains this")
    parser.add_argument("--run", nargs=2, metavar=("VERSION", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        run(args.run[0], Path(args.run[1]))
        return 0
    specs = [(kind, params) for kind, params in specs_of_estimators() if args.only in kind]
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    with tempfile.TemporaryDirectory() as temporary:
        folder, tree = Path(temporary), Path(temporary) / "tree"
        (folder / "specs.json").write_text(json.dumps(specs))
        for make in (musk1, planted, text):
            np.savez(folder / f"data-{make.__name__}.npz", **make())
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "-q", "--detach", str(tree), args.commit], check=True)
        try:
            jobs = [
                subprocess.Popen(
                    [sys.executable, __file__, "--run", version, str(folder)],
                    env={**os.environ, **threads, "PYTHONPATH": str(source)},
                )
                for version, source in (("old", tree / "src"), ("new", ROOT / "src"))
            ]
            statuses = [job.wait() for job in jobs]
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)
        return 2 if any(statuses) else min(1, compare(folder, specs))


if __name__ == "__main__":
    sys.exit(main())
