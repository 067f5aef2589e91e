"""Patients of several slides, and audits of sites: the tables of docs/results/studies.md.

    python benchmarks/studies.py patients [--seeds 20]
    python benchmarks/studies.py sites [--seeds 20]
    python benchmarks/studies.py cost

*Patients*: a positive patient has 2 informative slides of 5 (or all of them), with a few witness
patches each. *Sites*: labels and features depend on the site, in three strengths; the audits of
studies where only one of both depends on it, or none, must stay quiet.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.metrics import roc_auc_score

from bagwise import Bags, PartClassifier, StatisticsLogistic, WitnessSVC, audit
from bagwise.bags.segments import segment_max, segment_mean

SLIDES, PATCHES, FEATURES = 5, 20, 8


def draw_patients(n: int, informative: int, rng: np.random.Generator) -> tuple[Bags, np.ndarray]:
    """Return slides with the labels of their patients; ``informative`` slides show the illness."""
    ill = np.arange(n) % 2
    X = rng.normal(size=(n, SLIDES, PATCHES, FEATURES))
    shift, n_witnesses = (2.5, 2) if informative < SLIDES else (0.25, PATCHES)
    for i in np.flatnonzero(ill):
        shown = rng.permutation(SLIDES)[:informative]
        X[i, shown, :n_witnesses, :2] += shift
    patients = np.repeat([f"p{i}" for i in range(n)], SLIDES)
    bags = Bags.from_padded(X.reshape(-1, PATCHES, FEATURES), groups=patients)
    return bags, np.repeat(ill, SLIDES)


def compare_units(model: object, informative: int, seed: int) -> dict[str, float]:
    """Return the AUC over new patients of each way from slides to patients."""
    rng = np.random.default_rng([seed, informative])
    (train, y), (test, z) = (draw_patients(n, informative, rng) for n in (60, 200))
    merged, labels = train.merge("groups", y)
    patients, truth = test.merge("groups", z)
    ends = np.arange(0, len(test) + 1, SLIDES)
    slides = model.fit(train, y).decision_function(test)
    scores = {
        "slides, highest score": segment_max(slides, ends),
        "slides, mean score": segment_mean(slides, ends),
        "PartClassifier": PartClassifier(estimator=model)
        .fit(merged, labels)
        .decision_function(patients),
        "merged patients": model.fit(merged, labels).decision_function(patients),
    }
    return {name: float(roc_auc_score(truth, values)) for name, values in scores.items()}


def show_patients(seeds: int) -> None:
    """Print mean AUC and standard error of each way, in percent."""
    models = {"MI-SVM": WitnessSVC(kernel="linear"), "statistics": StatisticsLogistic(C=0.01)}
    for informative in (2, SLIDES):
        for name, model in models.items():
            found = [compare_units(model, informative, seed) for seed in range(seeds)]
            for way in found[0]:
                values = 100 * np.array([one[way] for one in found])
                error = values.std(ddof=1) / np.sqrt(seeds)
                row = (f"{informative} of {SLIDES}", name, way)
                print(f"| {' | '.join(row)} | {values.mean():.1f} ± {error:.1f} |", flush=True)


STUDIES = {  # how much labels, and features, depend on the site
    "neither": (0.0, 0.0),
    "features only": (0.0, 1.5),
    "labels only": (0.7, 0.0),
    "weak": (0.3, 0.75),
    "medium": (0.5, 1.0),
    "strong": (0.7, 1.5),
}


def draw_study(n: int, n_sites: int, study: str, seed: int) -> tuple[Bags, np.ndarray]:
    """Return one bag per patient; even sites have more positives, and features of their own."""
    tied, shift = STUDIES[study]
    rng = np.random.default_rng([seed, n_sites, [*STUDIES].index(study)])
    site = rng.permutation(np.arange(n) % n_sites)
    ill = rng.random(n) < 0.5 + tied / 2 * np.where(site % 2, 1, -1)
    X = rng.normal(size=(n, PATCHES, FEATURES))
    X[..., 0] += shift * (site % 2)[:, None]
    X[..., 1:3] += shift / 2 * rng.normal(size=(n_sites, 2))[site][:, None]
    X[ill, :2, 3] += 2.0
    return Bags.from_padded(X, sites=site), ill.astype(int)


def show_sites(seeds: int) -> None:
    """Print how often audits raise an alarm, and their mean numbers."""
    for n_sites in (4, 2):
        for study in STUDIES:
            found = [
                audit(*draw_study(160, n_sites, study, s), n_permutations=99) for s in range(seeds)
            ]
            known = [[a.predictability, a.association] for a in found]
            rates = [[a.folds.value, a.within.value, a.unseen.value] for a in found]
            means = np.hstack([known, rates]).mean(axis=0)
            hits = [sum(getattr(a, k) <= 0.05 for a in found) for k in ("p_within", "p_unseen")]
            alarms = sum(a.alarm for a in found)
            cells = [*(f"{mean:.2f}" for mean in means), *map(str, [*hits, alarms])]
            print(f"| {n_sites} | {study} | {' | '.join(cells)} |", flush=True)


def show_cost() -> None:
    """Print the CPU time of audits by bags and features."""
    for n, d in ((100, 16), (200, 64), (400, 256), (400, 1024)):
        rng = np.random.default_rng(0)
        bags = Bags.from_padded(rng.normal(size=(n, 10, d)), sites=np.arange(n) % 4)
        start = time.process_time()
        audit(bags, rng.integers(0, 2, n), n_permutations=20)
        seconds = time.process_time() - start
        fits = 5 + 4 * 21
        print(f"| {n} | {d} | {1000 * seconds / fits:.0f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("patients", "sites", "cost"))
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    if given.part == "cost":
        show_cost()
    else:
        {"patients": show_patients, "sites": show_sites}[given.part](given.seeds)
