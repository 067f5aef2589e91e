"""What a graph adds, depending on its homophily: accuracy and AUC on unlabeled bags.

    python examples/homophily.py [--draws 5] [--out docs/homophily.png]

Homophily is the fraction of edges between bags with equal labels. The bags come from
`make_graph_bags`: labeled and unlabeled bags use different words, so the text alone says nothing
about the unlabeled ones. C and mu are fixed.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import roc_auc_score

from bagwise import Graph, GraphSVC
from bagwise.datasets import make_graph_bags

HOMOPHILY = np.array([0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0])
C, MU = 100.0, 30.0
LINES = (("#0072b2", "o-"), ("#d55e00", "s--"))


def judged(homophily: float, mu: float, seed: int) -> tuple[float, float]:
    """Return accuracy and AUC on the unlabeled half."""
    data = make_graph_bags(200, homophily, random_state=seed)
    graph = Graph.from_edges(data.edges, directed=True)
    seen, hidden = data.labeled, ~data.labeled
    model = GraphSVC(bag_graph=graph, C=C, mu=mu, tol=1e-3)
    model.fit(data.bags[seen], data.y[seen], unlabeled=data.bags[hidden])
    scores, y = model.decision_function(data.bags[hidden]), data.y[hidden]
    return float(np.mean((scores > 0) == y)), roc_auc_score(y, scores)


def curves(draws: int) -> dict[str, np.ndarray]:
    """Return (draw, homophily, measure) with the graph and without."""
    return {
        label: np.array([[judged(h, mu, seed) for h in HOMOPHILY] for seed in range(draws)])
        for label, mu in (("with the graph (mu = 30)", MU), ("without it (mu = 0)", 0.0))
    }


def draw(found: dict[str, np.ndarray], path: Path) -> None:
    """Draw the means, and the range over draws as bands."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for k, (axes, title) in enumerate(zip(panels, ("accuracy", "AUC"), strict=True)):
        for (label, values), (color, style) in zip(found.items(), LINES, strict=True):
            axes.plot(HOMOPHILY, values[:, :, k].mean(axis=0), style, color=color, label=label)
            low, high = values[:, :, k].min(axis=0), values[:, :, k].max(axis=0)
            axes.fill_between(HOMOPHILY, low, high, color=color, alpha=0.2, linewidth=0)
        axes.set(
            title=f"{title} on unlabeled bags", xlabel="fraction of edges between equal labels"
        )
        axes.set_ylim(0.25, 1.03)
        axes.grid(alpha=0.3)
    panels[0].legend(loc="upper left", frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Compute the curves, print them and draw the figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("docs/homophily.png"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # homophily below one half, by chance
    found = curves(options.draws)
    for label, values in found.items():
        for k, measure in enumerate(("accuracy", "AUC")):
            means = np.round(values[:, :, k].mean(axis=0), 3).tolist()
            print(f"{label}, {measure}: {means} at {HOMOPHILY.tolist()}")
    draw(found, options.out)


if __name__ == "__main__":
    main()
