"""Draw docs/images/architecture.png, one fit and the layers, and engine.png, the passes over rows.

python docs/make_architecture.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

HERE = Path(__file__).parent
INK, QUIET = "#222222", "#666666"
FIRST_OF_A_FIT = 7  # the layer of the models; what is above is not needed to fit one
DATA, LOOP, STEP, OUT = "#dbe9f6", "#f3f3f3", "#fde5cc", "#dff0d8"

# Left, bottom, width, height; title, lines below it, color.
BOXES = {
    "input": (0.4, 10.1, 7.2, 0.9, "bags, y", "labeled bags of unlabeled instances", DATA),
    "check": (0.4, 8.7, 7.2, 0.9, "checked Bags", "estimators/base.py, bags/checks.py", DATA),
    "design": (0.4, 7.3, 7.2, 0.9, "Design, Task", "designs/, kernels/, estimators/task.py", DATA),
    "loop": (0.0, 2.75, 8.0, 4.05, "", "", LOOP),
    "assumption": (0.3, 4.95, 3.2, 1.0, "Assumption", "assumptions/rules.py", STEP),
    "problem": (4.5, 4.95, 3.2, 1.0, "Problem", "problems.py, losses.py", STEP),
    "solver": (2.4, 3.0, 3.2, 1.0, "Solver", "solvers/newton.py", STEP),
    "fitted": (0.4, 1.4, 7.2, 0.9, "fitted estimator", "coefficients, objective_, gap_", OUT),
    "scores": (0.4, 0.0, 7.2, 0.9, "predictions", "bags, instances, key instances", OUT),
}
# From, to, label, where the label starts.
ARROWS = [
    ((4.0, 10.1), (4.0, 9.6), "validate, on a fresh copy", (4.2, 9.85)),
    ((4.0, 8.7), (4.0, 8.2), "Gram matrix once, one Task per class", (4.2, 8.45)),
    ((4.0, 7.3), (4.0, 6.8), "first assignment (init)", (4.2, 7.05)),
    ((3.5, 5.45), (4.5, 5.45), "weights", (3.54, 5.62)),
    ((6.1, 4.95), (5.0, 4.0), "convex\nproblem", (5.85, 4.45)),
    ((3.0, 4.0), (1.9, 4.95), "scores", (1.35, 4.4)),
    ((4.0, 3.0), (4.0, 2.3), "Run: solution with gap, assignment, history", (4.2, 2.52)),
    ((4.0, 1.4), (4.0, 0.9), "instance scores, bag score, threshold_", (4.2, 1.15)),
]


ENGINE_BOXES = {
    "fits": (0.0, 4.6, 4.2, 1.7, "Fits", "", STEP),
    "run": (0.6, 2.6, 3.0, 0.9, "run, together", "one reading per round, for all fits", LOOP),
    "sums": (0.6, 0.4, 3.0, 0.9, "sums of size d x d", "gradient, H, risks, gap", OUT),
    "rows": (6.2, 0.2, 5.6, 6.1, "Rows", "blocks of whole bags, visited in order", DATA),
    "array": (6.6, 3.9, 2.3, 0.9, "HostBlock", "array, map, files", LOOP),
    "tensor": (9.1, 3.9, 2.3, 0.9, "DeviceBlock", "GPU, stream", LOOP),
    "task": (7.85, 2.7, 2.3, 0.9, "Dask task", "the same function", LOOP),
    "rule": (6.6, 1.0, 4.8, 0.9, "one block, one look", "scores; rule -> weights; sums", STEP),
}
ENGINE_ARROWS = [
    ((2.1, 4.6), (2.1, 3.5), "looks: place, assignment\n(rule, temperature, anchor)", (2.3, 4.05)),
    ((3.6, 3.05), (6.2, 3.05), "all looks", (4.3, 3.25)),
    ((6.2, 0.85), (3.6, 0.85), "added by a fixed tree", (3.75, 1.05)),
    ((2.1, 1.3), (2.1, 2.6), "", (0.0, 0.0)),
]


def layers() -> list[tuple[str, str]]:
    """Return names and modules of the layers, as the page lists them."""
    _, _, table = (HERE / "architecture.md").read_text().partition("| layer | modules |")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", table.partition("\n\n")[0], re.M)
    return [(name, modules.replace("`", "")) for name, modules in rows if name != "---"]


def box(axes: Axes, x: float, y: float, width: float, height: float, color: str) -> None:
    """Draw a rounded box."""
    style = "round,pad=0,rounding_size=0.12"
    patch = FancyBboxPatch((x, y), width, height, style, facecolor=color, edgecolor=QUIET, lw=0.8)
    axes.add_patch(patch)


def draw_flow(axes: Axes, boxes: dict[str, Any], arrows: list[Any]) -> None:
    """Draw boxes with titles, and arrows with labels."""
    for x, y, width, height, title, text, color in boxes.values():
        box(axes, x, y, width, height, color)
        middle, top = x + width / 2, y + height
        axes.text(middle, top - 0.3, title, ha="center", va="center", weight="bold", color=INK)
        axes.text(middle, top - 0.68, text, ha="center", va="center", size=8.5, color=QUIET)
    for start, end, label, at in arrows:
        axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.2})
        axes.text(*at, label, size=8.5, va="center", color=INK)


def draw_engine(axes: Axes) -> None:
    """Draw the passes over rows."""
    draw_flow(axes, ENGINE_BOXES, ENGINE_ARROWS)
    for k, name in enumerate(("AL-SVM, class 1", "AL-SVM, class 2", "fold 3 of 5")):
        axes.text(2.1, 5.65 - 0.35 * k, name, ha="center", va="center", size=8.5, color=QUIET)
    axes.set(xlim=(-0.1, 11.9), ylim=(0.0, 6.5))


def draw_fit(axes: Axes) -> None:
    """Draw the data flow of one fit."""
    draw_flow(axes, BOXES, ARROWS)
    axes.text(0.25, 6.5, "Procedure", weight="bold", color=INK, va="center")
    axes.text(1.4, 6.49, "repeats until nothing changes", size=8.5, color=INK, va="center")
    axes.text(0.25, 6.15, "procedures/alternate.py", size=8.5, color=QUIET, va="center")
    axes.set(xlim=(-0.1, 8.1), ylim=(-0.1, 11.2))
    axes.set_title('One fit: WitnessSVC(kernel="rbf").fit(bags, y)', size=12, color=INK)


def draw_layers(axes: Axes) -> None:
    """Draw the layers, the lowest at the bottom."""
    listed = layers()
    height = 11.0 / len(listed)
    for number, (name, modules) in enumerate(listed):
        y = 11.0 - (number + 1) * height
        box(axes, 0.6, y + 0.06, 7.3, height - 0.12, DATA if number >= FIRST_OF_A_FIT else LOOP)
        axes.text(0.8, y + height / 2, name, va="center", size=9, color=QUIET)
        axes.text(4.1, y + height / 2, modules, va="center", size=9, color=INK, weight="bold")
    arrow = {"arrowstyle": "-|>", "color": INK, "lw": 1.2}
    axes.annotate("", (0.25, 0.1), (0.25, 10.9), arrowprops=arrow)
    axes.text(0.05, 5.5, "imports", rotation=90, va="center", ha="center", size=9, color=INK)
    axes.set(xlim=(-0.2, 8.1), ylim=(-0.1, 11.2))
    axes.set_title("Layers (blue: part of every fit)", size=12, color=INK)


def main() -> None:
    """Draw both panels."""
    figure = Figure(figsize=(13, 8), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_fit(left)
    draw_layers(right)
    for axes in (left, right):
        axes.axis("off")
    figure.savefig(HERE / "images" / "architecture.png", dpi=110)
    figure = Figure(figsize=(10, 5), layout="constrained")
    axes = figure.subplots()
    draw_engine(axes)
    axes.axis("off")
    figure.savefig(HERE / "images" / "engine.png", dpi=110)


if __name__ == "__main__":
    main()
