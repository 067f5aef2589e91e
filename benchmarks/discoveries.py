"""Instances that stand out against negative bags: how many are false, and how many are found.

    python benchmarks/discoveries.py docs/results/discoveries.md

Protocol: in every round (20 per setting, 10 per data set) a linear model is fitted to training
bags and marks instances of new bags at level 0.1, as `discover` does. Three references are
compared: "held out", negative bags that the model has not seen (`reference=`, exact);
"cross-fitted", the negative training bags in five folds (approximate); and "cross", the same with
`method="cross"` (conservative). The first column of numbers is the share of new negative bags (of
groups, where there are groups) with any mark, which should be at most 10 %, and its standard error
over rounds. "found" is the share of true witnesses that are marked, "bags" the share of positive
bags with a marked witness, "false" the share of marks in positive bags that are no witnesses, and
"above 0" the share of witnesses with a positive score.

Simulated bags have 50 to 150 instances of 16 features, normal with unit variance. Witnesses are
shifted by 4 along one direction and are 10 % of a positive bag. There are 100 training bags, 50
reference bags, and 200 new bags, half of them positive. Settings:

- independent: nothing else;
- bag effects: all instances of a bag share an offset of standard deviation 0.5 per feature;
- groups: three bags of a patient share such an offset, and patients are the units;
- heavy tails: features have Student's t distribution with 4 degrees of freedom, witnesses are 3 %;
- artifacts: one bag in five, of either class, has three instances that are shifted by 8 along the
  direction of the witnesses and by 8 along another one.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.progress import track
from sklearn.preprocessing import StandardScaler

from bagwise import AnnealedLabelSVC, Bags, PerInstance, WitnessSVC, make_pipeline
from bagwise.datasets import load_digits_bags, make_slide_bags
from timing import one_thread

LEVEL, ROUNDS, ROUNDS_OF_DATA = 0.1, 20, 10
N_TRAIN, N_REFERENCE, N_NEW, N_FEATURES, SHIFT = 100, 50, 200, 16, 4.0
REFERENCES = ("held out", "cross-fitted", "cross")

BROKEN = """## What breaks the promise

The promise is about new negative bags that are exchangeable with the reference. The first two rows
have reference and training bags of which some are called negative and contain witnesses (half as
many as positive bags do): their scores raise the bar, and witnesses are missed. The promise for
bags that are truly negative still holds, but nothing is promised about bags that are only called
negative. In the last two rows new bags come from elsewhere: the offset of a bag has twice the
standard deviation, or new bags have five times as many instances, of which the largest score is
larger. There the promise does not hold. Calibrate again with negative bags of the new kind, which
needs no new model: `calibrate_instances(reference=bags)`.
"""


@dataclass(frozen=True)
class Setting:
    """How bags are drawn."""

    rate: float = 0.1
    offset: float = 0.0
    per_group: int = 1
    artifacts: float = 0.0
    tails: bool = False
    hidden: float = 0.0  # share of bags called negative that contain witnesses
    size: int = 100

    def draw(self, n_bags, rng):
        """Return bags with groups and instance labels, and labels of bags."""
        groups = np.arange(n_bags) // self.per_group
        y = groups % 2
        sizes = rng.integers(self.size // 2, 3 * self.size // 2, n_bags)
        rows, truth, offset = [], [], np.zeros(N_FEATURES)
        for i, (label, size) in enumerate(zip(y.tolist(), sizes.tolist(), strict=True)):
            shape = (size, N_FEATURES)
            X = rng.standard_t(4, shape) if self.tails else rng.standard_normal(shape)
            if i % self.per_group == 0:
                offset = self.offset * rng.normal(size=N_FEATURES)
            X += offset
            if rng.random() < self.artifacts:
                X[-3:, :2] += 2 * SHIFT
            rate = self.rate if label else self.rate / 2 * (rng.random() < self.hidden)
            witness = np.arange(size) < np.ceil(rate * size)
            X[witness, 0] += SHIFT
            rows.append(X)
            truth.append(witness)
        labels = np.concatenate(truth).astype(int)
        return Bags.from_list(rows, groups=groups, instance_labels=labels), y


SETTINGS = {
    "independent": Setting(),
    "bag effects": Setting(offset=0.5),
    "groups": Setting(offset=0.5, per_group=3),
    "heavy tails": Setting(tails=True, rate=0.03),
    "artifacts": Setting(artifacts=0.2),
}
# Settings of training and reference bags, and of new bags.
BREAKING = {
    "10 % of negatives hide witnesses": (Setting(hidden=0.1), Setting()),
    "30 % of negatives hide witnesses": (Setting(hidden=0.3), Setting()),
    "new bags vary twice as much": (Setting(offset=0.5), Setting(offset=1.0)),
    "new bags are five times as large": (Setting(), Setting(size=500)),
}


def simulate(known, new, seed):
    """Yield the measures of every kind of reference in one round."""
    rng = np.random.default_rng(seed)
    train, y = known.draw(N_TRAIN, rng)
    reference, labels = known.draw(2 * N_REFERENCE, rng)
    test = new.draw(N_NEW, rng)
    model = AnnealedLabelSVC(kernel="linear", C=0.01)
    return measure(model, (train, y), reference[labels == 0], test)


def measure(model, train, reference, test):
    """Return the measures by kind of reference."""
    model.fit(*train)
    held_out = judge(model.calibrate_instances(reference=reference), *test, "direct")
    model.calibrate_instances(*train, keep_models=True)
    return [held_out, judge(model, *test, "direct"), judge(model, *test, "cross")]


def judge(model, bags, y, method):
    """Return the shares of negative units with a mark, and of what is found in positive bags."""
    mark = model.discover(bags, LEVEL, method=method)
    true = bags.instance_labels == 1
    unit = np.arange(len(bags)) if bags.groups is None else np.asarray(bags.groups)
    start = bags.offsets[:-1]
    any_mark, hit = (np.logical_or.reduceat(x, start) for x in (mark, mark & true))
    negative = np.unique(unit[y == 0])
    marked = np.isin(negative, unit[(y == 0) & any_mark])
    in_positive = np.repeat(y == 1, bags.sizes)
    marks = mark & in_positive
    wrong = (marks & ~true).sum() / max(1, marks.sum())
    witnesses = true & in_positive
    above = (model.instance_decision_function(bags)[witnesses] > 0).mean()
    return marked.mean(), mark[witnesses].mean(), hit[y == 1].mean(), wrong, above


def digits(seed):
    train = load_digits_bags(n_bags=150, subset="train", random_state=seed)
    held, labels = load_digits_bags(n_bags=100, subset="test", random_state=seed + 1000)
    test = load_digits_bags(n_bags=200, subset="test", random_state=seed + 2000)
    model = make_pipeline(PerInstance(StandardScaler()), WitnessSVC(kernel="linear", C=0.1))
    return measure(model, train, held[labels == 0], test)


def slides(seed):
    bags, y = make_slide_bags(n_bags=300, bag_size=(50, 400), random_state=seed)
    parts = np.split(np.arange(300), [100, 200])
    train, held, test = ((bags[part], y[part]) for part in parts)
    model = make_pipeline(PerInstance(StandardScaler()), WitnessSVC(kernel="linear", C=0.1))
    return measure(model, train, held[0][held[1] == 0], test)


HEAD = [
    "| {} | reference | negatives with a mark % | found % | bags % | false % | above 0 % |",
    "|---|---|---:|---:|---:|---:|---:|",
]


def lines_of(name, rounds):
    """Return a line of the table per kind of reference."""
    values = 100 * np.array(rounds)  # (rounds, references, measures)
    error = values[:, :, 0].std(axis=0, ddof=1) / np.sqrt(len(values))
    means = values.mean(axis=0)
    return [
        f"| {name} | {kind} | {means[k, 0]:.1f} ± {error[k]:.1f} | "
        + " | ".join(f"{value:.1f}" for value in means[k, 1:])
        + " |"
        for k, kind in enumerate(REFERENCES)
    ]


def main() -> None:
    tables = {"setting": [], "data": [], "broken": []}
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, own in track(SETTINGS.items(), "simulations"):
            rounds = [simulate(own, own, seed) for seed in range(ROUNDS)]
            tables["setting"] += lines_of(name, rounds)
        for name, (known, new) in track(BREAKING.items(), "broken"):
            rounds = [simulate(known, new, seed) for seed in range(ROUNDS)]
            tables["broken"] += lines_of(name, rounds)
        for name, draw in track((("digit bags", digits), ("planted slides", slides)), "data"):
            tables["data"] += lines_of(name, [draw(seed) for seed in range(ROUNDS_OF_DATA)])
    head = "# Instances against negative bags\n\n`python benchmarks/discoveries.py`\n"
    body = "Protocol:" + __doc__.split("Protocol:")[1]
    texts = [HEAD[0].format(name) + f"\n{HEAD[1]}\n" + "\n".join(tables[name]) for name in tables]
    real = "## True instance labels\n\nMI-SVM on standardized features; a bag of digits is positive"
    real += " if it contains a 9\n(pixels of new images), and a slide if it contains a tumor.\n"
    parts = [head, body, texts[0], "", real, texts[1], "", BROKEN, texts[2], ""]
    Path(sys.argv[1]).write_text("\n".join(parts))


if __name__ == "__main__":
    main()
