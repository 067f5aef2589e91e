"""Extremely randomized trees on statistics of bags: the baseline that most papers leave out."""

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

PACKAGES = ("scikit-learn",)
RANDOM = {"ExtraTrees on statistics"}


def describe(bags):
    """Return mean, std, min, max and quartiles of each feature, and the size."""
    levels = (0.25, 0.5, 0.75)
    rows = [
        [
            *b.mean(0),
            *b.std(0),
            *b.min(0),
            *b.max(0),
            *np.quantile(b, levels, axis=0).ravel(),
            len(b),
        ]
        for b in bags
    ]
    return np.array(rows)


def fit(bags, y, seed, budget):
    """Fit 500 trees."""
    model = ExtraTreesClassifier(500, random_state=seed).fit(describe(bags), y)

    def predict(new):
        chance = model.predict_proba(describe(new))[:, 1]
        return {"score": chance, "probability": chance, "label": chance > 0.5}

    return predict


SYSTEMS = {"ExtraTrees on statistics": fit}
