"""Linear fits at extreme scales, offsets and weights, against clarabel.

    python benchmarks/scales.py [--count 500] [--others 100] [--report docs/results/robustness.md]

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


def table(count: int, rows: dict[str, Counter[str]]) -> str:
    """Return one row per model."""
    head = f"| model | problems | {' | '.join(_NAMES)} |\n| --- | {' | '.join(['---:'] * 6)} |"
    cells = (
        f"| {name} | {count:,} | {' | '.join(f'{found[word]:,}' for word in _NAMES)} |"
        for name, found in rows.items()
    )
    return "\n".join([head, *cells])


def main() -> None:
    """Count, print, and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=500)
    arguments.add_argument("--others", type=int, default=100)
    arguments.add_argument("--report", type=Path)
    options = arguments.parse_args()
    found = Counter(name for seed in range(options.count) for name in judged(squared, seed))
    others = {
        model: Counter(name for seed in range(options.others) for name in judged(fit, seed))
        for model, fit in OTHERS.items()
    }
    text = f"""{_START}
## Scales, offsets and weights

`python benchmarks/scales.py --count {options.count} --others {options.others}`: linear fits to
features of scale 1e-150 to 1e150, offsets up to 1e8 times the spread, C from 1e-8 to 1e8.
**Converged**: no warning. **Refused**: an error that says to scale the features. **Compared**:
clarabel solved the problem on rows centered or turned, and scaled beforehand. **Dishonest**: the
objective is further above clarabel's than the gap says.

{table(options.count, {"InstanceSVC": found})}

Other models. The intercept of all but the first is penalized. The last three see the rows in bags
of one to three; what is compared is their last convex problem.

{table(options.others, others)}
{_END}"""
    print(text)
    if options.report is not None:
        page = options.report.read_text()
        before, there, rest = page.partition(_START)
        after = rest.partition(_END)[2]
        new = f"{before}{text}{after}" if there else f"{page}\n{text}\n"
        options.report.write_text(new)
    raise SystemExit(any(counts["dishonest"] for counts in (found, *others.values())))


if __name__ == "__main__":
    main()
