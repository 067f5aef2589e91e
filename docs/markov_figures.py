"""Draw the figures of docs/markov.md from the tables under docs/results/markov/.

python docs/markov_figures.py
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from bagwise import Bags, MarkovNetworkClassifier
from bagwise.bags.segments import segment_mean
from bagwise.datasets import load_digits_bags

HERE = Path(__file__).parent
TABLE = HERE / "results" / "markov" / "ratio.csv"
TITLES = {"any": "at least one nine", "ratio": "at least 30 %", "majority": "a majority"}
TRUE_FRACTION = {"any": 0.05, "ratio": 0.3, "majority": 0.51}
RED, BLUE = "#d1480f", "#3b7dad"
LINES = {"MIMN": ("#3b7dad", "--"), "GMIMN": ("#2a8a4a", "-."), "mi-SVM": ("#8a8a8a", ":")}


def read() -> dict:
    """Return the mean of every column by rule, model and positive_fraction."""
    cells = defaultdict(list)
    for row in csv.DictReader(TABLE.open()):
        values = [float(row[name]) for name in ("accuracy", "precision", "recall")]
        cells[row["rule"], row["model"], row["positive_fraction"]].append(values)
    return {key: np.mean(values, axis=0) for key, values in cells.items()}


def accuracy_by_fraction() -> None:
    """Draw accuracy of bags, and precision and recall of instances, by positive_fraction."""
    cells = read()
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True, sharey="row")
    for column, rule in enumerate(TITLES):
        of_rule = {k[2]: v for k, v in cells.items() if k[:2] == (rule, "RMIMN")}
        fractions = sorted(of_rule, key=float)
        x, y = [float(f) for f in fractions], np.array([of_rule[f] for f in fractions])
        top, below = axes[:, column]
        top.plot(x, 100 * y[:, 0], "o-", color="#d1480f", label="RMIMN")
        for model, (color, style) in LINES.items():
            level = 100 * cells[rule, model, ""][0]
            top.axhline(level, color=color, linestyle=style, label=model)
        top.axvline(TRUE_FRACTION[rule], color="black", linewidth=0.6)
        top.set_title(TITLES[rule])
        below.plot(x, 100 * y[:, 1], "s-", color="#7a4fa3", label="precision")
        below.plot(x, 100 * y[:, 2], "^-", color="#b8860b", label="recall")
        below.set_xlabel("positive_fraction of RMIMN")
    axes[0, 0].set_ylabel("bag accuracy, %")
    axes[1, 0].set_ylabel("instance precision and recall, %")
    axes[0, 0].legend(frameon=False, fontsize="small")
    axes[1, 0].legend(frameon=False, fontsize="small")
    figure.savefig(HERE / "markov_ratio.png", dpi=110)


def learned_weights() -> None:
    """Draw what GMIMN has learned from each kind of bag."""
    for rule in TITLES:
        bags, y = load_digits_bags(rule=rule, n_bags=150, noise=0.15, subset="train")
        fresh, _ = load_digits_bags(
            rule=rule, n_bags=150, noise=0.15, subset="test", random_state=1
        )
        model = MarkovNetworkClassifier(cardinality="learned", n_bins=5, alpha=0.3)
        model.fit(bags, y)
        figure = draw_weights(model, fresh)
        figure.suptitle(TITLES[rule])
        figure.savefig(HERE / f"markov_weights_{rule}.png", dpi=100)


def draw_weights(model: MarkovNetworkClassifier, bags: Bags) -> Figure:
    """Draw learned weights, and fractions inferred in bags (filled: predicted positive)."""
    figure = Figure(figsize=(4.2, 5.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    weights = model.cardinality_weights_.reshape(2, -1)
    edges = np.linspace(0, 1, weights.shape[1] + 1)
    middle, width = (edges[1:] + edges[:-1]) / 2, edges[1]
    for row, side, color in zip(weights, ("negative", "positive"), (BLUE, RED), strict=True):
        shift = width / 4 if side == "positive" else -width / 4
        above.bar(middle + shift, row, 0.42 * width, color=color, label=f"{side} bags")
    above.axhline(0, color="black", linewidth=0.8)
    above.set(xlim=(0, 1), ylabel="weight")
    above.legend(frameon=False, fontsize="small")
    shares = segment_mean(1.0 * (model.predict_instances(bags) == 1), bags.offsets)
    positive, bins = model.predict(bags) == 1, np.linspace(0, 1, 2 * len(middle) + 1).tolist()
    below.hist(shares[positive], bins=bins, color=RED, alpha=0.8)
    below.hist(shares[~positive], bins=bins, histtype="step", color=BLUE, linewidth=1.8)
    below.set(ylabel="bags", xlabel="fraction of positive instances")
    return figure


def posteriors() -> None:
    """Draw how often an instance is positive, by its exact posterior."""
    figure = Figure(figsize=(9.5, 3.4), layout="constrained")
    for ax, rule in zip(figure.subplots(1, 3, sharey=True), TITLES, strict=True):
        bags, y = load_digits_bags(rule=rule, n_bags=200, subset="train")
        fresh, _ = load_digits_bags(rule=rule, n_bags=200, subset="test", random_state=1)
        kind = "any" if rule == "any" else "ratio"
        shared = {"cardinality": kind, "positive_fraction": TRUE_FRACTION[rule], "alpha": 0.3}
        ax.plot([0, 1], [0, 1], color="black", linewidth=0.6)
        model = MarkovNetworkClassifier(**shared)
        chance = model.fit(bags, y).predict_instances_proba(fresh)[:, 1]
        cell = np.minimum((10 * chance).astype(int), 9)
        seen = [c for c in range(10) if np.count_nonzero(cell == c) >= 10]  # fewer are noise
        x = [chance[cell == c].mean() for c in seen]
        ax.plot(x, [fresh.instance_labels[cell == c].mean() for c in seen], "o-", color="#d1480f")
        ax.set(title=TITLES[rule], xlabel="P(instance is positive | bag)")
    figure.axes[0].set_ylabel("fraction of positives")
    figure.savefig(HERE / "markov_posteriors.png", dpi=110)


if __name__ == "__main__":
    posteriors()
    accuracy_by_fraction()
    learned_weights()
