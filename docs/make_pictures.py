"""Draw the five pictures of docs/what-is-mil.md.

python docs/make_pictures.py
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from sklearn.exceptions import ConvergenceWarning

from bagwise import LabelSVC, WitnessSVC
from bagwise.datasets import make_slide_bags
from bagwise.plot import heatmap

IMAGES = Path(__file__).parent / "images" / "mil"
POSITIVE, NEGATIVE, UNKNOWN, INK = "#c8470a", "#00695c", "#8a8a8a", "#222222"
DPI = 110  # sharp at the width of the page, and small files
WITNESS = np.array([2.2, 2.0])  # where the instances of interest lie
STEPS = (1, 2, 50)  # the first picture, what changes, and the end


def toy_bags(n_bags: int = 8, bag_size: int = 5, seed: int = 3) -> tuple[list[Any], Any, list[Any]]:
    """Return bags of points in the plane, their labels, and which points are of interest."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_bags) % 2
    bags, marks = [], []
    for label in y:
        points = rng.normal(scale=0.9, size=(bag_size, 2))
        mark = np.zeros(bag_size, bool)
        if label:
            mark[rng.integers(bag_size)] = True
            points[mark] = WITNESS + rng.normal(scale=0.3, size=2)
        bags.append(points)
        marks.append(mark)
    return bags, y, marks


def panels(n: int, width: float = 8.0, height: float = 2.9) -> tuple[Figure, list[Axes]]:
    """Return a figure with a row of empty axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = list(np.ravel(figure.subplots(1, n)))
    for ax in axes:
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_title(" ", fontsize=10)
    return figure, axes


def labels_of_instances_or_bags() -> Figure:
    """Draw the difference: a label per point, or one per set of points."""
    bags, y, marks = toy_bags()
    figure, (left, right) = panels(2)
    points, mark = np.vstack(bags), np.concatenate(marks)
    left.scatter(*points[~mark].T, c=NEGATIVE, marker="o", label="no", s=26)
    left.scatter(*points[mark].T, c=POSITIVE, marker="^", label="yes", s=40)
    left.legend(title="label of a point", frameon=False, loc="lower left", fontsize=8)
    left.set_title("usual learning: every point has a label", fontsize=10)
    for i, (bag, label) in enumerate(zip(bags, y, strict=True)):
        column, row = i % 4, i // 4
        center = np.array([2.6 * column, -3.2 * row])
        color = POSITIVE if label else NEGATIVE
        right.add_patch(Circle(center, 1.15, fill=False, ec=color, lw=2, ls="-" if label else "--"))
        spots = center + 0.85 * bag / max(2.6, np.abs(bag).max())
        right.scatter(*spots.T, c=UNKNOWN, s=18)
        right.text(
            *(center - [0, 1.2]), "yes" if label else "no", color=color, ha="center", va="top"
        )
    right.set(xlim=(-1.4, 9.2), ylim=(-5.3, 1.4), aspect="equal")
    right.set_title("multiple-instance learning: every bag has one", fontsize=10)
    return figure


def slides() -> tuple[Any, Any, int]:
    """Return slides, their labels, and the number of a positive one among the first eight."""
    bags, y = make_slide_bags(n_bags=60, bag_size=(150, 220), witness_rate=0.1, random_state=4)
    return bags, y, int(np.flatnonzero(y[:8])[0])


def where_is_it() -> Figure:
    """Draw a slide of which only the label is known."""
    bags, _, i = slides()
    rows = slice(bags.offsets[i], bags.offsets[i + 1])
    where = bags.coords[rows] / bags.patch_size[i]
    figure, (left, right) = panels(2, height=3.4)
    shades = np.random.default_rng(0).uniform(0.75, 0.92, len(where))
    for (x, z), shade in zip(where, shades, strict=True):
        left.add_patch(Rectangle((x, z), 0.92, 0.92, fc=(shade, 0.55 * shade + 0.2, shade)))
    truth = bags.instance_labels[rows] == 1
    for (x, z), tumor in zip(where, truth, strict=True):
        right.add_patch(Rectangle((x, z), 0.92, 0.92, fc=POSITIVE if tumor else "#e3dbe3"))
    for ax, title in (
        (left, "what we know: this slide has a tumor"),
        (right, "what we want: where?"),
    ):
        ax.set(xlim=(where[:, 0].min() - 1, where[:, 0].max() + 2), aspect="equal")
        ax.set_ylim(where[:, 1].max() + 2, where[:, 1].min() - 1)
        ax.set_title(title, fontsize=10)
    return figure


def assumptions() -> Figure:
    """Draw what may make a bag positive."""
    figure, axes = panels(3, height=2.5)
    rng = np.random.default_rng(0)
    cases = (
        ("one instance is enough", 1, "WitnessSVC, MILES"),
        ("many instances are positive", 7, "LabelSVC, GMIMN"),
        ("the whole bag is different", 12, "BagKernelSVC, StatisticsForest"),
    )
    for ax, (title, count, models) in zip(axes, cases, strict=True):
        angle, radius = rng.uniform(0, 2 * np.pi, 12), np.sqrt(rng.uniform(0.02, 0.7, 12))
        spots = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        ax.add_patch(Circle((0, 0), 1.0, fill=False, ec=POSITIVE, lw=2))
        ax.scatter(*spots[count:].T, c=NEGATIVE, s=36)
        ax.scatter(*spots[:count].T, c=POSITIVE, marker="^", s=52)
        ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal", xlabel=models)
        ax.set_title(title, fontsize=10)
    return figure


def alternation() -> Figure:
    """Draw how labels of instances and the classifier find each other."""
    bags, y, _ = toy_bags(n_bags=24, seed=5)
    figure, axes = panels(3, height=3.0)
    points, positive = np.vstack(bags), np.repeat(y, [len(bag) for bag in bags]) == 1
    xx, yy = np.meshgrid(np.linspace(-3, 3.6, 120), np.linspace(-3, 3.6, 120))
    grid = np.column_stack([xx.ravel(), yy.ravel()])
    for ax, steps in zip(axes, STEPS, strict=True):
        model = LabelSVC(kernel="linear", C=1.0, max_iter=steps).fit(bags, y)
        scores = model.instance_decision_function(list(grid[:, None])).reshape(xx.shape)
        ax.contourf(xx, yy, scores, levels=[0, 1e9], colors=["#fde5d8"])
        ax.contour(xx, yy, scores, levels=[0], colors=[INK], linewidths=1)
        ax.scatter(*points[~positive].T, c=NEGATIVE, s=10)
        ax.scatter(*points[positive].T, c=UNKNOWN, s=10)
        chosen = points[positive & (model.instance_decision_function(bags) > 0)]
        ax.scatter(*chosen.T, s=50, facecolors="none", edgecolors=POSITIVE, linewidths=1.4)
        ax.set_title(f"after {model.n_iter_} step{'s' * (model.n_iter_ > 1)}", fontsize=10)
    return figure


def answer() -> Figure:
    """Draw the answer for a new slide."""
    bags, y, i = slides()
    model = WitnessSVC(kernel="linear").fit(bags[8:], y[8:])
    return heatmap(bags, model.instance_decision_function(bags), i)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)  # stopping early is the point of a picture
    IMAGES.mkdir(parents=True, exist_ok=True)
    drawings = (labels_of_instances_or_bags, where_is_it, assumptions, alternation, answer)
    for number, draw in enumerate(drawings, start=1):
        draw().savefig(IMAGES / f"{number}.png", dpi=DPI)
