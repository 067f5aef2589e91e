"""How often 95 % intervals of an AUC hold the true one: 12, 30 and 100 bags, with groups and folds.

    python benchmarks/auc_intervals.py [--draws 2000]

Scores of bags are normal, shifted for positive bags so that the true AUC is 0.7 or 0.95; half of
the bags are positive. "new bags": `bagwise.metrics.bound_auc_of`, which `evaluation`, `RocDisplay`
and reports use. "groups of 3": three bags of one patient share half of their variance, and the
interval is told so. "5 folds": the scores of each fold have an error of their own, pairs of bags
count within folds, and `bagwise.model_selection.intervals.estimate` widens for overlapping training
sets. At a true AUC of 1 the interval has a length, which is shown. Writes
docs/results/auc_intervals.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import norm

from bagwise.metrics import auc_bounds, bound_auc_of
from bagwise.model_selection.intervals import Sample, estimate

PAGE = Path(__file__).parents[1] / "docs" / "results" / "auc_intervals.md"
SIZES, AREAS, N_FOLDS = (12, 30, 100), (0.7, 0.95), 5


def draw(n, area, rng, size=1):
    """Return truth, scores and groups of bags, ``size`` bags per group."""
    group = np.arange(n) // size
    truth = group % 2 == 1
    own, shared = rng.normal(size=n), rng.normal(size=group.max() + 1)[group]
    noise = own if size == 1 else (own + shared) / np.sqrt(2)
    return truth, truth * np.sqrt(2) * norm.ppf(area) + noise, group


def interval_of(how, n, area, rng):
    """Return one interval."""
    truth, scores, group = draw(n, area, rng, 3 if how == "groups of 3" else 1)
    if how != "5 folds":
        return bound_auc_of(truth, scores, group if how == "groups of 3" else None)
    fold = np.arange(n) // 2 % N_FOLDS
    found = estimate(
        "auc", Sample(truth, np.array([False, True]), N_FOLDS), [scores + fold], [fold]
    )
    return found.low, found.high


def rows(n_draws):
    rng = np.random.default_rng(0)
    for how in ("new bags", "groups of 3", "5 folds"):
        for n in SIZES:
            for area in AREAS:
                ends = np.array([interval_of(how, n, area, rng) for _ in range(n_draws)])
                held = np.mean((ends[:, 0] <= area) & (area <= ends[:, 1]))
                length = np.diff(ends, axis=1).mean()
                yield f"| {how} | {n} | {area} | {100 * held:.1f} | {length:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    options = parser.parse_args()
    about = [line.strip() for line in __doc__.split("\n\n")[2].splitlines()]
    perfect = ", ".join(f"{auc_bounds(1.0, n / 2, n / 2)[0]:.3f} ({n} bags)" for n in SIZES)
    lines = ["# Coverage of the intervals of an AUC\n", "`python benchmarks/auc_intervals.py`\n"]
    lines += [
        *about,
        "",
        f"{options.draws} draws per row. Where no pair of bags is wrong, the interval",
    ]
    lines += [f"goes from {perfect} to 1.\n", "| what | bags | true AUC | held, % | mean length |"]
    lines += ["|---|---|---|---|---|", *rows(options.draws)]
    PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
