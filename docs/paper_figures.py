"""Draw the curves of the papers from committed results of ``bagwise bench``.

python docs/paper_figures.py

Zhang, Liu, Si, Zhang & Lawrence 2011, Figure 1; Hajimirsadeghi & Mori 2017, Figures 5 and 6. Bars
are standard errors.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

RESULTS = Path(__file__).parent / "results"
COLORS = ("#d1480f", "#3b7dad", "#2a8a4a", "#7a4fa3", "#b8860b", "#8a8a8a")
NAMES = {"accuracy": "accuracy, %", "fit_seconds": "CPU seconds of a fit"}

Rows = list[dict[str, str]]
Where = Callable[[dict[str, str]], float]


def rows_of(preset: str, metric: str, kind: str) -> Rows:
    """Return the lines of a table's CSV file that have numbers of one kind."""
    with (RESULTS / preset / "tables.csv").open() as file:
        return [r for r in csv.DictReader(file) if (r["metric"], r["kind"]) == (metric, kind)]


def after(name: str) -> Where:
    """Return a function that finds the number after the equals sign of a data set or a model."""
    return lambda row: float(row[name].rpartition("=")[2])


def ratio_of(row: dict[str, str]) -> float:
    """Return the fraction of labeled bags."""
    return float(row["data"].partition(" @ ")[2])


def curve(ax: Any, rows: Rows, x_of: Where, color: str, label: str) -> None:
    """Draw numbers with their standard errors."""
    rows = sorted(rows, key=x_of)
    x, y, error = ([f(row) for row in rows] for f in (x_of, _number("value"), _number("error")))
    ax.errorbar(x, y, error, fmt="o-", color=color, label=label, markersize=4, capsize=2)


def _number(name: str) -> Where:
    return lambda row: float(row[name] or np.nan)


def save(figure: Figure, preset: str) -> None:
    """Write a figure beside the tables it was drawn from."""
    figure.savefig(RESULTS / preset / "figure.png", dpi=110)


def graphs() -> None:
    """Draw accuracy and CPU time on web pages by the fraction of labeled pages."""
    preset = "zhang2011-figure1"
    tables = {metric: rows_of(preset, metric, "nested") for metric in NAMES}
    tasks = list(dict.fromkeys(row["data"].partition(" @ ")[0] for row in tables["accuracy"]))
    models = list(dict.fromkeys(row["model"] for row in tables["accuracy"]))
    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots(2, len(tasks), sharex=True, sharey="row", squeeze=False)
    for line, (metric, rows) in zip(axes, tables.items(), strict=True):
        for ax, task in zip(line, tasks, strict=True):
            for color, model in zip(COLORS, models, strict=False):
                kept = [r for r in rows if r["model"] == model and r["data"].startswith(task + " ")]
                curve(ax, kept, ratio_of, color, model)
            ax.set_yscale("log" if metric == "fit_seconds" else "linear")
        line[0].set_ylabel(NAMES[metric])
    for ax, task in zip(axes[0], tasks, strict=True):
        ax.set_title(task)
    for ax in axes[-1]:
        ax.set_xlabel("fraction of labeled pages")
    axes[0, 0].legend(frameon=False, fontsize="small")
    save(figure, preset)


def networks() -> None:
    """Draw accuracies of networks by the ratio of RMIMN and by the number of bins of GMIMN."""
    preset = "hajimirsadeghi2017-ratio"
    rows = rows_of(preset, "accuracy", "nested")
    sets = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    for axes, name, x in zip(
        figure.subplots(2, len(sets), sharey="col"),
        ("RMIMN", "GMIMN"),
        ("ratio rho", "bins K"),
        strict=True,
    ):
        for ax, data in zip(axes, sets, strict=True):
            here = [row for row in rows if row["data"] == data]
            kept = [row for row in here if row["model"].startswith(name)]
            curve(ax, kept, after("model"), COLORS[name == "GMIMN"], name)
            level = next(_number("value")(row) for row in here if row["model"] == "MIMN")
            ax.axhline(level, color=COLORS[-1], linestyle="--", label="MIMN")
            ax.set_xlabel(x)
            ax.set_title(data)
        axes[0].set_ylabel(f"accuracy of {name}, %")
        axes[0].legend(frameon=False, fontsize="small")
    save(figure, preset)


if __name__ == "__main__":
    graphs()
    networks()
