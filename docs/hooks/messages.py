"""Warnings, and errors that the battery of bad inputs has no door for: each is provoked here.

Each case is a title and a call. The page of error messages quotes the first warning of the call, or
the error that it ends in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

from bagwise import (
    AnnealedLabelSVC,
    Annealing,
    BagEnsemble,
    CoxBag,
    Graph,
    GraphSVC,
    LabelProportionLogistic,
    LabelProportionSVC,
    MarkovNetworkClassifier,
    MeanRegressor,
    MeanSVC,
    OptimalMarginSVC,
    OrdinalBagClassifier,
    Pool,
    WitnessSVC,
    by_paper_name,
)
from bagwise.crossfit.scores import warn_if_below_chance
from bagwise.datasets import fetch, make_gaussian_bags
from bagwise.model_selection import ConformalBagClassifier

Case = tuple[str, Callable[[], Any]]
BAGS, Y = make_gaussian_bags(n_bags=20, random_state=0)
SHARES = np.linspace(0, 1, len(BAGS))
LINKED = BAGS.replace(ids=np.arange(len(BAGS)))
UNEQUAL = Graph.from_edges([(i, j) for i in np.flatnonzero(Y) for j in np.flatnonzero(1 - Y)])


def _absent() -> Any:
    with patch.dict(os.environ, BAGWISE_DATA="my_data", BAGWISE_CACHE="my_cache"):
        return fetch("newsgroups")


WARNINGS: list[Case] = [
    ("labels of another kind", lambda: MeanRegressor().fit(BAGS, Y)),
    ("few events", lambda: CoxBag().fit(BAGS, np.column_stack([Y, 1.0 + Y]))),
    ("positive class", lambda: WitnessSVC().fit(BAGS, np.where(Y, "benign", "tumor"))),
    (
        "one row per bag",
        lambda: WitnessSVC().fit(np.vstack([BAGS.X[:9], 9 + BAGS.X[:9]]), [0, 1] * 9),
    ),
    (
        "scale",
        lambda: WitnessSVC().fit(BAGS.replace(X=BAGS.X * [1e4, *[1] * (BAGS.n_features - 1)]), Y),
    ),
    ("worse than chance", lambda: warn_if_below_chance(-Y[:, None], Y[:, None])),
    ("not converged", lambda: WitnessSVC(kernel="linear", max_iter=1).fit(BAGS, Y)),
    ("not converged", lambda: OptimalMarginSVC(pool=Pool(max_columns=2)).fit(BAGS, Y)),
    ("not converged", lambda: MarkovNetworkClassifier(max_iter=2).fit(BAGS, Y)),
    ("not converged", lambda: LabelProportionSVC(init="random", max_iter=1).fit(BAGS, SHARES)),
    ("not converged", lambda: LabelProportionLogistic(max_iter=2).fit(BAGS, SHARES)),
    ("graph", lambda: GraphSVC(bag_graph=UNEQUAL).fit(LINKED, Y)),
    (
        "out-of-bag scores",
        lambda: BagEnsemble(estimator=MeanSVC(), n_estimators=2, oob_score=True).fit(BAGS, Y),
    ),
    (
        "annealing",
        lambda: AnnealedLabelSVC(loss="hinge", annealing=Annealing(T0=1e4), C=1e-4).fit(BAGS, Y),
    ),
]
LATER: list[Case] = [
    ("numbers, grades and times", lambda: MeanRegressor().fit(BAGS, np.where(Y, "high", "low"))),
    ("numbers, grades and times", lambda: WitnessSVC().fit(BAGS, Y + 0.5)),
    ("numbers, grades and times", lambda: OrdinalBagClassifier(order=[1, 2]).fit(BAGS, Y)),
    ("numbers, grades and times", lambda: CoxBag().fit(BAGS, Y)),
    ("numbers, grades and times", lambda: CoxBag().fit(BAGS, np.column_stack([0 * Y, Y]))),
    ("names", lambda: by_paper_name("MI-SVN")),
    ("names", lambda: fetch("muks1")),
    ("data set that is not here", _absent),
    ("shares", lambda: LabelProportionSVC().fit(BAGS)),
    ("shares", lambda: LabelProportionSVC().fit(BAGS, SHARES[:3])),
    ("shares", lambda: LabelProportionSVC().fit(BAGS, 100 * SHARES)),
    ("shares", lambda: LabelProportionSVC().fit(BAGS, 0 * SHARES)),
    (
        "conformal sets",
        lambda: (
            ConformalBagClassifier(estimator=MeanSVC()).fit(BAGS, Y).predict_set(BAGS, level=90)
        ),
    ),
    ("graph", lambda: GraphSVC(bag_graph=UNEQUAL).fit(BAGS, Y)),
    ("graph", lambda: GraphSVC(bag_graph=["links"]).fit(LINKED, Y)),
    ("graph", lambda: GraphSVC(bag_graph=Graph.from_edges([("a", "b")])).fit(LINKED, Y)),
    ("place of the rows", lambda: BAGS.to("gpu")),
    ("place of the rows", lambda: BAGS.to("dask")),
]
