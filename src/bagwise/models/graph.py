"""Multiple-instance learning on structured data (Zhang, Liu, Si, Zhang & Lawrence 2011).

`GraphSVC` is B-MILSD with a graph over bags, I-MILSD with a graph over instances, BI-MILSD with
both, and MI-SVM without any. With f_k = w.x_k + b and f(B_i) = max_{k in i} f_k it descends

    min_{w,b} 1/2|w|^2 + 1/2 b^2 + C/n sum_i max(0, 1 - Y_i f(B_i))                             (1)
              + mu/|E| sum_{(p,q) in E} w_pq |f(B_p) / sqrt(d_p) - f(B_q) / sqrt(d_q)|
              + mu'/|E'| sum_{(k,l) in E'} w_kl |f_k / sqrt(d_k) - f_l / sqrt(d_l)|

by CCCP over cutting planes. n is the weight of the labelled bags; d are degrees, at least 1, and
E the edges, of the graph between the bags of this fit, labelled or not.

Departures. The print also replaces the maximum of negative bags by a witness in every convex
problem (2). The hinge of a negative bag is convex as it stands, and its linearisation lies below
it: the true objective then climbs. Negatives stay exact here; ``linearize_negatives=True`` is the
printed version. Weights w_pq, other scalings, one slack a negative instance and kernels are added.

Reference: D. Zhang, Y. Liu, L. Si, J. Zhang, R. D. Lawrence, "Multiple instance learning on
structured data", NIPS 2011.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from bagwise._docs import described
from bagwise.bags import Bags
from bagwise.graphs import Edges, Graph
from bagwise.models.rows import BinaryFit, RowsClassifier
from bagwise.models.structure import (
    Start,
    Structure,
    homophily,
    mean_scores,
    padded,
    present_edges,
    true_objective,
    witnesses_of,
)
from bagwise.oracles_graph import BagEdges, BagHinge, RowEdges, Term
from bagwise.procedures.cccp import Descent, cccp
from bagwise.segments import expand
from bagwise.solvers.block_cd import block_descent
from bagwise.solvers.cutting_plane import CutSolution, cutting_plane
from bagwise.tags import BagTags

__all__ = ["GraphSVC"]

Array = NDArray[Any]

# Without a graph: with few features the cuts run out by themselves, so precision is all but free;
# with many, descent over blocks takes a fraction of the time.
_MANY_FEATURES = 500
_SHARP = 1e-9


@described
class GraphSVC(RowsClassifier):
    """MI-SVM that wants linked bags, or linked instances, to score alike (MILSD).

    Bags without labels may take part through their edges (``fit(..., unlabeled=bags)``). The graphs
    join the ids of bags and of instances: a fit uses the edges whose ends it sees.

    Parameters
    ----------
    bag_graph : Graph, default=None
        Edges between bag ids (B-MILSD).
    instance_graph : Graph, default=None
        Edges between instance ids (I-MILSD; with both graphs BI-MILSD).
    C : float, default=100.0
        Weight of the mean loss of the labelled bags. It is divided by their number: values up to
        2^10 are worth trying.
    mu : float, default=0.1
        Weight of the mean difference along the bags' edges.
    mu_instances : float, default=None
        The same for instances; ``mu`` when not given.
    scaling : {"out", "symmetric", "none"}, default="out"
        Scores are divided by the square root of the number of edges that leave (or touch) a node,
        or compared as they are.
    negatives : {"bags", "instances"}, default="bags"
        One slack a negative bag, as in the paper, or one a negative instance, as in `WitnessSVC`.
    linearize_negatives : bool, default=False
        Replace negative bags by their witnesses too, as printed; the objective may then climb,
        which is warned about.
    eps1, eps2 : float, default=1e-4
        Precision of the mean loss and of the mean difference along edges, at which the cutting
        plane method stops.
    fit_intercept : bool, default=True
        Learn an intercept, penalised like a weight.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="linear"
        Kernel between instances. A callable takes two matrices. With "precomputed" the columns of
        the instances are kernel values with the instances numbered by ``instance_ids``.
    gamma : {"median", "scale"} or float, default="median"
        Width of the rbf kernel, exp(-gamma d^2): 1 / (2 median distance^2), or as in scikit-learn.
    degree : int, default=3
        Degree of the poly kernel.
    coef0 : float, default=0.0
        Constant of the poly kernel.
    %(bag_parameters)s

    Attributes
    ----------
    %(rows_attributes)s
    homophily_, instance_homophily_ : float
        Share of the edges between labelled bags (instances of labelled bags) that join equal
        labels; NaN where there is no such edge.
    n_edges_ : tuple of int
        Edges of the two graphs that took part.

    See Also
    --------
    Graph : What the graphs are.
    GraphSVCCV : Chooses C and mu.
    WitnessSVC : MI-SVM with squared hinge and a free intercept.

    References
    ----------
    .. [1] D. Zhang, Y. Liu, L. Si, J. Zhang, R. D. Lawrence, "Multiple instance learning on
       structured data", NIPS 2011.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{k: v for k, v in RowsClassifier._parameter_constraints.items() if k != "loss"},
        "bag_graph": [Graph, None],
        "instance_graph": [Graph, None],
        "mu": [Interval(Real, 0, None, closed="left")],
        "mu_instances": [Interval(Real, 0, None, closed="left"), None],
        "scaling": [StrOptions({"out", "symmetric", "none"})],
        "negatives": [StrOptions({"bags", "instances"})],
        "linearize_negatives": ["boolean"],
        "eps1": [Interval(Real, 0, None, closed="neither")],
        "eps2": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        bag_graph=None,
        instance_graph=None,
        *,
        C=100.0,
        mu=0.1,
        mu_instances=None,
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
        cv=5,
        max_iter=50,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.bag_graph = bag_graph
        self.instance_graph = instance_graph
        self.C = C
        self.mu = mu
        self.mu_instances = mu_instances
        self.scaling = scaling
        self.negatives = negatives
        self.linearize_negatives = linearize_negatives
        self.eps1 = eps1
        self.eps2 = eps2
        self.fit_intercept = fit_intercept
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.pos_label = pos_label
        self.threshold = threshold
        self.probability = probability
        self.cv = cv
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __bag_tags__(self) -> BagTags:
        """Say what this estimator can do; cutting planes stop at their precision."""
        exact = self.kernel == "linear" and self.bag_graph is self.instance_graph is None
        return replace(super(RowsClassifier, self).__bag_tags__(), tolerance=1e-5 if exact else 0.1)

    # Fitting -------------------------------------------------------------------------------------

    def fit(self, bags: Any, y: Any, sample_weight: Any = None, unlabeled: Any = None) -> Any:
        """Learn from labelled bags and, through the graphs, from bags without labels.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The labelled bags; `Bags` with ids where there is a graph.
        y : array-like of shape (n_bags,)
            One label a bag, of two classes or more.
        sample_weight : array-like of shape (n_bags,), default=None
            One weight a bag; it multiplies every loss of the bag.
        unlabeled : Bags, or anything check_bags takes, default=None
            Bags that take part by their edges alone. ``threshold="calibrated"`` and
            ``probability`` use the labelled ones only.

        Returns
        -------
        self
            The fitted estimator.
        """
        bags, codes, weight, weighted = self._validated(bags, y, sample_weight)
        if self.linearize_negatives and self.negatives == "instances":
            raise ValueError(
                "linearize_negatives=True replaces negative bags by witnesses; with "
                "negatives='instances' there are no negative bags. Choose one of the two."
            )
        others = self._validated_unlabeled(bags, unlabeled)
        self._fit_classes(bags, codes, weighted, others)
        self.threshold_ = self._offsets(float(self.threshold) if self._is_number() else 0.0)
        if self.threshold == "calibrated" or self.probability == "sigmoid":
            self._calibrate(bags, codes, weight, weighted)
        return self

    def _validated_unlabeled(self, bags: Bags, unlabeled: Any) -> Bags | None:
        if unlabeled is None:
            return None
        width = getattr(unlabeled, "n_features", bags.n_features)
        if width != bags.n_features:
            raise ValueError(
                f"The unlabeled bags have {width} features, the labelled ones have "
                f"{bags.n_features}: both need the same columns."
            )
        return self._validate_bags(unlabeled, reset=False)

    def _fit_classes(
        self, bags: Bags, codes: Array, weight: Array, others: Bags | None = None
    ) -> None:
        everyone = self._joined(bags, others)
        structure = self._structure(everyone, padded(weight, len(everyone)))
        self._note_homophily(structure, padded(codes, structure.n_bags, -1))
        self._fit_structure(structure, everyone, codes, weight)

    def _fit_structure(
        self, structure: Structure, everyone: Bags, codes: Array, weight: Array
    ) -> None:
        share = padded(weight / weight.sum(), structure.n_bags)
        jobs = Parallel(n_jobs=self.n_jobs, prefer="threads")
        fits = jobs(
            delayed(self._fit_column)(structure, share, padded(column, structure.n_bags, False))
            for column in self._labelled_truth(codes, weight).T
        )
        labelled = slice(everyone.offsets[len(codes)])
        self._keep(
            everyone,
            [replace(fit, instance_weights=fit.instance_weights[labelled]) for fit in fits],
        )

    def _labelled_truth(self, codes: Array, weight: Array) -> Array:
        # A bag without weight is no positive bag: it must not choose a witness.
        return self._truth(codes) & (weight > 0)[:, None]

    def _joined(self, bags: Bags, others: Bags | None) -> Bags:
        """Return all bags that take part; those without labels do so by edges only."""
        self._check_graph_ids(bags, others)
        graphs = self.bag_graph is not None or self.instance_graph is not None
        return Bags.concat([bags, others]) if graphs and others is not None else bags

    def _check_graph_ids(self, bags: Bags, others: Bags | None) -> None:
        for part in [bags] if others is None else [bags, others]:
            for graph, has, what in (
                (self.bag_graph, part.has_ids, "bag"),
                (self.instance_graph, part.has_instance_ids, "instance"),
            ):
                if graph is not None and not has:
                    name = "ids" if what == "bag" else "instance_ids"
                    raise ValueError(
                        f"The {what}s have no ids of their own, so the edges of {what}_graph "
                        f"cannot find them: build the Bags with {name}."
                    )

    def _structure(self, bags: Bags, weight: Array) -> Structure:
        of_bags = present_edges(self.bag_graph, "bag", bags.ids, bags.instance_ids)
        of_rows = present_edges(self.instance_graph, "instance", bags.instance_ids, bags.ids)
        self.n_edges_ = tuple(0 if edges is None else len(edges) for edges in (of_bags, of_rows))
        design = self._design(bags, expand(weight, bags.offsets))
        return Structure(design, bags.offsets, of_bags, of_rows)

    def _note_homophily(self, structure: Structure, codes: Array) -> None:
        of_rows = expand(codes, structure.offsets)
        self.homophily_ = homophily(structure.bag_edges, codes)
        self.instance_homophily_ = homophily(structure.row_edges, of_rows)
        for value, what in ((self.homophily_, "bag"), (self.instance_homophily_, "instance")):
            if value < 0.5:
                warnings.warn(
                    f"Only {value:.0%} of the edges of {what}_graph between labelled bags join "
                    "equal labels: pulling their scores together works against the labels. Try "
                    "mu=0, or another graph.",
                    stacklevel=4,
                )

    def _fit_column(self, structure: Structure, share: Array, positive: Array) -> Any:
        terms = self._terms(structure, share, positive)
        start = Start(mean_scores(structure, self.C * share, positive))
        return self._descend(structure, terms, start)

    def _terms(self, structure: Structure, share: Array, positive: Array) -> list[Term]:
        """Return the terms of (1) that have weight, the loss first."""
        kind = "witnesses" if self.linearize_negatives else self.negatives
        terms: list[Term] = [BagHinge(self.C, self.eps1, share, positive, structure.offsets, kind)]
        if structure.bag_edges is not None and self.mu > 0:
            scale = self._scale(structure.bag_edges)
            terms.append(BagEdges(self.mu, self.eps2, structure.bag_edges, scale))
        mu_instances = self.mu if self.mu_instances is None else self.mu_instances
        if structure.row_edges is not None and mu_instances > 0:
            edges, scale = structure.row_edges, self._scale(structure.row_edges)
            terms.append(RowEdges(mu_instances, self.eps2, edges, scale, structure.n_bags))
        return terms

    def _scale(self, edges: Edges) -> Array:
        if self.scaling == "none":
            return np.ones(edges.n_nodes)
        return 1 / np.sqrt(edges.degrees(self.scaling))

    def _descend(self, structure: Structure, terms: list[Term], start: Start) -> Any:
        """Run CCCP from a start; return a `BinaryFit`."""
        run = cccp(
            partial(witnesses_of, structure, terms),
            partial(self._solve, structure, terms, start.last),
            partial(true_objective, structure, terms),
            start.scores,
            max_iter=self.max_iter,
            monotone=not self.linearize_negatives,
            callback=self._report,
        )
        self._warn_of_rise(run)
        chosen = np.zeros(structure.design.n_rows)
        chosen[run.tangent[terms[0].positive]] = 1.0  # type: ignore[attr-defined]
        solution = replace(run.solution, objective=run.objective)
        return BinaryFit(solution, chosen, run.history, run.converged)

    def _solve(
        self, structure: Structure, terms: list[Term], known: Any, witnesses: Array, last: Any
    ) -> Any:
        last = known if last is None else last
        if len(terms) == 1 and self.kernel == "linear":
            loss: Any = terms[0]
            if structure.design.n_coef > _MANY_FEATURES:
                dual = None if last is None else last.dual
                return block_descent(
                    structure.design, loss, witnesses, intercept=self.fit_intercept, start=dual
                )
            terms = [replace(loss, eps=min(loss.eps, _SHARP))]
        cuts = last.cuts if isinstance(last, CutSolution) else None
        return cutting_plane(
            structure.design,
            structure.offsets,
            terms,
            witnesses,
            intercept=self.fit_intercept,
            cuts=cuts,
        )

    def _warn_of_rise(self, run: Descent) -> None:
        if run.rise > 0:
            warnings.warn(
                f"The objective rose by up to {run.rise:.3g} (to {run.objective:.6g}) between two "
                "convex problems: with linearize_negatives=True they do not bound it from above. "
                "Use linearize_negatives=False.",
                ConvergenceWarning,
                stacklevel=2,
            )
