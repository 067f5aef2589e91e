"""What training a Markov network reaches, beside CCCP and L-BFGS from several starts.

Called by `python benchmarks/markov.py objective`. Instances are scaled to [0, 1] and mapped by the
intersection map (n = 1), all of them, at their own scale (no unit norm): lambda is the paper's.
CCCP solves each convex majoriser to a gap of 0.1 % and runs to its fixed point, from the start
in which whole bags speak for their class, from bag means, from w = 0 and from one random point;
L-BFGS runs from the same four. The column "ratio" is ours over the best of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.preprocessing import MinMaxScaler

from bagwise import Bags, MarkovNetworkClassifier
from bagwise.cardinality import CountInference
from bagwise.datasets import fetch
from bagwise.designs import matrix_design
from bagwise.models.markov_starts import start_point
from bagwise.oracles_markov import InstanceOperator, MarkovRisk
from bagwise.preprocessing import IntersectionMap
from bagwise.solvers.bundle import bmrm

STARTS = ("whole", "means", "zero", "random")
COLUMNS = ["data", "cardinality", "lambda", "ours", "gap", "rounds", "cccp", "lbfgs", "ratio"]


def mapped(name: str) -> tuple[Bags, Any]:
    bags, y = fetch(name)
    X = IntersectionMap(1).fit_transform(MinMaxScaler().fit_transform(bags.X))
    return bags.replace(X=X), np.unique(y, return_inverse=True)[1]


def value(risk: MarkovRisk, lambda_: float, w: Any) -> float:
    return risk.evaluate(risk.forward(w))[0] + lambda_ / 2 * float(w @ w)


def cccp(risk: MarkovRisk, lambda_: float, w: Any, steps: int = 40) -> float:
    reached = value(risk, lambda_, w)
    for _ in range(steps):
        w = bmrm(risk.frozen(risk.forward(w)), lambda_, w, tol=1e-3).coef
        last, reached = reached, value(risk, lambda_, w)
        if reached >= last * (1 - 1e-4):
            break
    return min(reached, last)


def lbfgs(risk: MarkovRisk, lambda_: float, w: Any) -> float:
    def with_gradient(w: Any) -> tuple[float, Any]:
        z = risk.forward(w)
        of_risk, r = risk.evaluate(z)
        return of_risk + lambda_ / 2 * float(w @ w), risk.backward(r) + lambda_ * w

    options = {"maxiter": 500, "maxfun": 1000}
    return float(minimize(with_gradient, w, jac=True, method="L-BFGS-B", options=options).fun)


def row(name: str, cardinality: str, lambda_: float) -> dict[str, Any]:
    bags, y = mapped(name)
    model = MarkovNetworkClassifier(cardinality, lambda_=lambda_, unit_norm=False).fit(bags, y)
    inference = CountInference(model.potential_, bags.offsets)
    none = np.empty((len(y), 0))
    operator = InstanceOperator(matrix_design(bags.X))
    risk = MarkovRisk(operator, inference, none, y, 2, np.ones(len(y)))
    points = [start_point(start, risk, lambda_, 1e-2, 0) for start in STARTS]
    best_cccp = min(cccp(risk, lambda_, w) for w in points)
    best_lbfgs = min(lbfgs(risk, lambda_, w) for w in points)
    ours = float(model.objective_[0])
    return {
        **{"data": name, "cardinality": cardinality, "lambda": lambda_, "ours": round(ours, 3)},
        **{"gap": round(float(model.gap_[0]), 3), "rounds": model.n_iter_},
        **{"cccp": round(best_cccp, 3), "lbfgs": round(best_lbfgs, 3)},
        "ratio": round(ours / min(best_cccp, best_lbfgs), 4),
    }


def objective(Table: Any) -> None:
    table = Table("objective", COLUMNS)
    for name in ("musk1", "elephant"):
        for cardinality in ("any", "ratio", "learned"):
            for lambda_ in (1.0, 10.0):
                key = {"data": name, "cardinality": cardinality, "lambda": lambda_}
                if not table.has(**key):
                    table.add([row(name, cardinality, lambda_)])
