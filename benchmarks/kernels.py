"""Time, memory and accuracy of kernel models on 5,000 to 20,000 instances.

    BAGWISE_DATA=... python benchmarks/kernels.py [--only TEXT] [--old SOURCE]

Times are CPU times on one thread, the better of two runs, with the kernel matrix included. They are
given in units of one `SVC` fit to the same instances with the same C and gamma, in the same
process. The protein set is a part of it (51 bags drawn with seed 0). "Dense" solves the same models
by factors instead (`MANY_ROWS` out of reach). Every measurement is stored in
docs/results/kernels.jsonl as soon as it is made, and those that are there are not made again; then
docs/results/kernels.md is written from the file. ``--old`` names the source folder of version 0.1,
for the comparison on small sets.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

import bagwise
from bagwise.datasets import fetch, make_gaussian_bags
from timing import cpu_seconds, one_thread

RESULTS = Path(__file__).parents[1] / "docs" / "results"
STORE, PAGE = RESULTS / "kernels.jsonl", RESULTS / "kernels.md"
MODELS = {
    "Instance": "InstanceSVC",
    "Label": "LabelSVC",
    "AL": "AnnealedLabelSVC",
    "AW": "AnnealedWitnessSVC",
    "Witness": "WitnessSVC",
    "ALP": "AnnealedProportionSVC",
}
FOLDED = ("AL", "AW")  # the models whose dense and iterative accuracies are paired
SMALL = "elephant"


@cache
def data(name: str) -> tuple[Any, Any]:
    """Return standardized bags and labels."""
    if name.startswith("planted"):
        n_bags = int(name.split("-")[1]) // 10
        return make_gaussian_bags(n_bags=n_bags, bag_size=10, n_features=20, random_state=0)
    bags, y = fetch(name)
    if name == "protein":
        kept = np.sort(np.random.RandomState(0).permutation(len(bags))[:51])
        bags, y = bags[kept], np.asarray(y)[kept]
    return bags.replace(X=(bags.X - bags.X.mean(axis=0)) / bags.X.std(axis=0)), y


@cache
def gamma(name: str) -> float:
    """Return the median gamma of a data set."""
    from bagwise.kernels import settle_gamma

    X = data(name)[0].X
    return settle_gamma("median", X, np.ones(X.shape[0]), np.random.RandomState(0))


@cache
def unit(name: str, C: float) -> float:
    """Return the CPU seconds of one SVC fit."""
    bags, y = data(name)
    labels = np.repeat(y, np.diff(bags.offsets))
    return cpu_seconds(SVC(C=C, gamma=gamma(name)).fit, bags.X, labels, repeats=2)


def model(short: str, **parameters: Any) -> Any:
    return getattr(bagwise, MODELS[short])(**parameters)


# What is measured ---------------------------------------------------------------------------------


def timed(name: str, short: str, C: float) -> dict[str, Any]:
    bags, y = data(name)
    fitted = model(short, C=C, gamma=gamma(name))
    seconds = cpu_seconds(fitted.fit, bags, y, repeats=2)
    gap = float(fitted.gap_[0] / fitted.objective_[0])
    return {
        "rows": bags.X.shape[0],
        "ratio": seconds / unit(name, C),
        "seconds": seconds,
        "gap": gap,
        "objective": float(fitted.objective_[0]),
    }


def memory(name: str, short: str) -> dict[str, Any]:
    """Return the peak memory of a process that fits one model and does nothing else."""
    command = [sys.executable, __file__, "--peak", name, short]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {"gigabytes": float(done.stdout)}


def accuracy(name: str, short: str, route: str, fold: int) -> dict[str, Any]:
    from bagwise.designs import gram
    from bagwise.kernels import instance

    bags, y = data(name)
    folds = StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(len(y)), y)
    train, test = list(folds)[fold]
    known = gram.MANY_ROWS
    gram.MANY_ROWS = instance.MANY_ROWS = 10**9 if route == "dense" else known
    try:
        fitted = model(short, gamma=gamma(name)).fit(bags[train], y[train])
    finally:
        gram.MANY_ROWS = instance.MANY_ROWS = known
    right = fitted.predict(bags[test]) == y[test]
    return {"right": int(right.sum()), "bags": len(test), "objective": float(fitted.objective_[0])}


def small(short: str, source: str) -> dict[str, Any]:
    """Return the time on a small set, in units of SVC, of the version in a source folder."""
    command = [sys.executable, __file__, "--small", short]
    env = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    return {"ratio": float(done.stdout)}


def small_ratio(short: str) -> float:
    bags, y = fetch(SMALL)
    fitted = model(short).fit(bags, y)
    labels, width = np.repeat(y, np.diff(bags.offsets)), fitted.kernel_.gamma
    fitted.gamma = width
    ours = cpu_seconds(fitted.fit, bags, y, repeats=5)
    return ours / cpu_seconds(SVC(gamma=width).fit, bags.X, labels, repeats=5)


# The store ----------------------------------------------------------------------------------------


def cells(old: str | None) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield the name of every measurement and the function that makes it, quick ones first."""
    for name in ("musk2", "protein"):
        for C in (1, 10, 100):
            for short in MODELS:
                yield f"time {name} {short} {C}", partial(timed, name, short, C)
    for size in (5000, 20_000):
        for short in ("Instance", "AL", "AW"):
            yield f"time planted-{size} {short} 1", partial(timed, f"planted-{size}", short, 1)
    yield "memory planted-20000 AL", partial(memory, "planted-20000", "AL")
    here = str(Path(bagwise.__file__).parents[1])
    for short in ("Instance", "Label", "AL", "AW"):
        for version, source in (("0.1", old), ("now", here)):
            if source:
                yield f"small {version} {short}", partial(small, short, source)
    for fold in range(10):
        for short in FOLDED:
            for route in ("iterative", "dense"):
                work = partial(accuracy, "musk2", short, route, fold)
                yield f"fold {fold} {short} {route}", work


def stored() -> dict[str, dict[str, Any]]:
    lines = STORE.read_text().splitlines() if STORE.exists() else []
    return {record.pop("cell"): record for record in map(json.loads, lines)}


def measure(only: str, old: str | None) -> None:
    known = stored()
    warm, labels = make_gaussian_bags(n_bags=330, bag_size=10, n_features=3, random_state=0)
    if any(only in name and name not in known for name, _ in cells(old)):
        for short in MODELS:  # compile first
            model(short).fit(warm, labels)
    for name, work in cells(old):
        if only in name and name not in known:
            record = {"cell": name, **work()}
            with STORE.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(name, record, flush=True)


# The page -----------------------------------------------------------------------------------------

HEAD = """# Exact kernels at 5,000 to 20,000 instances

Made by `python benchmarks/kernels.py`, which says how it measures. Numbers are CPU time on one
thread in units of one `SVC` fit to the same instances in the same process, kernel matrix included.
The last column is the largest relative duality gap of the row. AL, AW and ALP are the annealed
models.

"""


def times(known: dict[str, Any]) -> str:
    lines = [
        f"| data | instances | C | {' | '.join(MODELS)} | gap |",
        "|---" * (len(MODELS) + 4) + "|",
    ]
    made = [name.split() for name, _ in cells(None) if name.startswith("time") and name in known]
    for name, C in dict.fromkeys((part[1], part[3]) for part in made):
        found = [known.get(f"time {name} {short} {C}") for short in MODELS]
        there = [cell for cell in found if cell]
        ratios = " | ".join(f"{cell['ratio']:.2f}" if cell else "-" for cell in found)
        gap = max(cell["gap"] for cell in there)
        lines.append(f"| {name} | {there[0]['rows']} | {C} | {ratios} | {gap:.0e} |")
    return "\n".join(lines) + "\n"


def growth(known: dict[str, Any]) -> str:
    parts = []
    for short in ("Instance", "AL", "AW"):
        both = [known.get(f"time planted-{size} {short} 1") for size in (5000, 20_000)]
        if all(both):
            power = np.log(both[1]["seconds"] / both[0]["seconds"]) / np.log(4)
            parts.append(f"{short} n^{power:.2f}")
    text = (
        f"\nGrowth of the time from 5,000 to 20,000 instances: {', '.join(parts)}.\n"
        if parts
        else ""
    )
    if "memory planted-20000 AL" in known:
        peak = known["memory planted-20000 AL"]["gigabytes"]
        text += f"\nPeak memory of a process that fits AL to 20,000 instances: {peak:.2f} GB.\n"
    return text


def small_sets(known: dict[str, Any]) -> str:
    shorts = [short for short in MODELS if f"small 0.1 {short}" in known]
    if not shorts:
        return ""
    lines = [
        f"\n## A small set ({SMALL}, 1,391 instances, C = 1)\n",
        "| model | 0.1 | now |",
        "|---|---|---|",
    ]
    for short in shorts:
        old, new = (
            known.get(f"small {v} {short}", {}).get("ratio", np.nan) for v in ("0.1", "now")
        )
        lines.append(f"| {short} | {old:.2f} | {new:.2f} |")
    return "\n".join(lines) + "\n"


def paired(known: dict[str, Any]) -> str:
    """Compare the two routes on the folds that both have done."""
    lines = []
    for short in FOLDED:
        done = [
            (known[f"fold {k} {short} iterative"], known[f"fold {k} {short} dense"])
            for k in range(10)
            if f"fold {k} {short} dense" in known
        ]
        if done:
            a, b = (np.array([cell[i]["right"] / cell[i]["bags"] for cell in done]) for i in (0, 1))
            error = np.std(a - b, ddof=1) / np.sqrt(len(a)) if len(a) > 1 else np.nan
            ratio = [cell[0]["objective"] / cell[1]["objective"] for cell in done]
            lines.append(
                f"| {short} | {len(a)} | {100 * a.mean():.1f} | {100 * b.mean():.1f} | "
                f"{100 * (a - b).mean():+.1f} ± {100 * error:.1f} | "
                f"{min(ratio):.3f} - {max(ratio):.3f} |"
            )
    if not lines:
        return ""
    head = (
        "\n## Accuracy on musk2, paired by fold (C = 1)\n\n"
        "The annealed path is sensitive to rounding: two runs that solve every convex problem\n"
        "equally well can end in different minima. Bands of objectives and accuracies are\n"
        "comparable, single runs are not.\n\n"
        "| model | folds | iterative, % | dense, % | difference | objective, iterative / dense |\n"
        "|---|---|---|---|---|---|\n"
    )
    return head + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="only measurements whose name contains this")
    parser.add_argument("--old", help="source folder of version 0.1")
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--small", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peak:
        model(args.peak[1]).fit(*data(args.peak[0]))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9)
    elif args.small:
        print(small_ratio(args.small))
    else:
        measure(args.only, args.old)
        known = stored()
        PAGE.write_text(HEAD + times(known) + growth(known) + small_sets(known) + paired(known))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with one_thread():
        main()
