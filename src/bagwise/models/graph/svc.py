"""Multiple-instance learning on structured data (Zhang, Liu, Si, Zhang & Lawrence 2011).

`GraphSVC` is B-MILSD with a graph over bags, I-MILSD with a graph over instances, BI-MILSD with
both, and MI-SVM without any. With f_k = w.x_k + b and f(B_i) = max_{k in i} f_k it descends

    min_{w,b} 1/2|w|^2 + 1/2 b^2 + C/n sum_i max(0, 1 - Y_i f(B_i))                             (1)
              + mu/|E| sum_{(p,q) in E} w_pq |f(B_p) / sqrt(d_p) - f(B_q) / sqrt(d_q)|
              + mu'/|E'| sum_{(k,l) in E'} w_kl |f_k / sqrt(d_k) - f_l / sqrt(d_l)|

by CCCP over cutting planes. n is the weight of the labeled bags; d are degrees, at least 1, and
E the edges, of the graph between the bags of this fit, labeled or not. Several graphs over the same
bags (views) have one such term each.

Departures. The print also replaces the maximum of negative bags by a witness in every convex
problem (2). The hinge of a negative bag is convex as it stands, and its linearization lies below
it: the true objective then rises. Negatives stay exact here; ``negatives="witnesses"`` is the
printed version. Weights w_pq, other scalings, one slack per negative instance and kernels are
added.

Reference: D. Zhang, Y. Liu, L. Si, J. Zhang, R. D. Lawrence, "Multiple instance learning on
structured data", NIPS 2011.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.designs import matrix_design
from bagwise.estimators.params import Words, param, positive, shared
from bagwise.estimators.rows import RowsClassifier
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import as_given
from bagwise.graphs import Edges, Graph
from bagwise.models.graph.structure import (
    Structure,
    check_graph_ids,
    find_present_edges,
    homophily,
    mean_scores,
    pad,
    true_objective,
    validate_unlabeled,
    views_of,
    witnesses_of,
)
from bagwise.models.graph.terms import BagEdges, BagHinge, RowEdges
from bagwise.procedures import Run, cccp
from bagwise.procedures.run import as_steps, finish
from bagwise.solvers import Solution
from bagwise.solvers.block_cd import block_descent
from bagwise.solvers.cutting_plane import CutSolution, Term, cutting_plane
from bagwise.tolerances import PROVEN, in_threads

# Without a graph: with few features the cuts run out by themselves, so precision is all but free;
# with many, descent over blocks takes a fraction of the time.
_MANY_FEATURES = 500  # block descent beats cutting planes from about here


class GraphSVC(RowsClassifier):
    """MI-SVM that wants linked bags, or linked instances, to score alike (MILSD).

    Bags without labels may take part through their edges (``fit(..., unlabeled=bags)``). The graphs
    join the ids of bags and of instances: a fit uses the edges whose ends it sees.

    Attributes
    ----------
    homophily_ : float
        Fraction of the edges between labeled bags that join equal labels; NaN without such edges.
    instance_homophily_ : float
        The same for edges between instances of labeled bags.
    n_edges_ : tuple of int
        Number of edges of the two graphs that took part.

    See Also
    --------
    Graph : What the graphs are.
    WitnessSVC : MI-SVM with squared hinge and a free intercept.

    Examples
    --------
    >>> from bagwise import Bags, Graph, GraphSVC
    >>> arrays = [[[1.0, 0, 0], [0, 0, 1]], [[0, 1.0, 0]], [[-1.0, 0, 0]], [[0, -1.0, 0]]]
    >>> bags = Bags.from_list(arrays, ids=["a", "b", "c", "d"])
    >>> graph = Graph.from_edges([("a", "b"), ("c", "d")])
    >>> model = GraphSVC(bag_graph=graph, mu=1.0)
    >>> model.fit(bags[[0, 2]], [1, 0], unlabeled=bags[[1, 3]]).predict(bags)
    array([1, 1, 0, 0])
    """

    _linear_design = staticmethod(matrix_design)
    _shares_design = False

    bag_graph: Any = param(
        None,
        [Graph, list, tuple, None],
        "Edges between bag ids (B-MILSD). Several graphs are views of the same bags: each has a "
        "term of its own, with its own number of edges and degrees; `Graph.scaled` weights it.",
        kind="Graph, list of Graph or None",
    )
    instance_graph: Any = param(
        None,
        [Graph, list, tuple, None],
        "Edges between instance ids (I-MILSD; with both graphs BI-MILSD), or several views.",
        kind="Graph, list of Graph or None",
    )
    scaling: str = param(
        "out",
        Words("out", "symmetric", "none"),
        "Scores are divided by the square root of the number of edges that leave (or touch) a "
        "node, or compared as they are.",
    )
    negatives: str = param(
        "bags",
        Words("bags", "instances", "witnesses"),
        "One slack per negative bag, as in the paper; one per negative instance, as in "
        '`WitnessSVC`; or with "witnesses" one per bag for its witness only, as the paper prints '
        "the convex problems. The objective may then rise, which comes with a warning.",
    )
    tol: float = param(
        1e-4,
        positive(),
        "Precision of the mean loss, and of the mean difference along edges, at which the cutting "
        "plane method stops.",
    )
    fit_intercept: bool = param(True, ["boolean"], "Learn an intercept, penalized like a weight.")
    kernel: Any = shared("kernel", default="linear")
    max_iter: int = shared("max_iter")
    class_weight: Any = shared("class_weight")
    C: float = shared(
        "C",
        default=100.0,
        doc="Weight of the mean loss of the labeled bags. It is divided by their number: values "
        "up to 2^10 are worth trying.",
    )
    n_init: int = shared("n_init")
    mu: float = param(
        0.1,
        positive(zero=True),
        "Weight of the mean difference along edges; `Graph.scaled` weights one graph.",
    )

    def __bag_tags__(self) -> BagTags:
        """Say what this estimator can do; cutting planes stop at their precision."""
        exact = self.kernel == "linear" and not self.bag_graph and not self.instance_graph
        tolerance = 1e-5 if exact else 0.1
        return replace(super().__bag_tags__(), tolerance=tolerance)

    @answers(
        *("self", "The fitted estimator."),
        bags="The labeled bags; `Bags` with ids where there is a graph.",
        unlabeled='Bags that take part by their edges alone. ``threshold="calibrated"`` and '
        "``probability`` use the labeled ones only.",
    )
    def fit(self, bags: Any, y: Any, sample_weight: Any = None, unlabeled: Any = None) -> Self:
        """Learn from labeled bags and, through the graphs, from unlabeled bags."""
        return self._fit(bags, y, sample_weight, unlabeled=unlabeled)

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array, unlabeled: Any = None) -> None:
        everyone = self._join_bags(bags, validate_unlabeled(self, bags, unlabeled))
        structure = self._structure(everyone, pad(weight, len(everyone)))
        self._note_homophily(structure, pad(codes, structure.n_bags, -1))
        share = pad(weight / weight.sum(), structure.n_bags)
        # A bag without weight is no positive bag: it must not choose a witness.
        truth = self._truth(codes) & (weight > 0)[:, None]
        columns = [pad(column, structure.n_bags, False) for column in truth.T]
        fits = in_threads(partial(self._fit_column, structure, share), columns, self.n_jobs)
        fits = [as_given(fit, structure.design) for fit in fits]
        labeled = slice(everyone.offsets[len(codes)])
        self._keep(everyone, [replace(fit, assignment=fit.assignment[labeled]) for fit in fits])

    def _join_bags(self, bags: Bags, others: Bags | None) -> Bags:
        """Return all bags that take part; those without labels do so by edges only."""
        check_graph_ids("bag", self.bag_graph, bags, others)
        check_graph_ids("instance", self.instance_graph, bags, others)
        graphs = bool(self.bag_graph or self.instance_graph)
        return Bags.concat([bags, others]) if graphs and others is not None else bags

    def _structure(self, bags: Bags, weight: Array) -> Structure:
        views = views_of(self.bag_graph, "bag_graph")
        of_bags = find_present_edges(views, "bag", bags.ids, bags.instance_ids)
        views = views_of(self.instance_graph, "instance_graph")
        of_rows = find_present_edges(views, "instance", bags.instance_ids, bags.ids)
        self.n_edges_ = tuple(sum(map(len, views)) for views in (of_bags, of_rows))
        design = self._design(bags, expand(weight, bags.offsets))
        return Structure(design, bags.offsets, of_bags, of_rows)

    def _note_homophily(self, structure: Structure, codes: Array) -> None:
        of_rows = expand(codes, structure.offsets)
        self.homophily_ = homophily(structure.bag_edges, codes)
        self.instance_homophily_ = homophily(structure.row_edges, of_rows)
        for value, what in ((self.homophily_, "bag"), (self.instance_homophily_, "instance")):
            if value < 0.5:
                warnings.warn(
                    f"Only {value:.0%} of the edges of {what}_graph between labeled bags join "
                    "equal labels: pulling their scores together works against the labels. Try "
                    "mu=0, or another graph.",
                    stacklevel=4,
                )

    def _fit_column(self, structure: Structure, share: Array, positive: Array) -> Run:
        terms = self._terms(structure, share, positive)

        def fit_from(rng: np.random.RandomState | None) -> Run:
            drawn = None if rng is None else rng.normal(size=structure.design.n_rows)
            scores = mean_scores(structure, self.C * share, positive) if drawn is None else drawn
            return self._run_cccp(structure, terms, scores)

        return finish(self._lowest_steps(as_steps(fit_from)))

    _excused = 0.1  # ``tol`` is a part of C and mu: what it promises may be some of the objective

    def _terms(self, structure: Structure, share: Array, positive: Array) -> list[Term]:
        """Return the terms of (1) that have weight, the loss first."""
        loss = BagHinge(self.C, self.tol, share, positive, structure.offsets, self.negatives)
        terms: list[Term] = [loss]
        for view, edges in enumerate(structure.bag_edges if self.mu > 0 else ()):
            scale, name = self._scale(edges), _name_term("bag_edges", view)
            terms.append(BagEdges(self.mu, self.tol, edges, scale, name))
        for view, edges in enumerate(structure.row_edges if self.mu > 0 else ()):
            scale, name = self._scale(edges), _name_term("instance_edges", view)
            n_bags = structure.n_bags
            terms.append(RowEdges(self.mu, self.tol, edges, scale, n_bags, name))
        return terms

    def _scale(self, edges: Edges) -> Array:
        if self.scaling == "none":
            return np.ones(edges.n_nodes)
        return 1 / np.sqrt(edges.degrees(self.scaling))

    def _run_cccp(self, structure: Structure, terms: list[Term], scores: Array) -> Run:
        """Run CCCP from scores of all rows; the assignment is the witnesses."""
        run = cccp(
            partial(witnesses_of, structure, terms),
            partial(self._solve, structure, terms),
            partial(true_objective, structure, terms),
            scores,
            max_iter=self.max_iter,
            monotone=self.negatives != "witnesses",
            callback=self._report,
        )
        self._warn_of_rise(run)
        chosen = np.zeros(structure.design.n_rows)
        loss = terms[0]
        assert isinstance(loss, BagHinge)
        chosen[run.assignment[loss.positive]] = 1.0
        return replace(run, assignment=chosen)

    def _solve(
        self, structure: Structure, terms: list[Term], witnesses: Array, last: Solution | None
    ) -> Solution:
        linear = structure.design.linear if self.kernel == "linear" else None
        if len(terms) == 1 and linear is not None:
            loss = terms[0]
            assert isinstance(loss, BagHinge)  # the first term
            if linear.n_coef > _MANY_FEATURES:
                dual = None if last is None else last.dual
                return block_descent(
                    linear, loss, witnesses, fit_intercept=self.fit_intercept, start=dual
                )
            terms = [replace(loss, eps=min(loss.eps, PROVEN))]
        cuts = last.cuts if isinstance(last, CutSolution) else None
        return cutting_plane(
            structure.design,
            structure.offsets,
            terms,
            witnesses,
            fit_intercept=self.fit_intercept,
            cuts=cuts,
        )

    def _warn_of_rise(self, run: Run) -> None:
        rise = max(record["rise"] for record in run.history)
        if rise > 0:
            warnings.warn(
                f"The objective rose by up to {rise:.3g} (to {run.solution.objective:.6g}) between "
                "two convex problems: with negatives='witnesses' they do not bound it from above. "
                "Use negatives='bags'.",
                ConvergenceWarning,
                stacklevel=2,
            )


def _name_term(term: str, view: int) -> str:
    """Name a view's term in the history; the first one has the plain name."""
    return term if view == 0 else f"{term}_{view + 1}"
