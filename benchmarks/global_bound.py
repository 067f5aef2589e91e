"""How far alternation and annealing are from the global minimum of MI-SVM and mi-SVM.

    BAGWISE_DATA=... python benchmarks/global_bound.py [--time-limit 20] [--n-jobs 16]

Standardized features, rbf kernel of the median width, squared hinge. "10 + 10" are 10 positive and
10 negative bags drawn with seed 0, "all" is the whole set. Lower and upper enclose the global
minimum; the upper one is the best value that branch and bound has found from the model, from
annealing, or itself. Excess is how far a method is above the upper one (known), gap how far it may
be above the lower one (proven), both in percent of the upper one. "Closed": the upper one is proven
to be the minimum, to 1e-6.
"""

from __future__ import annotations

import json
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.preprocessing import StandardScaler

from bagwise import AnnealedLabelSVC, AnnealedWitnessSVC, LabelSVC, WitnessSVC
from bagwise.datasets import fetch
from options import options

SETS = ("musk1", "elephant", "tiger", "fox")
SIZES = (6, 10, 20, None)
CS = (0.01, 0.1, 1.0)
METHODS = {"MI-SVM": (WitnessSVC, AnnealedWitnessSVC), "mi-SVM": (LabelSVC, AnnealedLabelSVC)}
COLUMNS = (
    "| set | bags | instances | method | C | alternation: excess, gap, % "
    "| annealing: excess, gap, % | lower | upper | nodes | closed |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)


def draw(name, n_bags):
    """Return standardized bags of a set, or as many of either class."""
    bags, y = fetch(name)[:2]
    y = (y == y.max()).astype(int)
    bags = bags.replace(X=StandardScaler().fit_transform(bags.X))
    if n_bags is None:
        return bags, y
    rng = np.random.RandomState(0)
    drawn = [rng.permutation(np.flatnonzero(y == code))[:n_bags] for code in (0, 1)]
    kept = np.sort(np.concatenate(drawn))
    return bags[kept], y[kept]


def objective_of(model, rule, bags, y):
    """Return the objective of the alternating method at the classifier of another one."""
    coef = np.zeros(bags.n_instances)
    coef[model.support_] = model.dual_coef_[0]
    f = model.kernel_(bags.X, bags.X) @ coef
    positive = np.repeat(y == 1, bags.sizes)
    p = np.zeros(bags.n_instances)
    offsets = np.concatenate([[0], np.cumsum(bags.sizes[y == 1])])
    z = f + model.intercept_[0]
    p[positive] = rule.map(z[positive], offsets)
    loss = np.maximum(0, 1 - z) ** 2 * p
    negative = (1 - p) if rule.rest_is_negative else 1.0 * ~positive
    return 0.5 * float(coef @ f) + model.C * float(
        np.sum(loss + np.maximum(0, 1 + z) ** 2 * negative)
    )


def cell(name, n_bags, method, C, time_limit):
    """Return one record."""
    warnings.simplefilter("ignore")
    bags, y = draw(name, n_bags)
    alternating, annealing = METHODS[method]
    model = alternating(C=C).fit(bags, y)
    annealed = objective_of(annealing(C=C).fit(bags, y), model._assumption(), bags, y)
    bound = model.global_bound(bags, y, time_limit=time_limit)
    return {
        "set": name,
        "n": n_bags,
        "instances": int(bags.n_instances),
        "method": method,
        "C": C,
        "alternation": bound.objective,
        "annealing": annealed,
        "lower": bound.lower,
        "upper": min(bound.upper, annealed),
        "nodes": bound.n_nodes,
        "closed": bound.closed,
        "seconds": round(bound.seconds, 1),
    }


def line(found):
    upper = found["upper"]
    parts = [
        f"{100 * (found[m] - upper) / upper:.2f}, {100 * (found[m] - found['lower']) / upper:.2f}"
        for m in ("alternation", "annealing")
    ]
    bags = "all" if found["n"] is None else f"{found['n']} + {found['n']}"
    start = f"| {found['set']} | {bags} | {found['instances']} | {found['method']} | {found['C']:g}"
    closed = "yes" if found["closed"] else "no"
    numbers = f"{found['lower']:.5g} | {upper:.5g} | {found['nodes']} | {closed} |"
    return " | ".join([start, *parts, numbers])


def main():
    given = options(
        __doc__, out=Path("docs/results/global_bound.md"), time_limit=20.0, n_jobs=1, sets=SETS
    )
    store = given.out.with_suffix(".jsonl")
    done = [json.loads(text) for text in store.read_text().splitlines()] if store.exists() else []
    keys = {(found["set"], found["n"], found["method"], found["C"]) for found in done}
    cells = [c for c in product(given.sets, SIZES, METHODS, CS) if c not in keys]
    jobs = Parallel(given.n_jobs, return_as="generator_unordered")
    for found in jobs(delayed(cell)(*one, given.time_limit) for one in cells):
        done.append(found)
        store.write_text("".join(json.dumps(one) + "\n" for one in done))
        print(line(found), flush=True)
    sizes = {n: place for place, n in enumerate(SIZES)}
    done.sort(key=lambda f: (SETS.index(f["set"]), sizes[f["n"]], f["method"], f["C"]))
    closed = sum(found["closed"] for found in done)
    head = f"# Global bounds\n\n```\n{__doc__}```\n\n{closed} of {len(done)} gaps are closed "
    head += f"(at most {given.time_limit:g} s each on one core).\n\n{COLUMNS}\n"
    given.out.write_text(head + "\n".join(map(line, done)) + "\n")


if __name__ == "__main__":
    main()
