"""Draw docs/margins.png: margins of MI-ODM, MI-SVM and Ins-KI-SVM on bags of digits.

python docs/make_margins.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from bagwise import KeyInstanceSVC, OptimalMarginSVC, WitnessSVC
from bagwise.bags.segments import expand
from bagwise.datasets import load_digits_bags
from bagwise.plot._display import STYLES


def draw(models, bags, y) -> Figure:
    """Draw margins divided by their mean: of positive bags, and of instances of negative bags.

    The margin of a positive bag is its highest instance score, that of a negative instance is minus
    its score.
    """
    figure = Figure(layout="constrained")
    axes, bins = figure.subplots(1, 2), np.linspace(0, 2.5, 26)
    for style, (name, model) in zip(STYLES, models.items(), strict=False):
        scores = model.instance_decision_function(bags)
        parts = model.decision_function(bags)[y == 1], -scores[expand(y == 0, bags.offsets)]
        every = np.concatenate(parts)
        label = f"{name} (mean {every.mean():.2f}, sd {every.std():.2f})"
        for axis, part in zip(axes, parts, strict=True):
            weights = np.full(len(part), 1 / len(part))
            lines = {"color": style["color"], "linestyle": style["linestyle"], "label": label}
            axis.hist(part / abs(every.mean()), bins, weights=weights, histtype="step", **lines)
    for axis, what in zip(axes, ("positive bags", "negative instances"), strict=True):
        axis.set(title=what, xlabel="margin / mean margin")
        axis.axvline(0, color="black", linewidth=0.8)
    axes[0].set_ylabel("fraction")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize="small")
    figure.suptitle("Bags of digits: margins after training")
    return figure


def main() -> None:
    """Fit three models to 200 bags of digits and draw their training margins."""
    bags, y = load_digits_bags(n_bags=200)
    models = {
        "MI-ODM": OptimalMarginSVC(C_pos=100.0, C_neg=100.0, relax=False, threshold=0.0),
        "Ins-KI-SVM": KeyInstanceSVC(C=10.0, relax=False, threshold=0.0),
        "MI-SVM": WitnessSVC(C=10.0),
    }
    fitted = {name: model.fit(bags, y) for name, model in models.items()}
    draw(fitted, bags, y).savefig(Path(__file__).parent / "margins.png", dpi=130)


if __name__ == "__main__":
    main()
