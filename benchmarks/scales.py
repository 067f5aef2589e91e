"""Linear fits at extreme scales, offsets and weights, against clarabel.

    python benchmarks/scales.py [--count 500] [--others 100] [--report docs/results/robustness.md]
    python benchmarks/scales.py --count 2500 --others 1500 --shard 0 16 --out FOLDER  # to 15 16
    python benchmarks/scales.py --merge FOLDER [--report docs/results/robustness.md]

``--shard I N`` takes every Nth problem from the Ith on and writes its counts to FOLDER.

Case i is `reference.linear.odd_problem(i)`: 10 to 60 rows, 1 to 7 features of scale 1e-150 to
1e150, in half of the cases with an offset of up to 1e8 times their spread, random labels, and C
from 1e-8 to 1e8. `InstanceSVC(kernel="linear")` is fitted to the rows as they are; clarabel solves
the same problem on rows centered and scaled by hand. A gap is honest if the objective is above
clarabel's by no more than the gap (and clarabel's own precision).

The second table has other models: InstanceSVC with a hinge, and those whose intercept is penalized,
where clarabel sees rows that were turned by hand. Models of bags see the rows in bags of one to
three, and clarabel solves the last convex problem, for the key instances or labels at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bagwise import ODM, Bags, InstanceSVC, KeyInstanceSVC, OptimalMarginSVC, SemiProximalSVC
from bagwise.losses import MarginBand

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference import penalized
from reference.linear import hinge_by_clarabel, odd_problem, optimum_by_clarabel

_START, _END = "<!-- scales -->", "<!-- end of scales -->"
_PRECISION = 1e-6  # relative, of clarabel's optimum
_FIRST = "InstanceSVC"
_NAMES = ("converged", "warned", "refused", "compared", "dishonest")


def squared(rows: Any, y: Any, C: float) -> tuple[Any, float, float]:
    """Return the fit of a squared hinge, the optimum, and the largest weight."""
    model = InstanceSVC(kernel="linear", C=C).fit(rows, y)
    return model, optimum_by_clarabel(rows, 2.0 * y - 1, C), 0.0


def hinge(rows: Any, y: Any, C: float) -> tuple[Any, float, float]:
    """Return the same for a hinge."""
    model = InstanceSVC(kernel="linear", C=C, loss="hinge").fit(rows, y)
    return model, hinge_by_clarabel(rows, 2.0 * y - 1, C), C


def margins(rows: Any, y: Any, C: float) -> tuple[Any, float, float]:
    """Return the same for ODM."""
    model, weight = ODM(kernel="linear", C=C).fit(rows, y), np.full(len(y), C / len(y))
    band = MarginBand(model.theta, model.nu)
    return model, penalized.band_optimum(rows, 2.0 * y - 1, weight, band), weight.max()


def in_bags(y: Any) -> tuple[Any, Any]:
    """Return offsets of bags of one to three rows, and their labels."""
    ends = np.cumsum(1 + np.arange(len(y)) % 3)
    offsets = np.concatenate([[0], ends[ends < len(y)], [len(y)]])
    labels = y[offsets[:-1]].copy()
    labels[:2] = 0, 1
    return offsets, labels


def key_instances(kind: Any, rows: Any, y: Any, C: float) -> tuple[Any, float, float]:
    """Return the same for key instances, where CCCP chose them."""
    offsets, labels = in_bags(y)
    weights = {"C": C} if kind is KeyInstanceSVC else {"C_pos": C, "C_neg": C}
    model = kind(kernel="linear", threshold=0.0, relax=False, **weights)
    model.fit(Bags(rows, offsets), labels)
    of_rows = np.repeat(labels, np.diff(offsets))
    used = (model.instance_weights_ > 0) | (of_rows == 0)
    sign, counts = 2.0 * of_rows[used] - 1, np.bincount(labels)
    weight = np.full(len(sign), C / 2) if kind is KeyInstanceSVC else C / counts[of_rows[used]]
    return model, penalized.band_optimum(rows[used], sign, weight, model._band()), weight.max()


def semiproximal(rows: Any, y: Any, C: float) -> tuple[Any, float, float]:
    """Return the same for mi-SPSVM, where relabeling ended."""
    offsets, labels = in_bags(y)
    model = SemiProximalSVC(C=C).fit(Bags(rows, offsets), labels)
    weight, positive = np.full(len(y), C), model.instance_weights_ > 0
    return model, penalized.semiproximal_optimum(rows, positive, weight), C


OTHERS: dict[str, Callable[..., tuple[Any, float, float]]] = {
    "InstanceSVC, hinge": hinge,
    "ODM": margins,
    "KeyInstanceSVC": lambda *case: key_instances(KeyInstanceSVC, *case),
    "OptimalMarginSVC": lambda *case: key_instances(OptimalMarginSVC, *case),
    "SemiProximalSVC": semiproximal,
}


def judged(fit: Callable[..., tuple[Any, float, float]], seed: int) -> list[str]:
    """Fit one problem; return what holds of it."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model, best, largest = fit(*odd_problem(seed))
        except (FloatingPointError, np.linalg.LinAlgError):  # named errors with a remedy
            return ["refused"]
    objective, gap = model.objective_[0], model.gap_[0]
    warned = any(issubclass(w.category, ConvergenceWarning) for w in told)
    blurred = _PRECISION * objective + penalized.PRECISION * largest
    solved = bool(np.isfinite(best))
    holds = (not warned, warned, False, solved, solved and objective - best > gap + blurred)
    return [name for name, is_so in zip(_NAMES, holds, strict=True) if is_so]


def count_shard(options: argparse.Namespace) -> dict[str, Any]:
    """Return the counts of a shard by model, and the problems whose gap is dishonest."""
    first, step = options.shard
    counts: dict[str, Counter[str]] = {}
    false: list[tuple[str, int]] = []
    for model, fit in {_FIRST: squared, **OTHERS}.items():
        counts[model] = Counter()
        for seed in range(first, options.count if model == _FIRST else options.others, step):
            found = judged(fit, seed)
            counts[model].update(["problems", *found])
            false += [(model, seed)] * ("dishonest" in found)
    asked = {"count": options.count, "others": options.others, "shards": step}
    return {**asked, "counts": counts, "false": false}


def merge(folder: Path) -> dict[str, Any]:
    """Return the sum of all shards in a folder, of which none may be missing."""
    parts = [json.loads(path.read_text()) for path in sorted(folder.glob("scales_*.json"))]
    runs = {(part["count"], part["others"], part["shards"]) for part in parts}
    if len(runs) != 1 or len(parts) != parts[0]["shards"]:
        raise SystemExit(f"{folder} has {len(parts)} shards of these runs: {sorted(runs)}")
    counts = {model: Counter[str]() for model in parts[0]["counts"]}
    for part in parts:
        for model, found in part["counts"].items():
            counts[model].update(found)
    return {
        **parts[0],
        "counts": counts,
        "false": [each for part in parts for each in part["false"]],
    }


def table(rows: dict[str, Counter[str]]) -> str:
    """Return one row per model."""
    names = ("problems", *_NAMES)
    head = f"| model | {' | '.join(names)} |\n| --- | {' | '.join(['---:'] * 6)} |"
    cells = (
        f"| {name} | {' | '.join(f'{found[word]:,}' for word in names)} |"
        for name, found in rows.items()
    )
    return "\n".join([head, *cells])


def main() -> None:
    """Count, print, and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=500)
    arguments.add_argument("--others", type=int, default=100)
    arguments.add_argument("--shard", type=int, nargs=2, default=(0, 1), metavar=("I", "N"))
    arguments.add_argument("--out", type=Path, help="folder for the counts of this shard")
    arguments.add_argument("--merge", type=Path, help="folder whose shards are counted")
    arguments.add_argument("--report", type=Path)
    options = arguments.parse_args()
    run = merge(options.merge) if options.merge else count_shard(options)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"scales_{options.shard[0]}.json").write_text(json.dumps(run, indent=1))
    counts = run["counts"]
    others = {model: found for model, found in counts.items() if model != _FIRST}
    text = f"""{_START}
## Scales, offsets and weights

`python benchmarks/scales.py --count {run["count"]} --others {run["others"]}`: linear fits to
features of scale 1e-150 to 1e150, offsets up to 1e8 times the spread, C from 1e-8 to 1e8.
**Converged**: no warning. **Refused**: an error that says to scale the features. **Compared**:
clarabel solved the problem on rows centered or turned, and scaled beforehand. **Dishonest**: the
objective is further above clarabel's than the gap says.

{table({_FIRST: counts[_FIRST]})}

Other models. The intercept of all but the first is penalized. The last three see the rows in bags
of one to three; what is compared is their last convex problem.

{table(others)}
{_END}"""
    print(text, *run["false"], sep="\n")
    if options.report is not None:
        page = options.report.read_text()
        before, there, rest = page.partition(_START)
        after = rest.partition(_END)[2]
        new = f"{before}{text}{after}" if there else f"{page}\n{text}\n"
        options.report.write_text(new)
    raise SystemExit(bool(run["false"]))


if __name__ == "__main__":
    main()
