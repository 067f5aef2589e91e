"""Known instances: what 5, 20 or 100 marks of an expert are worth.

    python benchmarks/known.py docs/results/known.md

Protocol: models learn from labeled bags and from some instances of positive bags whose labels are
known, half of them positive, drawn at random (nested: the 5 are among the 20). They are judged on
bags of another draw: AUC of bags, and AUC of the instances of positive bags, in percent. Ten draws,
standard errors in parentheses. "all known" is the SVM of instances that sees every label of the
training bags. Linear SVMs at their default C, networks at their default alpha, standardized
features; slides: 40 with 30 to 120 patches of 32 features, 5 % tumor, shift 2.5 (weak); digits: 60
bags of 5 to 15 images, 9 against the others, noise .5.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from bagwise import (
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
    InstanceSVC,
    LabelSVC,
    MarkovNetworkClassifier,
    PerInstance,
    WitnessSVC,
)
from bagwise.datasets import load_digits_bags, make_slide_bags

KNOWN, DRAWS = (0, 5, 20, 100), 10
MODELS = {
    "mi-SVM": LabelSVC(kernel="linear"),
    "MI-SVM": WitnessSVC(kernel="linear"),
    "AL-SVM": AnnealedLabelSVC(kernel="linear"),
    "AW-SVM": AnnealedWitnessSVC(kernel="linear"),
    "ALP-SVM": AnnealedProportionSVC(kernel="linear", positive_fraction=0.1),
    "MIMN": MarkovNetworkClassifier(fit_intercept=True),
    "RMIMN": MarkovNetworkClassifier(
        cardinality="ratio", positive_fraction=0.1, fit_intercept=True
    ),
    "GMIMN": MarkovNetworkClassifier(cardinality="learned", fit_intercept=True),
}


def draw_slides(seed):
    """One world of tissues, cut into slides to learn from and slides to be judged on."""
    options = {"witness_rate": 0.05, "shift": 2.5, "dtype": np.float64}
    bags, y = make_slide_bags(140, 32, bag_size=(30, 120), random_state=seed, **options)
    return (bags[:40], y[:40]), (bags[40:], y[40:])


def draw_digits(seed):
    options = {"noise": 0.5, "bag_size": (5, 15)}
    train = load_digits_bags(9, n_bags=60, subset="train", random_state=seed, **options)
    return train, load_digits_bags(9, n_bags=100, subset="test", random_state=seed, **options)


def mark(bags, y, n_known, seed):
    """Return the bags with as many known instances of positive bags, half of them positive."""
    rng, known = np.random.default_rng(seed), np.full(bags.n_instances, np.nan)
    inside = np.repeat(y, bags.sizes) == 1
    for label, count in ((1, (n_known + 1) // 2), (0, n_known // 2)):
        rows = np.flatnonzero(inside & (bags.instance_labels == label))
        known[rng.permutation(rows)[:count]] = label
    return bags.replace(known_labels=known)


def judge(model, bags, y):
    inside = np.repeat(y, bags.sizes) == 1
    scores = model.instance_decision_function(bags)[inside]
    instances = roc_auc_score(bags.instance_labels[inside], scores)
    return 100 * roc_auc_score(y, model.decision_function(bags)), 100 * instances


def compare(draw):
    """Return the pairs of AUCs of every model and number of known instances, one per draw."""
    found = {name: {n: [] for n in KNOWN} for name in MODELS} | {"SVM": {"all known": []}}
    for seed in range(DRAWS):
        (train, y), (test, z) = draw(seed)
        scaler = PerInstance(StandardScaler()).fit(train)
        train, test = scaler.transform(train), scaler.transform(test)
        for name, model in MODELS.items():
            for n_known in KNOWN:
                fitted = model.fit(mark(train, y, n_known, seed), y)
                found[name][n_known].append(judge(fitted, test, z))
        everything = train.replace(known_labels=train.instance_labels)
        svm = InstanceSVC(kernel="linear").fit(everything, y)
        found["SVM"]["all known"].append(judge(svm, test, z))
    return found


def show(values):
    values = np.array(values)
    return f"{values.mean():.1f} ({values.std(ddof=1) / np.sqrt(len(values)):.1f})"


def table(found, column):
    lines = ["| model | " + " | ".join(f"{n} known" for n in KNOWN) + " |", "|---" * 5 + "|"]
    for name in MODELS:
        cells = [show(np.array(found[name][n])[:, column]) for n in KNOWN]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    every = show(np.array(found["SVM"]["all known"])[:, column])
    return "\n".join([*lines, f"| all known | | | | {every} |"])


def main(path):
    warnings.simplefilter("ignore")
    parts = [
        "# What known instances are worth",
        __doc__.partition("\n\n")[2].replace("    ", "", 1),
    ]
    parts[1] = "```\n" + parts[1].strip().replace("\n\n", "\n```\n\n", 1)
    for name, draw in {"Planted slides": draw_slides, "Digit bags": draw_digits}.items():
        found = compare(draw)
        for column, what in enumerate(("AUC of bags", "AUC of instances")):
            parts.append(f"## {name}: {what}\n\n{table(found, column)}")
    Path(path).write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
