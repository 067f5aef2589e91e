"""Draw docs/margins.png: margins of MI-ODM, MI-SVM and Ins-KI-SVM on bags of digits.

python docs/make_margins.py
"""

from __future__ import annotations

from pathlib import Path

from bagwise import KeyInstanceSVC, OptimalMarginSVC, WitnessSVC
from bagwise.datasets import load_digits_bags
from bagwise.plot import margin_distribution


def main() -> None:
    """Fit three models to 200 bags of digits and draw their training margins."""
    bags, y = load_digits_bags(n_bags=200)
    models = {
        "MI-ODM": OptimalMarginSVC(C_pos=100.0, C_neg=100.0, relax=False, threshold=0.0),
        "Ins-KI-SVM": KeyInstanceSVC(C=10.0, relax=False, threshold=0.0),
        "MI-SVM": WitnessSVC(C=10.0),
    }
    fitted = {name: model.fit(bags, y) for name, model in models.items()}
    figure = margin_distribution(fitted, bags, y, title="Bags of digits: margins after training")
    figure.savefig(Path(__file__).parent / "margins.png", dpi=130)


if __name__ == "__main__":
    main()
