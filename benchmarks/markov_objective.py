"""The objective that training a Markov network reaches, compared with CCCP and L-BFGS.

Called by `python benchmarks/markov.py objective`. All instances are scaled to [0, 1] and mapped by
the intersection map (n = 1), without normalization to unit norm, so that alpha is the paper's
lambda. CCCP solves each convex majorizer to a gap of 0.1 % and runs to its fixed point from four
starts: all instances of a bag take its label, bag means, w = 0 and one random point. L-BFGS runs
from the same four. The column "ratio" is our objective divided by the best of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.preprocessing import MinMaxScaler

from bagwise import Bags, MarkovNetworkClassifier
from bagwise.assumptions import CountInference
from bagwise.datasets import fetch
from bagwise.designs import matrix_design
from bagwise.models.markov import descents
from bagwise.models.markov.risk import InstanceOperator, MarkovRisk
from bagwise.preprocessing import IntersectionMap
from bagwise.solvers.bundle import bmrm

STARTS = ("instances", "mean", "zero", "random")
COLUMNS = ["data", "cardinality", "alpha", "ours", "gap", "rounds", "cccp", "lbfgs", "ratio"]


def mapped(name: str) -> tuple[Bags, Any]:
    bags, y = fetch(name)
    X = IntersectionMap(n=1).fit_transform(MinMaxScaler().fit_transform(bags.X))
    return bags.replace(X=X), np.unique(y, return_inverse=True)[1]


def value(risk: MarkovRisk, alpha: float, w: Any) -> float:
    return risk.evaluate(risk.forward(w))[0] + alpha / 2 * float(w @ w)


def cccp(risk: MarkovRisk, alpha: float, w: Any, steps: int = 40) -> float:
    reached = value(risk, alpha, w)
    for _ in range(steps):
        w = bmrm(risk.freeze(risk.forward(w)), alpha, w, tol=1e-3).coef
        last, reached = reached, value(risk, alpha, w)
        if reached >= last * (1 - 1e-4):
            break
    return min(reached, last)


def lbfgs(risk: MarkovRisk, alpha: float, w: Any) -> float:
    def with_gradient(w: Any) -> tuple[float, Any]:
        z = risk.forward(w)
        of_risk, r = risk.evaluate(z)
        return of_risk + alpha / 2 * float(w @ w), risk.backward(r) + alpha * w

    options = {"maxiter": 500, "maxfun": 1000}
    return float(minimize(with_gradient, w, jac=True, method="L-BFGS-B", options=options).fun)


def row(name: str, cardinality: str, alpha: float) -> dict[str, Any]:
    bags, y = mapped(name)
    model = MarkovNetworkClassifier(cardinality=cardinality, alpha=alpha, unit_norm=False)
    model.fit(bags, y)
    inference = CountInference(model.potential_, bags.offsets)
    none = np.empty((len(y), 0))
    operator = InstanceOperator(matrix_design(bags.X))
    risk = MarkovRisk(operator, inference, none, y, 2, np.ones(len(y)))
    points = [descents.STARTS[start](risk, alpha, 1e-2, 0) for start in STARTS]
    best_cccp = min(cccp(risk, alpha, w) for w in points)
    best_lbfgs = min(lbfgs(risk, alpha, w) for w in points)
    ours = float(model.objective_[0])
    return {
        **{"data": name, "cardinality": cardinality, "alpha": alpha, "ours": round(ours, 3)},
        **{"gap": round(float(model.gap_[0]), 3), "rounds": model.n_iter_},
        **{"cccp": round(best_cccp, 3), "lbfgs": round(best_lbfgs, 3)},
        "ratio": round(ours / min(best_cccp, best_lbfgs), 4),
    }


def objective(Table: Any) -> None:
    table = Table("objective", COLUMNS)
    for name in ("musk1", "elephant"):
        for cardinality in ("any", "ratio", "learned"):
            for alpha in (1.0, 10.0):
                key = {"data": name, "cardinality": cardinality, "alpha": alpha}
                if not table.has(**key):
                    table.add([row(name, cardinality, alpha)])
