"""Final objectives, annealed and not: two ways to minimize the same function.

    BAGWISE_DATA=... python benchmarks/annealed_objective.py [--out FILE]

Protocol: all bags of a data set, raw features, rbf kernel with gamma = 1 / (2 median^2), squared
hinge. "labels" compares `AnnealedLabelSVC` with `LabelSVC` (mi-SVM), "witnesses" compares
`AnnealedWitnessSVC` with `WitnessSVC` (MI-SVM), which correspond to T = 0. The final scores give a
hard assignment (labels: the signs, with at least one positive instance per bag; witnesses: the
highest score). The classifier is then solved again for that assignment, so that all objectives are
values of the same function. p-hat is the fraction of positive instances in the positive bags.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.progress import track

from bagwise import AnnealedLabelSVC, AnnealedWitnessSVC, LabelSVC, WitnessSVC
from bagwise.assumptions import AtLeastOne, ExactlyOne
from bagwise.datasets import fetch
from bagwise.solvers import solve
from options import options
from timing import one_thread

DATA = ("tiger", "fox", "elephant", "musk1")
GRID = (1.0, 10.0)
PAIRS = {
    "labels": (LabelSVC, AnnealedLabelSVC, AtLeastOne()),
    "witnesses": (WitnessSVC, AnnealedWitnessSVC, ExactlyOne()),
}


def hard_objective(model, assumption, bags, y):
    """Return objective, gap and p-hat of the hard assignment that the model's scores give."""
    _, codes, _, weight = model._check_training(bags, y, None)
    design = model._design(bags, np.ones(bags.n_instances))
    (task,) = model._tasks(design, bags, codes, weight)
    scores = model.instance_decision_function(bags)[task.positive_rows]
    p = assumption.map(scores, task.positive_offsets)
    solution = solve(task.problem(task.spread(p), assumption.rest_is_negative))
    return solution.objective, solution.gap, p.mean()


def row(name, bags, y, kind, C):
    plain, annealed, assumption = PAIRS[kind]
    before = hard_objective(plain(C=C).fit(bags, y), assumption, bags, y)
    after = hard_objective(annealed(C=C).fit(bags, y), assumption, bags, y)
    lower = 100 * (1 - after[0] / before[0])
    return (
        f"| {name} | {C:g} | {kind} | {before[0]:.1f} | {after[0]:.1f} | {lower:.1f} "
        f"| {100 * before[2]:.0f} | {100 * after[2]:.0f} | {max(before[1], after[1]):.0e} |"
    )


def main() -> None:
    args = options(__doc__, out=Path)
    lines = [
        "| data | C | unknowns | T = 0 | annealed | lower by % | p-hat % T = 0 "
        "| p-hat % annealed | largest gap |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    with one_thread():
        for name in track(DATA, "objectives"):
            bags, y = fetch(name)
            lines += [row(name, bags, y, kind, C) for kind in PAIRS for C in GRID]
    text = "\n".join(lines)
    print(text)
    if args.out:
        command = f"python benchmarks/annealed_objective.py --out {args.out}"
        body = __doc__.split("Protocol: ")[1]
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(f"# Annealed objectives\n\n`{command}`\n\nProtocol: {body}\n{text}\n")


if __name__ == "__main__":
    main()
