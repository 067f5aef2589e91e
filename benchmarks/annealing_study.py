"""What AL-SVM's error depends on, and which cooling schedule is best.

    BAGWISE_DATA=... python benchmarks/annealing_study.py [--jobs 16] [--only grid|schedule]
    python benchmarks/annealing_study.py --page docs/results/annealing_study.md

Protocol: stratified 10-fold (5 seeded rounds; musk2, whose fits cost fifty times as much, one
round), squared hinge, rbf kernel. "grid": AL-SVM by C, kernel width (factors on gamma = 1 /
(2 median^2) of the training instances) and scaling (raw, or standardized on the training
instances); the last temperature is where the labels are decided, or the floor. "schedule": AL-, AW-
and ALP-SVM at C = 5, raw features, median width, by first temperature, cooling factor, Newton steps
per alternation and number of alternations. Errors are those of the test folds at threshold 0, so
that the best cell of a table is optimistic, as the paper's numbers are. Objectives are of the
training bags, relative to the default schedule's on the same folds.

Every finished cell is a line of ``docs/results/annealing_study.jsonl``; run it again to resume.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from bagwise import AnnealedLabelSVC, AnnealedProportionSVC, AnnealedWitnessSVC, Annealing
from bagwise.datasets import fetch
from bagwise.kernels import settle_gamma
from timing import one_thread

STORE = Path("docs/results/annealing_study.jsonl")
ROUNDS = {"musk1": 5, "tiger": 5, "elephant": 5, "fox": 5, "musk2": 1}
PAPER = {"musk1": 20.6, "musk2": 13.8, "tiger": 28.0, "elephant": 29.0, "fox": 37.0}
C_GRID = (0.5, 5.0, 50.0, 500.0)
WIDTHS = (0.25, 1.0, 4.0)
ENDS = ("labels", "floor")  # where cooling stops: when labels are decided, or at the floor
MODELS = {"AL": AnnealedLabelSVC, "AW": AnnealedWitnessSVC, "ALP": AnnealedProportionSVC}
SCHEDULES = {
    "default": {},
    "one Newton step": {"newton_steps": 1},
    "T0 = 1": {"T0": 1.0},
    "T0 = 100": {"T0": 100.0},
    "cooling 1.2": {"cooling": 1.2},
    "cooling 3": {"cooling": 3.0},
    "one alternation": {"max_inner": 1},
    "one step, one alternation": {"newton_steps": 1, "max_inner": 1},
    "one step, one alternation, cooling 1.2": {"newton_steps": 1, "max_inner": 1, "cooling": 1.2},
    "tol 1e-4": {"tol": 1e-4},
}


class ColderLabelSVC(AnnealedLabelSVC):
    """AL-SVM that is cooled to the floor, whether or not its labels are decided before."""

    _entropy_ends_it = False


def cells(only: str) -> list[dict]:
    grid = [
        {"kind": "grid", "data": data, "scale": scale, "width": width, "C": C, "end": end}
        for data, scale, width, C, end in product(
            ROUNDS, ("raw", "standardized"), WIDTHS, C_GRID, ENDS
        )
        if end == "labels" or (width == 1.0 and data != "musk2")
    ]
    schedule = [
        {"kind": "schedule", "data": data, "model": model, "schedule": name}
        for data, model, name in product(ROUNDS, MODELS, SCHEDULES)
    ]
    wanted = [cell | {"round": r} for cell in grid + schedule for r in range(ROUNDS[cell["data"]])]
    return [cell for cell in wanted if only in ("", cell["kind"])]


def model_of(cell: dict, bags) -> AnnealedLabelSVC:
    if cell["kind"] == "schedule":
        schedule = Annealing(**SCHEDULES[cell["schedule"]])
        return MODELS[cell["model"]](C=5.0, gamma="median", annealing=schedule)
    kind = ColderLabelSVC if cell["end"] == "floor" else AnnealedLabelSVC
    ones, rng = np.ones(bags.n_instances), np.random.RandomState(0)
    return kind(C=cell["C"], gamma=cell["width"] * settle_gamma("median", bags.X, ones, rng))


def measure(cell: dict) -> dict:
    bags, y = fetch(cell["data"])
    folds = StratifiedKFold(10, shuffle=True, random_state=cell["round"]).split(y, y)
    scores, objectives, begin = np.empty(len(y)), [], time.process_time()
    with one_thread():
        for train, test in folds:
            fitted, asked = bags[train], bags[test]
            if cell.get("scale") == "standardized":
                scaler = StandardScaler().fit(fitted.X)
                fitted = fitted.replace(X=scaler.transform(fitted.X))
                asked = asked.replace(X=scaler.transform(asked.X))
            model = model_of(cell, fitted).fit(fitted, y[train])
            scores[test] = model.decision_function(asked)
            objectives.append(model.objective_.item())
    return cell | {
        "error": 100 * float(np.mean((scores > 0) != y)),
        "auc": 100 * roc_auc_score(y, scores),
        "objectives": [round(value, 6) for value in objectives],
        "seconds": round(time.process_time() - begin, 2),
    }


def key(cell: dict) -> str:
    names = ("kind", "data", "scale", "width", "C", "end", "model", "schedule", "round")
    return json.dumps([cell.get(name) for name in names])


def stored() -> dict[str, dict]:
    lines = STORE.read_text().splitlines() if STORE.exists() else []
    return {key(cell): cell for cell in map(json.loads, lines)}


def run(jobs: int, only: str) -> None:
    done = stored()
    left = [cell for cell in cells(only) if key(cell) not in done]
    left.sort(key=lambda cell: cell["data"] == "musk2")  # what takes long comes last
    with STORE.open("a") as store:
        results = Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(measure)(cell) for cell in left
        )
        for i, result in enumerate(results, 1):
            store.write(json.dumps(result) + "\n")
            store.flush()
            print(f"{i} of {len(left)}: {key(result)} {result['error']:.1f} %", flush=True)


FOUND = """
What the tables below say, of the committed results:

- The paper's errors of AL-SVM on musk1 and musk2 are reached (21.3 against 20.6, 14.7 and 13.8),
  but at C = 50 and 500 and on standardized features: the grid that the paper names, with
  |w|^2 counted as in its text, ends too early there. At its own grid with three widths, musk1 has
  23.7 and musk2 23.5. On tiger and elephant every grid has lower errors than the paper's, on fox
  every grid higher ones, by 3 points. AUC hardly depends on C, the error does: at small C few
  instances are positive and the threshold 0 is far off.
- Cooling to the floor instead of stopping when labels are decided changes nothing.
- A finer tolerance (tol = 1e-4 instead of 1e-2) ends at lower objectives everywhere, by 7 % for AL
  and 4 % for ALP, at 1.7 times the cost. Errors move by less than their noise, in both directions
  (fox 40.1 to 36.8, musk2 28.4 to 30.4). One Newton step per alternation ends at the same
  objectives as solving every problem; one alternation per temperature at objectives 13 to 15 %
  higher. The defaults stay; ask for ``tol=1e-4`` where the objective matters.
"""


def mean(found: list[dict], name: str) -> float:
    return float(np.mean([cell[name] for cell in found]))


def grid_table(known: list[dict]) -> list[str]:
    lines = [
        "| data | scaling | gamma x | end | " + " | ".join(f"C = {C:g}" for C in C_GRID),
        "|---|---|---:|---|" + "---:|" * len(C_GRID),
    ]
    lines[0] += " |"
    for data, scale, width, end in product(ROUNDS, ("raw", "standardized"), WIDTHS, ENDS):
        row = []
        for C in C_GRID:
            wanted = {"data": data, "scale": scale, "width": width, "end": end, "C": C}
            found = [c for c in known if all(c.get(n) == v for n, v in wanted.items())]
            row.append(f"{mean(found, 'error'):.1f} ({mean(found, 'auc'):.1f})" if found else "")
        if any(row):
            lines.append(f"| {data} | {scale} | {width:g} | {end} | {' | '.join(row)} |")
    return lines


def best_table(known: list[dict]) -> list[str]:
    lines = [
        "| data | paper | best of its grid (raw, C .5 or 5) | best of this grid | where |",
        "|---|---:|---:|---:|---|",
    ]
    for data, paper in PAPER.items():
        points: dict[tuple, list[dict]] = {}
        for cell in known:
            if cell["data"] == data:
                where = (cell["scale"], cell["width"], cell["C"], cell["end"])
                points.setdefault(where, []).append(cell)
        if not points:
            continue
        errors = {where: mean(found, "error") for where, found in points.items()}
        best = min(errors, key=lambda where: errors[where])
        own = [
            e for (s, _, C, end), e in errors.items() if s == "raw" and C <= 5 and end != "floor"
        ]
        where = f"{best[0]}, gamma x {best[1]:g}, C = {best[2]:g}, end: {best[3]}"
        lines.append(f"| {data} | {paper} | {min(own):.1f} | {errors[best]:.1f} | {where} |")
    return lines


def schedule_table(known: list[dict]) -> list[str]:
    lines = [
        "| model | schedule | " + " | ".join(ROUNDS) + " | mean ratio of objectives | CPU s |",
        "|---|---|" + "---:|" * (len(ROUNDS) + 2),
    ]
    by = {(c["model"], c["schedule"], c["data"], c["round"]): c for c in known}
    for model, name in product(MODELS, SCHEDULES):
        row, ratios, seconds = [], [], 0.0
        for data, rounds in ROUNDS.items():
            pairs = [
                (by[model, name, data, r], by[model, "default", data, r])
                for r in range(rounds)
                if (model, name, data, r) in by and (model, "default", data, r) in by
            ]
            if not pairs:
                row.append("")
                continue
            here = [np.divide(a["objectives"], b["objectives"]).mean() for a, b in pairs]
            ratios.append(np.mean(here))
            seconds += sum(a["seconds"] for a, _ in pairs)
            row.append(f"{mean([a for a, _ in pairs], 'error'):.1f} ({ratios[-1]:.3f})")
        if ratios:
            cost = f"{np.mean(ratios):.3f} | {seconds:.0f}"
            lines.append(f"| {model} | {name} | {' | '.join(row)} | {cost} |")
    return lines


def page(path: Path) -> None:
    known = list(stored().values())
    grid = [cell for cell in known if cell["kind"] == "grid"]
    schedules = [cell for cell in known if cell["kind"] == "schedule"]
    body = ["Protocol: " + __doc__.split("Protocol: ")[1].strip(), FOUND.strip()]
    body += ["## AL-SVM and the paper's Table 2", *best_table(grid)]
    body += ["## Error % (AUC) by C, width, scaling and end", *grid_table(grid)]
    body += ["## Schedules: error % (objective / default)", *schedule_table(schedules)]
    head = "# What AL-SVM's error depends on\n\n`python benchmarks/annealing_study.py`\n\n"
    text = "\n".join(line if line.startswith("|") else f"\n{line}\n" for line in body)
    path.write_text(head + text.strip() + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", choices=["", "grid", "schedule"])
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    if args.page:
        page(args.page)
    else:
        run(args.jobs, args.only)


if __name__ == "__main__":
    main()
