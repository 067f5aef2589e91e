"""Cross-validation that hides labels instead of bags, for models that see the test bags."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.crossfit import fit_folds, folds, in_order


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
    """Cross-validate an estimator that sees the test bags without their labels.

    Where test bags take part in learning, as linked web pages do, leaving them out would evaluate
    another method. The held-out bags of every fold stay in the fit as ``unlabeled``.

    Parameters
    ----------
    estimator : object
        Its ``fit`` takes ``unlabeled`` bags, as that of `GraphSVC` does.
    bags : Bags, or anything check_bags takes
        Labeled bags.
    y : array-like of shape (n_bags,)
        Their labels.
    unlabeled : Bags, default=None
        Further bags without labels, in every fit.
    cv : int, splitter of scikit-learn or iterable, default=5
        Folds; a number of folds is stratified and keeps ``bags.groups`` together.
    scoring : str, callable or None, default=None
        As in scikit-learn; the estimator's own ``score`` when not given.
    n_jobs : int, default=None
        Number of folds fitted at the same time.
    random_state : int, RandomState or None, default=0
        Seed of the folds.

    Returns
    -------
    dict
        ``test_score`` (one per fold), ``decision`` (one row per bag, from the fit that did not see
        its label) and ``estimator`` (the fitted ones).

    Examples
    --------
    >>> from bagwise import Graph, GraphSVC
    >>> from bagwise.datasets import make_graph_bags
    >>> from bagwise.model_selection import transductive_cv
    >>> data = make_graph_bags(60, homophily=1.0, random_state=0)
    >>> graph = Graph.from_edges(data.edges, directed=True)
    >>> result = transductive_cv(GraphSVC(bag_graph=graph, mu=10.0), data.bags, data.y, cv=3)
    >>> len(result["test_score"])
    3
    """
    bags, y = check_bags(bags), np.asarray(y)
    scorer, splits = check_scoring(estimator, scoring), folds(bags, y, cv, random_state)

    def fit(model: Any, train: Array, test: Array) -> None:
        hidden = bags[test] if unlabeled is None else Bags.concat([bags[test], unlabeled])
        model.fit(bags[train], y[train], unlabeled=hidden)

    def judge(model: Any, held_out: Bags, truth: Array) -> tuple[float, Array, Any]:
        return scorer(model, held_out, truth), model.decision_function(held_out), model

    results = fit_folds(estimator, bags, y, None, splits, judge, fit=fit, n_jobs=n_jobs)
    scores, decisions, models = zip(*results, strict=True)
    return {
        "test_score": np.array(scores),
        "decision": in_order(decisions, splits),
        "estimator": list(models),
    }
