"""Average ranks of systems over sets, and the figure of critical differences (Demsar, JMLR 2006).

Two of k systems on N sets differ at a level of 5 % where their average ranks differ by more than
q sqrt(k (k + 1) / (6 N)), with q the quantile of the studentized range over sqrt(2) (Nemenyi).
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from scipy.stats import rankdata, studentized_range

from bagwise.plot._display import POSITIVE, new_axes, plain


def rank(names: list[str], values: Any) -> list[tuple[str, float]]:
    """Return systems with their average ranks, the best (the highest values) first; ties share."""
    ranks = rankdata(-np.asarray(values), axis=1).mean(axis=0)
    return [(names[i], float(ranks[i])) for i in np.argsort(ranks, kind="stable")]


def find_critical(n_systems: int, n_sets: int) -> float:
    """Return the critical difference of average ranks."""
    quantile = studentized_range.ppf(0.95, n_systems, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_systems * (n_systems + 1) / (6 * n_sets)))


def find_runs(ranks: list[float], critical: float) -> list[tuple[int, int]]:
    """Return first and last of the longest runs of sorted ranks that are not further apart."""
    runs: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        # Rounding of average ranks must not part systems that are exactly that far apart.
        last = sum(other - rank <= critical + 1e-12 for other in ranks) - 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def draw(ranked: list[tuple[str, float]], critical: float, title: str) -> Any:
    """Draw ranks on a line, the best on the left; bars join systems that are not further apart."""
    n, ranks = len(ranked), [rank for _, rank in ranked]
    runs, half = find_runs(ranks, critical), (len(ranked) + 1) // 2
    below = 1.2 + 0.35 * len(runs)  # where the names begin
    axes = new_axes(ceil(below + half))
    axes.plot([1, n], [0, 0], color="black", linewidth=1)
    for tick in range(1, n + 1):
        axes.plot([tick, tick], [0, -0.2], color="black", linewidth=1)
        axes.text(tick, -0.35, str(tick), ha="center", va="bottom", fontsize="small")
    bars = [(1, 1 + critical, -1.5, 2.5)]
    bars += [
        (ranks[a] - 0.04, ranks[b] + 0.04, 0.55 + 0.35 * i, 3) for i, (a, b) in enumerate(runs)
    ]
    for start, end, level, width in bars:
        style = {"color": POSITIVE, "linewidth": width, "solid_capstyle": "butt"}
        axes.plot([start, end], [level, level], **style)
    text = f"  critical difference {critical:.2f}"
    axes.text(1 + critical, -1.5, text, va="center", fontsize="small")
    for i, (name, rank) in enumerate(ranked):
        left = i < half
        level, end = below + (i if left else n - 1 - i), 0.85 if left else n + 0.15
        axes.plot([rank, rank, end], [0, level, level], color="black", linewidth=0.8)
        axes.plot([rank], [0], marker="o", color="black", markersize=3)
        words = [plain(name), f"{rank:.2f}"] if left else [f"{rank:.2f}", plain(name)]
        place = {"x": end - 0.07, "ha": "right"} if left else {"x": end + 0.07, "ha": "left"}
        axes.text(y=level, s="  ".join(words), va="center", fontsize="small", **place)
    axes.set(xlim=(0.0, n + 1.0), ylim=(below + half, -2.3))
    axes.axis("off")
    axes.set_title(title, fontsize="medium")
    return axes.get_figure()
