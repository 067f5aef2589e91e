"""Run one system of the league on all sets; needs NumPy and what the system itself needs.

    PYTHON benchmarks/league/run.py SYSTEM --data FOLDER [--sets NAME ...] [--only NAME ...]
        [--seeds 3] [--out FILE]

``systems/SYSTEM.py`` has the entries (see README.md). A cell is an entry, a set, a fold and a seed;
cells that the file of results has are not run again. Every cell is a process of its own on one
thread with 8 GiB of memory: a fit gets a budget of 60 CPU seconds, and the process is stopped 30
seconds after that.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import lzma
import multiprocessing
import os
import platform
import resource
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is imported

import numpy as np  # noqa: E402

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "docs" / "results" / "league"
BUDGET, GRACE = 60.0, 30.0  # CPU seconds: of a fit, and of imports, predictions and instances
MEMORY = 8 << 30  # bytes of a cell: kernels of all instances can fill a machine
SEEDS = 3
CHEAP_FIRST = ("musk1", "digits", "elephant", "planted pairs", "planted composition")


# Measures -----------------------------------------------------------------------------------------


def area(truth: np.ndarray, scores: np.ndarray) -> float:
    """Return the area under the ROC curve; ties count half."""
    order = np.sort(scores[truth == 0])
    won = np.searchsorted(order, scores[truth == 1], "left")
    tied = np.searchsorted(order, scores[truth == 1], "right") - won
    return float(np.mean(won + tied / 2) / len(order))


def judge(truth: np.ndarray, answer: dict[str, Any]) -> dict[str, float]:
    """Return AUC, accuracy at the system's own threshold, and log loss where it has probabilities.

    Probabilities of 0 and 1 are moved by 1e-6, or one wrong bag would be infinitely bad.
    """
    found = {"auc": area(truth, np.asarray(answer["score"], dtype=float))}
    found["accuracy"] = float(np.mean(np.asarray(answer["label"]) == truth))
    if answer.get("probability") is not None:
        chance = np.clip(np.asarray(answer["probability"], dtype=float), 1e-6, 1 - 1e-6)
        found["log_loss"] = float(-np.mean(np.log(np.where(truth == 1, chance, 1 - chance))))
    return found


def judge_instances(
    truth: list[np.ndarray], labels: np.ndarray, scores: list[np.ndarray]
) -> dict[str, float]:
    """Return how often the best instance of a positive bag is positive, and the AUC of all."""
    found = zip(truth, labels, scores, strict=True)
    hits = [own[int(np.argmax(s))] == 1 for own, y, s in found if y == 1]
    every = np.concatenate(truth)
    return {"key_rate": float(np.mean(hits)), "instance_auc": area(every, np.concatenate(scores))}


# Cells --------------------------------------------------------------------------------------------


def read_set(folder: Path, name: str) -> dict[str, Any]:
    """Return the bags as a list of arrays, labels, folds, and instance labels per bag or None."""
    with np.load(folder / f"{name.replace(' ', '_')}.npz") as file:
        cuts, more = file["offsets"][1:-1], {n: file[n] for n in file.files}
    bags = np.split(more["X"].astype(float), cuts)
    known = np.split(more["instance_labels"], cuts) if "instance_labels" in more else None
    return {"bags": bags, "y": more["y"], "fold": more["fold"], "instances": known}


def run_cell(entry: Any, data: dict[str, Any], fold: int, seed: int) -> dict[str, float]:
    """Fit an entry to all other folds, and judge it on this one."""
    test = np.flatnonzero(data["fold"] == fold)
    train = np.flatnonzero(data["fold"] != fold)
    began = time.process_time()
    predict = entry([data["bags"][i] for i in train], data["y"][train], seed, BUDGET)
    fitted = time.process_time()
    answer = predict([data["bags"][i] for i in test])
    found = {"fit_s": fitted - began, "predict_s": time.process_time() - fitted}
    truth = data["y"][test]
    found |= judge(truth, answer)
    if data["instances"] is not None and answer.get("instances") is not None:
        known = [data["instances"][i] for i in test]
        found |= judge_instances(known, truth, answer["instances"]())
    return found


def _work(send: Any, *cell: Any) -> None:
    used = time.process_time()
    limit = int(used + BUDGET + GRACE)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    try:
        send.send(run_cell(*cell))
    except Exception as error:  # noqa: BLE001 (whatever a peer raises is its result)
        send.send({"failure": f"{type(error).__name__}: {error}"[:300]})


def run_apart(*cell: Any) -> dict[str, Any]:
    """Run a cell in a process of its own, whose end is no end of the run."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(send, *cell))
    process.start()
    send.close()
    try:
        found = receive.recv()
    except EOFError:
        process.join()
        found = {"failure": f"ended by signal {-(process.exitcode or 0)} (24: out of budget)"}
    process.join()
    return found


# The run ------------------------------------------------------------------------------------------


def load_system(name: str) -> Any:
    """Import ``systems/NAME.py``, or a file that is named by its path."""
    path = Path(name) if name.endswith(".py") else HERE / "systems" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"league_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def describe(system: Any) -> dict[str, str]:
    """Return the versions of what a system uses."""
    found = {"python": platform.python_version()}
    for package in ("numpy", *system.PACKAGES):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a checkout
            found[package] = __import__(package).__version__
    return found


def name_machine() -> str:
    """Return the processor and the number of cores: CPU seconds of two machines do not compare."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(": ", 1)[1] for line in lines if line.startswith("model name")]
    return f"{models[0]}, {len(models)} cores"


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file of results and, before them, of its packed form.

    A last line that a killed run left torn is cut off, in the file too.
    """
    packed = path.with_name(f"{path.name}.xz")
    before = lzma.decompress(packed.read_bytes()).decode() if packed.exists() else ""
    if not path.exists():
        return before.splitlines()
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return (before + whole).splitlines()


def run(
    system: Any, data: Path, out: Path, sets: list[str], only: list[str], n_seeds: int = SEEDS
) -> None:
    """Run all cells that the file does not have, and write each as soon as it ends."""
    out.parent.mkdir(parents=True, exist_ok=True)
    lines = read_lines(out)
    done = {json.dumps(r["cell"]) for r in map(json.loads, lines) if "cell" in r}
    machine = name_machine()
    with out.open("a") as file:
        print(json.dumps({"versions": describe(system)}), file=file, flush=True)
        for name, (entry, work) in product(sets, system.SYSTEMS.items()):
            if only and entry not in only:
                continue
            read = read_set(data, name)
            seeds = range(n_seeds if entry in system.RANDOM else 1)
            for seed, fold in product(seeds, range(int(read["fold"].max()) + 1)):
                cell = [entry, name, fold, seed]
                if json.dumps(cell) not in done:
                    found = run_apart(work, read, fold, seed)
                    record = {"cell": cell, "machine": machine, **found}
                    print(json.dumps(record), file=file, flush=True)
                    print(json.dumps(record), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sets", nargs="+", default=[])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    given = parser.parse_args()
    names = [*json.loads((HERE / "sets.json").read_text())]
    names = sorted(given.sets or names, key=lambda n: (n not in CHEAP_FIRST, names.index(n)))
    sys.path.append(str(HERE / "systems"))
    target = given.out or RESULTS / f"{Path(given.system).stem}.jsonl"
    run(load_system(given.system), given.data, target, names, given.only, given.seeds)
