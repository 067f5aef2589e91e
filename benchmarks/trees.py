"""Networks whose instances are a tree, on planted pictures in which witnesses are neighbors.

    BAGWISE_DATA=... python benchmarks/trees.py > docs/results/trees.md

Made-up data: a picture is a bag of 30 regions at random places in a square, with 10 noisy features
(unit normal). Their tree is the minimum spanning tree over places. An object shifts the first
feature of its regions by 1.5.

- objects: a positive picture has one object, 6 regions that are connected in the tree, and a
  negative one has none;
- dots: negative pictures have 6 such regions too, but no two of them are neighbors: only the tree
  tells the classes apart;
- shuffled: "objects" with the places of every picture in random order, where the tree is wrong.

100 pictures for training and 200 for the test, three draws; MIMN and GMIMN (K = 5) with an
intercept; alpha (1, 10) and, with a tree, its cost (.3, 1, 3) chosen by 3-fold accuracy on the
training bags. Accuracy of bags, and F1 and AUC of the regions of an object within positive test
pictures (``predict_instances`` and ``predict_instances_proba``), in percent with standard errors
over draws.

Bags of real instances: elephant, fox and tiger (regions of images, whose places are not known) and
musk1, with the minimum spanning tree over standardized features; MIMN with an intercept and the
start "instances". Nested accuracy of 5 folds (three seeds): alpha (1, 10, 100) and the cost (.3, 1)
are chosen by 3-fold accuracy within the training bags. Digits are bags of 5 to 15 images of which
some are nines, 100 for training and 200 of other images for the test, three draws; the F1 is that
of nines in positive test bags. Spanning trees over random places are the control: what they gain is
no evidence for neighbors.

Speed: CPU time for 10,000 instances, as a ratio within one process to that of chains, which have
their own code: the quickest of fifteen calls.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from time import process_time_ns

import numpy as np
from bagwise.assumptions.tree import count_inference, count_posterior
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from bagwise import Bags, PerInstance, SpanningTrees
from bagwise.assumptions import AtLeastPotential
from bagwise.crossfit import folds
from bagwise.datasets import fetch, load_digits_bags
from chains import ALPHAS, DRAWS, EVENT, FEATURES, SEGMENTS, SHIFT, begin, chosen, planted
from draws import cells

KINDS = ("objects", "dots", "shuffled")
IMAGES = ("elephant", "fox", "tiger", "musk1")
COSTS = {"no": (0.0,), "features": (0.3, 1.0), "random": (0.3, 1.0)}
NETWORK = {"init": ["instances"]}  # of real instances: one start takes half the time


def grown(neighbors: np.ndarray, rng: np.random.Generator, *, apart: bool) -> np.ndarray:
    """Return regions of an object, drawn one by one beside it; or apart from all others."""
    taken = np.zeros(len(neighbors), dtype=bool)
    taken[rng.integers(len(taken))] = True
    while taken.sum() < EVENT:
        beside = neighbors[taken].any(axis=0)
        free = np.flatnonzero(~taken & ~beside if apart else ~taken & beside)
        if not len(free):  # no room is left: begin anew
            return grown(neighbors, rng, apart=apart)
        taken[rng.choice(free)] = True
    return taken


def pictures(kind: str, n: int, rng: np.random.Generator) -> tuple[Bags, np.ndarray]:
    """Draw pictures; instance labels mark the regions of objects, also of dots."""
    X, y = rng.normal(size=(n, SEGMENTS, FEATURES)), np.arange(n) % 2
    offsets = np.arange(0, n * SEGMENTS + 1, SEGMENTS)
    bags = Bags(X.reshape(-1, FEATURES), offsets, coords=rng.uniform(size=(n * SEGMENTS, 2)))
    bags = SpanningTrees(by="coords").fit_transform(bags)
    marked = np.zeros((n, SEGMENTS), dtype=bool)
    for i, parents in enumerate(bags.parents.reshape(n, SEGMENTS)):
        below = np.flatnonzero(parents >= 0)
        neighbors = np.zeros((SEGMENTS, SEGMENTS), dtype=bool)
        neighbors[below, parents[below]] = neighbors[parents[below], below] = True
        if y[i] or kind == "dots":
            marked[i] = grown(neighbors, rng, apart=not y[i])
        if kind == "shuffled":
            marked[i] = rng.permutation(marked[i])
    X[marked, 0] += SHIFT
    return bags.replace(X=X.reshape(-1, FEATURES), instance_labels=marked.ravel().astype(int)), y


def with_trees(bags: Bags, of: str, seed: int) -> Bags:
    """Return bags with trees over their features, or over places at random."""
    places = np.random.default_rng(seed).uniform(size=(bags.n_instances, 2))
    by = "coords" if of == "random" else "features"
    return SpanningTrees(by=by).fit_transform(bags.replace(coords=places))


def nested(name: str, tree: str, seed: int) -> list[float]:
    """Return the accuracy of 5 folds, alpha and cost chosen within each."""
    bags, y = fetch(name)[:2]
    right = 0
    for train, test in folds(bags, y, 5, seed):
        scaler = PerInstance(StandardScaler()).fit(bags[train])
        seen = with_trees(scaler.transform(bags), tree, seed)
        values = {"alpha": (*ALPHAS, 100.0), "tree": COSTS[tree]}
        model = chosen(seen[train], y[train], values, **NETWORK)
        right += np.sum(model.predict(seen[test]) == y[test])
    return [100 * right / len(y)]


def digits(tree: str, seed: int) -> list[float]:
    """Return accuracy, and the F1 of nines in positive test bags."""
    draw = {"digit": 9, "random_state": seed, "witness_rate": 0.3}
    bags, y = load_digits_bags(n_bags=100, subset="train", **draw)
    fresh, truth = load_digits_bags(n_bags=200, subset="test", **draw)
    bags, fresh = (with_trees(part, tree, seed) for part in (bags, fresh))
    model = chosen(bags, y, {"alpha": ALPHAS, "tree": COSTS[tree]}, **NETWORK)
    positive = np.repeat(truth == 1, fresh.sizes)
    found = model.predict_instances(fresh)[positive]
    return [100 * model.score(fresh, truth), 100 * f1_score(fresh.instance_labels[positive], found)]


def main() -> None:
    begin("trees", __doc__)
    print("| pictures | network | tree | accuracy | F1 of regions | AUC of regions |")
    planted(pictures, KINDS, "tree")
    real()
    speed()


def cpu_ms(call) -> float:
    """Return the CPU time of the quickest of fifteen calls, after one that compiles."""
    call()
    times = []
    for _ in range(15):
        start = process_time_ns()
        call()
        times.append((process_time_ns() - start) / 1e6)
    return min(times)


def speed() -> None:
    """Print the time of inference on chains, and on trees relative to it."""
    print("\n| instances per bag | rule | result | chain, ms | path | star | spanning tree |")
    print("|---|---|---|---|---|---|---|")
    rng, n, weights = np.random.default_rng(0), 10_000, np.zeros((1, 2))
    scores, places = rng.normal(size=(1, n)), rng.uniform(size=(n, 2))
    for size, fraction in product((10, 100, 1000), (0.0, 0.5)):
        offsets, place = np.arange(0, n + 1, size), np.arange(n) % size
        bags = SpanningTrees(by="coords").fit_transform(Bags(places, offsets, coords=places))
        trees = (None, place - 1, np.where(place, 0, -1), bags.parents)
        rule = AtLeastPotential(fraction), offsets, 0.5
        best = [count_inference(*rule, up).best for up in trees]
        sums = [count_posterior(*rule, up).of for up in trees]
        for result, calls in {"best labels": best, "posteriors": sums}.items():
            chain, *others = (cpu_ms(partial(call, scores, weights)) for call in calls)
            shown = " | ".join(f"{other / chain:.1f} x" for other in others)
            name = "RMIMN (.5)" if fraction else "MIMN"
            print(f"| {size} | {name} | {result} | {chain:.2f} | {shown} |", flush=True)


def real() -> None:
    """Print a row per data set and kind of tree."""
    print("\n| data | tree | accuracy | F1 of instances |\n|---|---|---|---|")
    for tree in COSTS:
        print(f"| digits | {tree} | {cells([digits(tree, s) for s in range(DRAWS)])} |", flush=True)
    for name, tree in product(IMAGES, COSTS):
        shown = cells([nested(name, tree, seed) for seed in range(DRAWS)])
        print(f"| {name} | {tree} | {shown} | |", flush=True)


if __name__ == "__main__":
    main()
