"""Cross-validation that hides labels instead of bags, for learners that see the test bags."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import check_scoring

from bagwise.bags import Bags, check_bags
from bagwise.crossfit import folds

__all__ = ["transductive_cv"]

Array = NDArray[Any]


def transductive_cv(
    estimator: Any,
    bags: Any,
    y: Any,
    *,
    unlabeled: Any = None,
    cv: Any = 5,
    scoring: Any = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Score an estimator on bags whose labels it did not see, but which it saw without them.

    Where test bags take part in learning, as linked pages do, leaving them out would judge another
    method. Every fold's bags stay in the fit as ``unlabeled``.

    Parameters
    ----------
    estimator : object
        Its ``fit`` takes ``unlabeled`` bags, as that of `GraphSVC` does.
    bags : Bags, or anything check_bags takes
        Labelled bags.
    y : array-like of shape (n_bags,)
        Their labels.
    unlabeled : Bags, default=None
        Further bags without labels, in every fit.
    cv : int, splitter of scikit-learn or iterable, default=5
        Folds; a number of folds is stratified and keeps ``bags.groups`` together.
    scoring : str, callable or None, default=None
        As in scikit-learn; the estimator's own ``score`` when not given.
    n_jobs : int, default=None
        Folds run at the same time.
    random_state : int, RandomState or None, default=0
        Seed of the folds.

    Returns
    -------
    dict
        ``test_score`` (one a fold), ``decision`` (one row a bag, from the fit that did not see its
        label) and ``estimator`` (the fitted ones).

    Examples
    --------
    >>> from bagwise import Graph, GraphSVC
    >>> from bagwise.datasets import make_graph_bags
    >>> from bagwise.model_selection import transductive_cv
    >>> data = make_graph_bags(60, homophily=1.0, random_state=0)
    >>> graph = Graph.from_edges(data.edges, directed=True)
    >>> result = transductive_cv(GraphSVC(graph, mu=10.0), data.bags, data.y, cv=3)
    >>> len(result["test_score"])
    3
    """
    bags, y = check_bags(bags), np.asarray(y)
    scorer = check_scoring(estimator, scoring)

    def one(train: Array, test: Array) -> tuple[float, Array, Any]:
        hidden = bags[test] if unlabeled is None else Bags.concat([bags[test], unlabeled])
        model = clone(estimator).fit(bags[train], y[train], unlabeled=hidden)
        return scorer(model, bags[test], y[test]), model.decision_function(bags[test]), model

    splits = folds(bags, y, cv, random_state)
    parts = Parallel(n_jobs=n_jobs)(delayed(one)(*split) for split in splits)
    decision = np.empty((len(bags), *parts[0][1].shape[1:]))
    for (_, test), (_, scores, _) in zip(splits, parts, strict=True):
        decision[test] = scores
    return {
        "test_score": np.array([score for score, _, _ in parts]),
        "decision": decision,
        "estimator": [model for _, _, model in parts],
    }
