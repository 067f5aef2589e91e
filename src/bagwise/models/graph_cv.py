"""`GraphSVC` over a grid of C and mu, with labels hidden instead of bags.

A fold's bags stay in the graph and lose their labels: all folds share the rows, the edges and the
degrees, and a fit already holds the scores of the bags that are held out. Along the grid every
fit starts from its neighbour's witnesses, and from its cuts, which do not depend on C and mu.
"""

from __future__ import annotations

from itertools import product
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.utils._param_validation import StrOptions

from bagwise._docs import described
from bagwise.bags import Bags
from bagwise.crossfit import folds
from bagwise.models.graph import GraphSVC
from bagwise.models.structure import Start, Structure, mean_scores, padded
from bagwise.segments import segment_max

__all__ = ["GraphSVCCV"]

Array = NDArray[Any]

_CS = tuple(2.0 ** np.arange(-5, 11))
_MUS = (0.0, 0.01, 0.1, 1.0)


@described
class GraphSVCCV(GraphSVC):
    """`GraphSVC` that chooses C and mu by cross-validation over hidden labels.

    Parameters
    ----------
    bag_graph : Graph, default=None
        Edges between bag ids.
    instance_graph : Graph, default=None
        Edges between instance ids.
    Cs : sequence of float, default=(2^-5, ..., 2^10)
        Candidates for C, of the paper and beyond.
    mus : sequence of float, default=(0, 0.01, 0.1, 1)
        Candidates for mu, for both graphs at once.
    scoring : {"accuracy", "roc_auc"}, default="accuracy"
        What decides. Ties go to the smaller mu, then the smaller C.
    cv : int, default=5
        Folds; they keep ``bags.groups`` together. Also those of ``threshold`` and ``probability``.
    scaling : {"out", "symmetric", "none"}, default="out"
        As in `GraphSVC`.
    negatives : {"bags", "instances"}, default="bags"
        As in `GraphSVC`.
    linearize_negatives : bool, default=False
        As in `GraphSVC`.
    eps1, eps2 : float, default=1e-4
        As in `GraphSVC`.
    fit_intercept : bool, default=True
        As in `GraphSVC`.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="linear"
        As in `GraphSVC`.
    gamma : {"median", "scale"} or float, default="median"
        As in `GraphSVC`.
    degree : int, default=3
        As in `GraphSVC`.
    coef0 : float, default=0.0
        As in `GraphSVC`.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes; "balanced" counts bags.
    pos_label : label, default=None
        The class whose bags hold witnesses; ``classes_[1]`` when not given. Two classes only.
    threshold : float or "calibrated", default=0.0
        Bag score above which a bag is positive; "calibrated" chooses it on out-of-fold scores.
    probability : False or "sigmoid", default=False
        With "sigmoid" there is ``predict_proba``, fitted to out-of-fold scores.
    max_iter : int, default=50
        Most convex problems of a fit.
    n_jobs : int, default=None
        Folds run at the same time.
    random_state : int, RandomState or None, default=None
        Seed of the folds; None is seed 0.
    verbose : int, default=0
        Print one line a convex problem.

    Attributes
    ----------
    C_, mu_ : float
        The chosen grid point.
    cv_results_ : list of dict
        ``C``, ``mu``, ``score`` (mean over folds) and ``scores`` of each grid point.
    %(rows_attributes)s

    See Also
    --------
    GraphSVC : At one grid point.

    Examples
    --------
    >>> from bagwise import Graph, GraphSVCCV
    >>> from bagwise.datasets import make_graph_bags
    >>> data = make_graph_bags(40, homophily=1.0, random_state=0)
    >>> graph = Graph.from_edges(data.edges, directed=True)
    >>> model = GraphSVCCV(graph, Cs=[100], mus=[0, 1, 30], cv=3)
    >>> model = model.fit(data.bags, data.y)
    >>> len(model.cv_results_)
    3
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{
            name: constraint
            for name, constraint in GraphSVC._parameter_constraints.items()
            if name not in ("C", "mu", "mu_instances")
        },
        "Cs": ["array-like"],
        "mus": ["array-like"],
        "scoring": [StrOptions({"accuracy", "roc_auc"})],
    }

    def __init__(
        self,
        bag_graph=None,
        instance_graph=None,
        *,
        Cs=_CS,
        mus=_MUS,
        scoring="accuracy",
        cv=5,
        scaling="out",
        negatives="bags",
        linearize_negatives=False,
        eps1=1e-4,
        eps2=1e-4,
        fit_intercept=True,
        kernel="linear",
        gamma="median",
        degree=3,
        coef0=0.0,
        class_weight=None,
        pos_label=None,
        threshold=0.0,
        probability=False,
        max_iter=50,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        super().__init__(
            bag_graph,
            instance_graph,
            scaling=scaling,
            negatives=negatives,
            linearize_negatives=linearize_negatives,
            eps1=eps1,
            eps2=eps2,
            fit_intercept=fit_intercept,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            class_weight=class_weight,
            pos_label=pos_label,
            threshold=threshold,
            probability=probability,
            cv=cv,
            max_iter=max_iter,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        del self.C, self.mu, self.mu_instances
        self.Cs = Cs
        self.mus = mus
        self.scoring = scoring

    def _fit_structure(
        self, structure: Structure, everyone: Bags, codes: Array, weight: Array
    ) -> None:
        labelled = everyone[: len(codes)]
        seed = 0 if self.random_state is None else self.random_state
        splits = folds(labelled, self.classes_[codes], self.cv, seed)
        grid = list(product(sorted(self.mus), sorted(self.Cs)))
        jobs = Parallel(n_jobs=self.n_jobs, prefer="threads")
        scores = np.array(
            jobs(
                delayed(self._held_out)(structure, codes, weight, grid, *split) for split in splits
            )
        )  # (n_folds, n_points)
        self.cv_results_ = [
            {"C": C, "mu": mu, "score": float(column.mean()), "scores": column}
            for (mu, C), column in zip(grid, scores.T, strict=True)
        ]
        best = max(self.cv_results_, key=lambda record: record["score"])
        self.C_, self.mu_ = best["C"], best["mu"]
        chosen = self._at(self.C_, self.mu_)
        chosen._fit_structure(structure, everyone, codes, weight)
        self.__dict__.update({k: v for k, v in vars(chosen).items() if k.endswith("_")})

    def _at(self, C: float, mu: float) -> GraphSVC:
        shared = self.get_params(deep=False)
        for name in ("Cs", "mus", "scoring"):
            del shared[name]
        model = GraphSVC(C=C, mu=mu, **shared)
        fitted = {k: v for k, v in vars(self).items() if k.endswith("_") and k[0] != "_"}
        model.__dict__.update(fitted)
        return model

    def _held_out(
        self,
        structure: Structure,
        codes: Array,
        weight: Array,
        grid: list[tuple[float, float]],
        train: Array,
        test: Array,
    ) -> list[float]:
        """Return the score on hidden labels at each grid point, each fit from its neighbour."""
        seen = np.zeros(len(codes), dtype=bool)
        seen[train] = True
        share = padded(np.where(seen, weight, 0.0) / weight[seen].sum(), structure.n_bags)
        columns = []
        for column in self._labelled_truth(codes, weight * seen).T:
            positive = padded(column, structure.n_bags, False)
            path = self._path(structure, share, positive, grid)
            columns.append([segment_max(rows, structure.offsets)[test] for rows in path])
        stacked: Array = np.moveaxis(np.array(columns), 0, 2)  # (n_points, n_test, n_models)
        return [self._rated(scores, codes[test], weight[test]) for scores in stacked]

    def _path(
        self, structure: Structure, share: Array, positive: Array, grid: list[tuple[float, float]]
    ) -> list[Array]:
        """Return the scores of all rows at each grid point."""
        start, path = None, []
        for mu, C in grid:
            model = self._at(C, mu)
            terms = model._terms(structure, share, positive)
            if start is None:
                start = Start(mean_scores(structure, C * share, positive))
            solution = model._descend(structure, terms, start).solution
            start = Start(solution.scores, solution)
            path.append(solution.scores)
        return path

    def _rated(self, scores: Array, codes: Array, weight: Array) -> float:
        user = self._user_scores(scores)
        if self.scoring == "roc_auc":
            if user.ndim == 2:
                raise ValueError("scoring='roc_auc' is for two classes; use 'accuracy'.")
            return float(roc_auc_score(codes, user, sample_weight=weight))
        right = self._labels(user) == self.classes_[codes]
        return float(np.average(right, weights=weight))
