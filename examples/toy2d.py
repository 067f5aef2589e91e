"""Labels or witnesses, annealed or not: Figure 1 of Gehler & Chapelle (2007), a toy in the plane.

    python examples/toy2d.py --runs 5

Bags of 1 to 10 points in the plane; a fraction f of the points of a positive bag comes from the
positive region. For f = .1, ..., 1 each method is trained on 30 bags and tested on 100 others, on
the labels of the bags and of the points. rbf kernel with sigma = 1 (gamma = 1/2), C = 50 (the
paper's 100, because it regularizes by |w|^2 and we by half of it). ALP-SVM, which the paper
introduces after this experiment, gets the true fraction.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from matplotlib.figure import Figure

from bagwise import AnnealedLabelSVC, AnnealedProportionSVC, AnnealedWitnessSVC, Annealing
from bagwise.datasets import make_toy2d

FRACTIONS = np.arange(1, 11) / 10
SHARED = {"C": 50.0, "gamma": 0.5}
COLD = 1e-8
METHODS = {
    "AL-SVM, T = 10C": lambda f: AnnealedLabelSVC(**SHARED),
    "AL-SVM, T = 0": lambda f: AnnealedLabelSVC(
        **SHARED, init="instances", annealing=Annealing(T0=COLD)
    ),
    "AW-SVM, T = 10C": lambda f: AnnealedWitnessSVC(**SHARED),
    "AW-SVM, T = 0": lambda f: AnnealedWitnessSVC(**SHARED, annealing=Annealing(T0=COLD)),
    "ALP-SVM, p* = f": lambda f: AnnealedProportionSVC(
        positive_fraction=f, C_proportion=5.0, **SHARED
    ),
}
STYLES = {
    "AL-SVM, T = 10C": {"color": "#d1480f", "marker": "o"},
    "AL-SVM, T = 0": {"color": "#d1480f", "marker": "o", "linestyle": "--", "fillstyle": "none"},
    "AW-SVM, T = 10C": {"color": "#3b7dad", "marker": "s"},
    "AW-SVM, T = 0": {"color": "#3b7dad", "marker": "s", "linestyle": "--", "fillstyle": "none"},
    "ALP-SVM, p* = f": {"color": "#4d9221", "marker": "^"},
}
MEASURES = ("bag error", "pattern error", "objective")


def one_run(seed: int, region: str) -> np.ndarray:
    """Return the measures of every fraction and method on one draw of the data."""
    values = np.empty((len(FRACTIONS), len(METHODS), len(MEASURES)))
    for i, f in enumerate(FRACTIONS):
        train, y = make_toy2d(30, f, region=region, random_state=seed)
        test, y_test = make_toy2d(100, f, region=region, random_state=10_000 + seed)
        for j, method in enumerate(METHODS.values()):
            model = method(f).fit(train, y)
            bag_error = np.mean(model.predict(test) != y_test)
            pattern_error = np.mean(model.predict_instances(test) != test.instance_labels)
            values[i, j] = bag_error, pattern_error, model.objective_[0]
    return values


def draw(values: np.ndarray, region: str) -> Figure:
    """Draw the regions and both errors: means over the runs with their standard errors."""
    figure = Figure(figsize=(11, 3.9), layout="constrained")
    where, *axes = figure.subplots(1, 3, width_ratios=(3, 4, 4))
    bags, _ = make_toy2d(1500, 1.0, region=region)
    inside = bags.instance_labels == 1
    where.scatter(*bags.X[~inside].T, s=3, color="#333333", label="negative")
    where.scatter(*bags.X[inside].T, s=3, color="#9fd3f5", label="positive")
    where.set(aspect="equal", xlim=(-3, 3), ylim=(-3, 3), title="the two classes of points")
    mean, spread = values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))
    for k, axis in enumerate(axes):
        for j, name in enumerate(METHODS):
            axis.errorbar(FRACTIONS, mean[:, j, k], spread[:, j, k], label=name, **STYLES[name])
        axis.set(xlabel="fraction f of positives in positive bags", ylim=(0, None))
        axis.set_title(f"{MEASURES[k]}, {len(values)} runs")
        axis.grid(color="#dddddd", linewidth=0.6)
    axes[1].legend(frameon=False, fontsize="small")
    return figure


def table(values: np.ndarray) -> str:
    """Return the mean errors as a table, bag error / pattern error in percent."""
    lines = [f"| f | {' | '.join(METHODS)} | annealed AL lower |", "|---" * 7 + "|"]
    labels = list(METHODS)
    hot, cold = labels.index("AL-SVM, T = 10C"), labels.index("AL-SVM, T = 0")
    for i, f in enumerate(FRACTIONS):
        errors = 100 * values[:, i].mean(axis=0)
        cells = [f"{bag:.1f} / {pattern:.1f}" for bag, pattern, _ in errors]
        lower = 100 * np.mean(values[:, i, hot, 2] < values[:, i, cold, 2])
        lines.append(f"| {f:.1f} | {' | '.join(cells)} | {lower:.0f} % |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--region", default="disc", choices=("disc", "band", "quadrants"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("toy2d.png"))
    args = parser.parse_args()
    runs = Parallel(n_jobs=args.jobs)(
        delayed(one_run)(seed, args.region) for seed in range(args.runs)
    )
    values = np.stack(runs)
    print(table(values))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    draw(values, args.region).savefig(args.out, dpi=110)
    print(f"figure: {args.out}")


if __name__ == "__main__":
    main()
