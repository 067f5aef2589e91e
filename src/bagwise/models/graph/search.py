"""`GraphSVC` over a grid of C and mu, with labels hidden instead of bags.

A fold's bags stay in the graph and lose their labels: all folds share the rows, the edges and the
degrees, and a fit already holds the scores of the bags that are held out. Along the grid every
fit starts from its neighbor's witnesses, and from its cuts, which do not depend on C and mu.

Reference: D. Zhang, Y. Liu, L. Si, J. Zhang, R. D. Lawrence, "Multiple instance learning on
structured data", NIPS 2011.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import segment_max
from bagwise.crossfit import folds
from bagwise.estimators.folds import rate_scores
from bagwise.estimators.params import Words, param
from bagwise.models.graph.base import GraphClassifier, Structure, mean_scores, pad
from bagwise.models.graph.svc import GraphSVC

_CS = tuple(2.0**k for k in range(-5, 11))
_MUS = (0.0, *(10.0**k for k in range(-2, 1)))


class GraphSVCCV(GraphClassifier):
    """`GraphSVC` that chooses C and mu by cross-validation over hidden labels.

    Attributes
    ----------
    C_, mu_ : float
        The chosen grid point.
    cv_results_ : list of dict
        ``C``, ``mu``, ``score`` (mean over folds) and ``scores`` of each grid point.

    See Also
    --------
    GraphSVC : At one grid point.

    Examples
    --------
    >>> from bagwise import Graph, GraphSVCCV
    >>> from bagwise.datasets import make_graph_bags
    >>> data = make_graph_bags(40, homophily=1.0, random_state=0)
    >>> graph = Graph.from_edges(data.edges, directed=True)
    >>> model = GraphSVCCV(bag_graph=graph, Cs=[100], mus=[0, 1, 30], cv=3)
    >>> model = model.fit(data.bags, data.y)
    >>> len(model.cv_results_)
    3
    """

    Cs: Any = param(
        _CS,
        ["array-like"],
        "Candidates for C: those of the paper, and larger ones.",
    )
    mus: Any = param(_MUS, ["array-like"], "Candidates for mu, for both graphs at once.")
    scoring: str = param(
        "accuracy",
        Words("accuracy", "roc_auc"),
        "What is maximized. Ties go to the smaller mu, then to the smaller C.",
    )
    cv: Any = param(
        5,
        ["cv_object"],
        "Folds of the search; a number of folds is stratified and keeps ``bags.groups`` together.",
        kind="int, splitter or iterable of folds",
    )

    def _fit_structure(
        self, structure: Structure, everyone: Bags, codes: Array, weight: Array
    ) -> None:
        labeled = everyone[: len(codes)]
        splits = folds(labeled, self.classes_[codes], self.cv, self.random_state)
        grid = list(product(sorted(self.mus), sorted(self.Cs)))
        jobs = Parallel(n_jobs=self.n_jobs, prefer="threads")
        scores = np.array(
            jobs(
                delayed(self._score_held_out)(structure, codes, weight, grid, *split)
                for split in splits
            )
        )  # (n_folds, n_points)
        results = [
            {"C": C, "mu": mu, "score": float(column.mean()), "scores": column}
            for (mu, C), column in zip(grid, scores.T, strict=True)
        ]
        best = max(results, key=lambda record: record["score"])
        chosen = self._at(best["C"], best["mu"])
        chosen._fit_structure(structure, everyone, codes, weight)
        self._become(chosen)
        self.C_, self.mu_, self.cv_results_ = best["C"], best["mu"], results

    def _at(self, C: float, mu: float) -> GraphSVC:
        return self._recast(GraphSVC, C=C, mu=mu)

    def _score_held_out(
        self,
        structure: Structure,
        codes: Array,
        weight: Array,
        grid: list[tuple[float, float]],
        train: Array,
        test: Array,
    ) -> list[float]:
        """Return the score on hidden labels at each grid point, each fit from its neighbor."""
        seen = np.zeros(len(codes), dtype=bool)
        seen[train] = True
        share = pad(np.where(seen, weight, 0.0) / weight[seen].sum(), structure.n_bags)
        columns = []
        for column in self._find_truth(codes, weight * seen).T:
            positive = pad(column, structure.n_bags, False)
            path = self._path(structure, share, positive, grid)
            columns.append([segment_max(rows, structure.offsets)[test] for rows in path])
        stacked: Array = np.moveaxis(np.array(columns), 0, 2)  # (n_points, n_test, n_models)
        return [rate_scores(self, scores, codes[test], weight[test]) for scores in stacked]

    def _path(
        self, structure: Structure, share: Array, positive: Array, grid: list[tuple[float, float]]
    ) -> list[Array]:
        """Return the scores of all rows at each grid point."""
        scores, last, path = mean_scores(structure, grid[0][1] * share, positive), None, []
        for mu, C in grid:
            model = self._at(C, mu)
            terms = model._terms(structure, share, positive)
            last = model._run_cccp(structure, terms, scores, last).solution
            scores = last.scores
            path.append(scores)
        return path
