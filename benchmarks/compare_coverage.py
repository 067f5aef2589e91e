"""Are the intervals of `compare` right? Coverage, false alarms and lost winners by simulation.

    python benchmarks/compare_coverage.py --out FOLDER [--replicates 400] [--others]
        [--page docs/results/coverage.md]

Every replicate draws bags anew, cross-validates four models on the folds that
`bagwise.model_selection.compare` uses, lets `bagwise.model_selection.Comparison` judge the
out-of-fold scores, and fits each model once more to fresh bags, as many as an outer fold trains on,
to judge it on 2,000 others: the mean of these judgments over all replicates is the true value. The
models are nearest centroids of bag means, so that thousands of comparisons are affordable, each
with features of its own: "a" and "b" have equally telling ones and are truly equal, "weak" has half
the shift, "noise" has none. Coverage is the fraction of replicates whose 95 % interval holds the
true value; "false alarm" is how often the paired test at 5 % tells a from b; "winner kept" is how
often the group of the best holds a truly best model. ``--others`` judges the metrics that a
comparison shows only if it is ranked by them. The same command resumes; replicates already
in the folder are not run again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from bagwise import Bags, MeanSVC
from bagwise.io._records import ResultsFile, read_records
from bagwise.metrics import MEASURES, bag_measures
from bagwise.model_selection import METRICS, Comparison
from bagwise.model_selection.intervals import Sample, difference, estimate
from bagwise.model_selection.nested import OuterFolds, Protocol

N_TEST = 2000
MODELS = ("a", "b", "weak", "noise")
# bags, folds, repeats, features per model, shift, classes, smallest class, bags per group
CASES = {
    "58 bags": (58, 5, 2, 5, 0.8, 2, 0.5, 1),
    "58 bags, one repeat": (58, 5, 1, 5, 0.8, 2, 0.5, 1),
    "58 bags, 10 folds": (58, 10, 1, 5, 0.8, 2, 0.5, 1),
    "58 bags, easy": (58, 5, 2, 5, 1.6, 2, 0.5, 1),
    "58 bags, 100 features": (58, 5, 2, 100, 1.2, 2, 0.5, 1),
    "60 bags, 20 % positive": (60, 5, 2, 5, 0.8, 2, 0.2, 1),
    "60 bags, three classes": (60, 5, 2, 5, 0.8, 3, 1 / 3, 1),
    "116 bags of 58 patients": (116, 5, 2, 5, 0.8, 2, 0.5, 2),
    "300 bags": (300, 5, 2, 5, 0.8, 2, 0.5, 1),
}


OTHERS = tuple(metric for metric in MEASURES if metric not in METRICS)


def metrics_of(case, others):
    """Return the usual metrics, or the others that the number of classes allows."""
    if not others:
        return METRICS
    return OTHERS if CASES[case][5] == 2 else ("f1",)


def scores_of(X, y, new):
    """Score bags by the nearest centroid: minus squared distances, or their difference."""
    centers = np.array([X[y == label].mean(axis=0) for label in np.unique(y)])
    near = -np.sum((new[:, None] - centers) ** 2, axis=2)
    return near[:, 1] - near[:, 0] if near.shape[1] == 2 else near


def draw(n_bags, width, shift, n_classes, smallest, per_group, rng):
    """Draw bag means, labels and groups; class k > 0 is shifted along one feature per model."""
    n_groups = n_bags // per_group
    rest = (1 - smallest) / (n_classes - 1)
    counts = np.floor(n_groups * np.cumsum([rest] * (n_classes - 1)) + 0.5).astype(int)
    y = np.repeat(np.searchsorted(counts, np.arange(n_groups), side="right"), per_group)
    own = rng.normal(size=(n_groups, 4 * width)) * (per_group > 1)  # what bags of a group share
    X = rng.normal(size=(n_bags, 4 * width)) + np.repeat(own, per_group, axis=0)
    for model, factor in enumerate((1.0, 1.0, 0.5, 0.0)):
        for label in range(1, n_classes):
            X[y == label, model * width + (label - 1) % width] += 2 * factor * shift
    return X, y, np.repeat(np.arange(n_groups), per_group) if per_group > 1 else None


def replicate(case: str, seed: int, others: bool) -> dict:
    """Return estimates, intervals, true values and tests of one replicate."""
    n_bags, cv, repeats, width, *how = CASES[case]
    rng = np.random.default_rng([seed, list(CASES).index(case)])
    columns = {m: slice(i * width, (i + 1) * width) for i, m in enumerate(MODELS)}
    X, y, groups = draw(n_bags, width, *how, rng)
    bags = Bags(X, np.arange(n_bags + 1), groups=groups)
    rules = Protocol(cv, 3, "auc", None, seed)
    outer = OuterFolds(bags, y, rules)
    folds = [outer.fold_of_bag(repeat) for repeat in range(repeats)]
    records = [
        {"model": name, "repeat": repeat, "fold": fold, "scores": scores_of(
            X[of != fold, part], y[of != fold], X[of == fold, part])}
        for name, part in columns.items()
        for repeat, of in enumerate(folds)
        for fold in range(cv)
    ]  # fmt: skip
    sample = Sample(y, np.unique(y), cv, groups)
    found = Comparison(dict.fromkeys(MODELS, MeanSVC()), records, sample, folds, rules)
    train, new = draw(n_bags, width, *how, rng), draw(N_TEST, width, *how, rng)
    kept = outer.fold_of_bag(0) != 0  # the labels are in the same order
    record = {"case": case, "seed": seed, "models": {}}
    record["group"] = [] if others else list(found.groups[0])
    judged = {
        name: [found._out_of_fold(found._records_of(name), r) for r in range(repeats)]
        for name in MODELS
    }
    estimates = {
        (name, m): estimate(m, sample, scores, folds)
        for name, scores in judged.items()
        for m in metrics_of(case, others)
    }
    record["p"] = {
        m: difference(sample, estimates["a", m], estimates["b", m]).p_value
        for m in metrics_of(case, others)
    }
    for name, part in columns.items():
        scores = scores_of(train[0][kept, part], train[1][kept], new[0][:, part])
        limits = {m: estimates[name, m] for m in metrics_of(case, others)}
        record["models"][name] = {
            "true": bag_measures(new[1], scores, np.unique(y), metrics_of(case, others)),
            "found": {metric: [each.value, each.low, each.high] for metric, each in limits.items()},
        }
    return record


def summary(case: str, records: list[dict], others: bool) -> list[str]:
    """Return the lines of the page about one case."""
    lines = []
    truth = {
        (name, metric): np.mean([r["models"][name]["true"][metric] for r in records])
        for name in MODELS
        for metric in metrics_of(case, others)
    }
    for metric in metrics_of(case, others):
        cells, inside = [], []
        for name in MODELS:
            limits = np.array([r["models"][name]["found"][metric] for r in records])
            true = truth[name, metric]
            inside.append(np.mean((limits[:, 1] <= true) & (true <= limits[:, 2])))
            cells.append(f"{100 * true:.1f}: {100 * inside[-1]:.1f}")
        width = np.mean([np.diff(r["models"]["a"]["found"][metric][1:])[0] for r in records])
        alarms = np.mean([r["p"][metric] < 0.05 for r in records])
        won = np.mean([bool({"a", "b"} & set(r["group"])) for r in records])
        last = (
            f"{100 * alarms:.1f} | {100 * won:.1f}" if metric == "auc" else f"{100 * alarms:.1f} |"
        )
        lines.append(
            f"| {case} | {metric.replace('_', ' ')} | {' | '.join(cells)} "
            f"| {100 * np.mean(inside):.1f} | {100 * width:.0f} | {last} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--others", action="store_true", help="F1, average precision, ...")
    args = parser.parse_args()
    path = args.out / ("coverage_others.jsonl" if args.others else "coverage.jsonl")
    done = {(r["case"], r["seed"]) for r in read_records(path)}
    with ResultsFile(path) as file:
        for seed in range(args.replicates):
            for case in CASES:
                if (case, seed) not in done:
                    file.append(replicate(case, seed, args.others))
    records = [r for r in read_records(path) if r["seed"] < args.replicates]
    columns = ["case", "metric", *MODELS, "mean coverage", "width of a", "false alarm"]
    lines = [f"| {' | '.join([*columns, 'winner kept'])} |", "|" + "---|" * 10]
    for case in CASES:
        lines += summary(case, [r for r in records if r["case"] == case], args.others)
    print("\n".join(lines))
    if args.page:
        note = (
            f"{args.replicates} replicates: the standard error of a coverage near 95 % is "
            f"{100 * np.sqrt(0.95 * 0.05 / args.replicates):.1f} points. Cells of models are "
            '"true value: coverage", all in %.'
        )
        text = ["# Coverage of the intervals", "", __doc__.strip(), "", note, "", *lines, ""]
        args.page.write_text("\n".join(text))


if __name__ == "__main__":
    main()
