"""How many positives make a bag positive? The ratio experiment on bags of digits.

    python benchmarks/markov_ratio.py [--repeats 5]

A stand-in for Tables 4-6 and Figures 9, 11 and 13 of Hajimirsadeghi & Mori (2017), whose videos
are private. Three kinds of bags of 8 x 8 digits (the sought one is 9): positive with at least one,
with at least 30 %, with a majority of nines; negative bags hold fewer, any number of them. Training
and test bags share no image. RMIMN over rho, MIMN and GMIMN (five bins) with lambda = .3, mi-SVM,
SVM-AtLeastOne and SVM-Majority (linear) with C = 1. Precision and recall: `predict_instances`.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import numpy as np

from bagwise import InstanceSVC, LabelSVC, MarkovNetworkClassifier
from bagwise.datasets import load_digits_bags
from timing import one_thread

TABLE = Path(__file__).parents[1] / "docs" / "results" / "markov" / "ratio.csv"
RULES = ("any", "ratio", "majority")
RHOS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.51, 0.6, 0.7, 0.8, 0.9)  # .51 is "more than half"
COLUMNS = ["rule", "repeat", "model", "rho", "accuracy", "precision", "recall", "share", "true"]
N_BAGS, NOISE, LAMBDA = 150, 0.15, 0.3


def draw(rule: str, subset: str, repeat: int) -> tuple[Any, Any]:
    seed = 2 * repeat + (subset == "test")
    return load_digits_bags(rule=rule, n_bags=N_BAGS, noise=NOISE, subset=subset, random_state=seed)


def models(rule: str) -> list[tuple[str, float, Any]]:
    same = {"lambda_": LAMBDA}
    listed = [("RMIMN", rho, MarkovNetworkClassifier("ratio", rho=rho, **same)) for rho in RHOS]
    listed.append(("MIMN", np.nan, MarkovNetworkClassifier("any", **same)))
    listed.append(("GMIMN", np.nan, MarkovNetworkClassifier("learned", n_bins=5, **same)))
    for name, machine in (
        ("mi-SVM", LabelSVC(kernel="linear")),
        ("SVM-AtLeastOne", InstanceSVC("any", kernel="linear")),
        ("SVM-Majority", InstanceSVC("majority", kernel="linear")),
    ):
        listed.append((name, np.nan, machine))
    return listed


def instance_rates(model: Any, bags: Any) -> tuple[float, ...]:
    """Return precision, recall, and the inferred and true share of witnesses in positive bags."""
    found, truth = model.predict_instances(bags) == 1, bags.instance_labels == 1
    hits = np.sum(found & truth)
    positive = np.repeat(model.predict(bags) == 1, bags.sizes)
    shares = (np.mean(labels[positive]) if positive.any() else 0.0 for labels in (found, truth))
    return hits / max(1, np.sum(found)), hits / np.sum(truth), *shares


def run(repeats: int) -> None:
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if TABLE.exists():
        done = {(row["rule"], row["repeat"]) for row in csv.DictReader(TABLE.open())}
    else:
        TABLE.write_text(",".join(COLUMNS) + "\n")
    for repeat in range(repeats):
        for rule in RULES:
            if (rule, str(repeat)) not in done:
                rows = one_draw(rule, repeat)
                with TABLE.open("a") as file:
                    csv.writer(file, lineterminator="\n").writerows(rows)


def one_draw(rule: str, repeat: int) -> list[list[Any]]:
    bags, y = draw(rule, "train", repeat)
    fresh, truth = draw(rule, "test", repeat)
    rows = []
    for name, rho, model in models(rule):
        model.fit(bags, y)
        accuracy = float(np.mean(model.predict(fresh) == truth))
        rates = [round(float(rate), 4) for rate in instance_rates(model, fresh)]
        rows.append([rule, repeat, name, "" if np.isnan(rho) else rho, round(accuracy, 4), *rates])
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    with one_thread():
        run(parser.parse_args().repeats)
