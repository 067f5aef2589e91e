"""sawmil: SVMs on bags, with an RBF kernel of width 1 / d on standardized features."""

import numpy as np
from sawmil import NSK, RBF, Bag, sAwMIL, sMIL
from scaled import split_like, standardizer

PACKAGES = ("sawmil", "osqp")
RANDOM = set()


def entry(make):
    """Return an entry for a class of sawmil."""

    def fit(bags, y, seed, budget):
        scale = standardizer(bags)
        model = make(RBF(gamma=1 / bags[0].shape[1]))
        signs = np.where(y == 1, 1.0, -1.0)
        model.fit([Bag(X=b, y=s) for b, s in zip(scale(bags), signs, strict=True)])

        def predict(new):
            new = scale(new)
            score = np.ravel(model.decision_function([Bag(X=b, y=0.0) for b in new]))
            rows = [Bag(X=row[None], y=0.0) for b in new for row in b]
            return {
                "score": score,
                "label": score > 0,
                "instances": lambda: split_like(np.ravel(model.decision_function(rows)), new),
            }

        return predict

    return fit


SYSTEMS = {
    "sawmil NSK": entry(lambda kernel: NSK(C=1.0, kernel=kernel, solver="osqp")),
    "sawmil sMIL": entry(lambda kernel: sMIL(C=1.0, kernel=kernel, solver="osqp")),
    "sawmil sAwMIL": entry(lambda k: sAwMIL(C=1.0, kernel=k, sil_kernel=k, solver="osqp")),
}
