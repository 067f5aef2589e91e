"""How many positives make a bag positive? The ratio experiment on bags of digits.

    python benchmarks/markov_ratio.py [--repeats 5]

Replaces Tables 4-6 and Figures 9, 11 and 13 of Hajimirsadeghi & Mori (2017), whose videos are
private. Three kinds of bags of 8 x 8 digits: a positive bag contains at least one nine, at least
30 % nines, or a majority of nines; a negative bag contains any smaller number. Training and test
bags share no image. RMIMN with several values of `positive_fraction`, MIMN and GMIMN (five bins),
all with alpha = .3; mi-SVM, SVM-AtLeastOne and SVM-Majority, linear with C = 1. Precision and
recall are those of `predict_instances`.
"""

from __future__ import annotations

import argparse
import csv
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bagwise import InstanceSVC, LabelSVC, MarkovNetworkClassifier
from bagwise.datasets import load_digits_bags
from timing import one_thread

TABLE = Path(__file__).parents[1] / "docs" / "results" / "markov" / "ratio.csv"
RULES = ("any", "ratio", "majority")
FRACTIONS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.51, 0.6, 0.7, 0.8, 0.9)  # .51 is "more than half"
OUTPUTS = ["accuracy", "precision", "recall", "share", "true"]
COLUMNS = ["rule", "repeat", "model", "positive_fraction", *OUTPUTS]
N_BAGS, NOISE, ALPHA = 150, 0.15, 0.3


def draw(rule: str, subset: str, repeat: int) -> tuple[Any, Any]:
    seed = 2 * repeat + (subset == "test")
    return load_digits_bags(rule=rule, n_bags=N_BAGS, noise=NOISE, subset=subset, random_state=seed)


def models() -> list[tuple[str, float, Any]]:
    network = partial(MarkovNetworkClassifier, alpha=ALPHA)
    return [
        *(("RMIMN", f, network(cardinality="ratio", positive_fraction=f)) for f in FRACTIONS),
        ("MIMN", np.nan, network(cardinality="any")),
        ("GMIMN", np.nan, network(cardinality="learned", n_bins=5)),
        ("mi-SVM", np.nan, LabelSVC(kernel="linear")),
        ("SVM-AtLeastOne", np.nan, InstanceSVC(vote="any", kernel="linear")),
        ("SVM-Majority", np.nan, InstanceSVC(vote="majority", kernel="linear")),
    ]


def instance_rates(model: Any, bags: Any) -> tuple[float, ...]:
    """Return precision, recall, and the inferred and true fraction of positives."""
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
    for name, fraction, model in models():
        model.fit(bags, y)
        accuracy = float(np.mean(model.predict(fresh) == truth))
        rates = [round(float(rate), 4) for rate in instance_rates(model, fresh)]
        rows.append(
            [rule, repeat, name, "" if np.isnan(fraction) else fraction, round(accuracy, 4), *rates]
        )
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    with one_thread():
        run(parser.parse_args().repeats)
