"""What `GraphSVC` and its search share: parameters, bags with their edges, the steps of CCCP."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.designs import Design, matrix_design
from bagwise.estimators.params import Words, param, positive, shared
from bagwise.estimators.rows import RowsClassifier
from bagwise.estimators.tags import BagTags
from bagwise.graphs import Edges, Graph
from bagwise.losses import SquaredHinge
from bagwise.models.graph.terms import BagEdges, BagHinge
from bagwise.problems import Problem
from bagwise.solvers import Solution, solve
from bagwise.solvers.terms import BagScores, Term


@dataclass(frozen=True)
class Structure:
    """The bags of a fit, labeled ones first, and the edges between them."""

    design: Design  # all rows
    offsets: Array  # where each bag starts
    bag_edges: tuple[Edges, ...]  # the edges present, one entry per view
    row_edges: tuple[Edges, ...]

    @property
    def n_bags(self) -> int:
        """Number of bags, with those that have no label."""
        return len(self.offsets) - 1


def witnesses_of(structure: Structure, terms: list[Term], scores: Array) -> Array:
    """Return each bag's top row where a term is linearized, its first row elsewhere."""
    offsets = structure.offsets
    needed = np.zeros(structure.n_bags, dtype=bool)
    for term in terms:
        if isinstance(term, BagEdges):
            needed[term.edges.both_ends] = True
        elif isinstance(term, BagHinge):
            needed |= term.positive | (term.negatives == "witnesses")
    return np.where(needed, BagScores.of(scores, offsets).top_rows, offsets[:-1])


def true_objective(structure: Structure, terms: list[Term], solution: Solution) -> float:
    """Return (1) at a solution: every term with its witnesses at the top."""
    scores = BagScores.of(solution.scores, structure.offsets)
    norm = structure.design.squared_norm(solution.coef) + solution.intercept**2
    return 0.5 * norm + sum(term.weight * term.value(scores) for term in terms)


def mean_scores(structure: Structure, weight: Array, positive: Array) -> Array:
    """Score all rows by the squared-hinge SVM on the means of the labeled bags."""
    design, labeled = structure.design, np.flatnonzero(weight > 0)
    sizes = np.diff(structure.offsets)
    shares = sp.csr_array(
        (1 / expand(sizes, structure.offsets), np.arange(design.n_rows), structure.offsets)
    )[labeled]
    up, down = weight[labeled] * positive[labeled], weight[labeled] * ~positive[labeled]
    solution = solve(Problem(design.aggregate(shares), up, down, SquaredHinge()))
    return design @ design.lift(shares, solution.coef)


def pad(values: Array, length: int, fill: Any = 0) -> Array:
    """Return one value per labeled bag followed by ``fill`` for the others."""
    pad = np.full(length, fill, dtype=values.dtype)
    pad[: len(values)] = values
    return pad


def homophily(views: tuple[Edges, ...], codes: Array) -> float:
    """Return the share of all views' edges that join equal labels; NaN where none joins labels."""
    if not views:
        return float("nan")
    source = np.concatenate([edges.source for edges in views])
    target = np.concatenate([edges.target for edges in views])
    return Edges(source, target, np.ones(len(source)), len(codes), True).homophily(codes)


def views_of(graph: Any, name: str) -> tuple[Graph, ...]:
    """Return the graphs that were given: none, one, or several views."""
    views = (graph,) if isinstance(graph, Graph) else tuple(graph or ())
    for i, view in enumerate(views):
        if not isinstance(view, Graph):
            raise ValueError(f"{name}[{i}] must be a Graph, it is {view!r}.")
    return views


def find_present_edges(
    views: tuple[Graph, ...], what: str, ids: Array, other_ids: Array
) -> tuple[Edges, ...]:
    """Return the edges between these things, of every view that has some here."""
    found = [_find_present(graph, what, ids, other_ids) for graph in views if graph.n_edges]
    return tuple(edges for edges in found if len(edges))


def _find_present(graph: Graph, what: str, ids: Array, other_ids: Array) -> Edges:
    """Return the edges between these things; refuse a graph over things of another kind."""
    names = ids.tolist()
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"The {what} id {twice!r} occurs twice: with {what}_graph every {what} needs its own."
        )
    if not set(graph.ids.tolist()) & set(names):
        kind = "bags" if what == "instance" else "instances"
        other = set(graph.ids.tolist()) & set(other_ids.tolist())
        hint = f" They are ids of {kind}." if other else ""
        raise ValueError(
            f"No end of {what}_graph, such as {graph.ids.tolist()[0]!r}, is the id of a {what} in "
            f"this fit, such as {names[0]!r}.{hint} Give the graph over {what} ids."
        )
    return graph.among(ids, what)


class GraphClassifier(RowsClassifier):
    """Classifier of bags joined by graphs; a subclass adds ``_fit_structure``.

    Attributes
    ----------
    homophily_ : float
        Fraction of the edges between labeled bags that join equal labels; NaN without such edges.
    instance_homophily_ : float
        The same for edges between instances of labeled bags.
    n_edges_ : tuple of int
        Number of edges of the two graphs that took part.
    """

    _linear_design = staticmethod(matrix_design)

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

    def __bag_tags__(self) -> BagTags:
        """Say what this estimator can do; cutting planes stop at their precision."""
        exact = self.kernel == "linear" and not self.bag_graph and not self.instance_graph
        tolerance = 1e-5 if exact else 0.1
        return replace(super().__bag_tags__(), tolerance=tolerance, instance_rows=False)

    def _fit_structure(
        self, structure: Structure, everyone: Bags, codes: Array, weight: Array
    ) -> None:
        raise NotImplementedError

    def fit(self, bags: Any, y: Any, sample_weight: Any = None, unlabeled: Any = None) -> Self:
        """Learn from labeled bags and, through the graphs, from unlabeled bags.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The labeled bags; `Bags` with ids where there is a graph.
        y : array-like of shape (n_bags,)
            One label per bag, of two classes or more.
        sample_weight : array-like of shape (n_bags,), default=None
            One weight per bag; it multiplies every loss of the bag.
        unlabeled : Bags, or anything check_bags takes, default=None
            Bags that take part by their edges alone. ``threshold="calibrated"`` and
            ``probability`` use the labeled ones only.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(bags, y, sample_weight, unlabeled=unlabeled)

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array, unlabeled: Any = None) -> None:
        everyone = self._join_bags(bags, self._validate_unlabeled(bags, unlabeled))
        structure = self._structure(everyone, pad(weight, len(everyone)))
        self._note_homophily(structure, pad(codes, structure.n_bags, -1))
        self._fit_structure(structure, everyone, codes, weight)

    def _validate_unlabeled(self, bags: Bags, unlabeled: Any) -> Bags | None:
        if unlabeled is None:
            return None
        width = getattr(unlabeled, "n_features", bags.n_features)
        if width != bags.n_features:
            raise ValueError(
                f"The unlabeled bags have {width} features, the labeled ones have "
                f"{bags.n_features}: both need the same columns."
            )
        return self._validate_bags(unlabeled, reset=False)

    def _join_bags(self, bags: Bags, others: Bags | None) -> Bags:
        """Return all bags that take part; those without labels do so by edges only."""
        self._check_graph_ids(bags, others)
        graphs = bool(self.bag_graph or self.instance_graph)
        return Bags.concat([bags, others]) if graphs and others is not None else bags

    def _check_graph_ids(self, bags: Bags, others: Bags | None) -> None:
        for part in [bags] if others is None else [bags, others]:
            for graph, has, what in (
                (self.bag_graph, part.has_ids, "bag"),
                (self.instance_graph, part.has_instance_ids, "instance"),
            ):
                if graph and not has:
                    name = "ids" if what == "bag" else "instance_ids"
                    raise ValueError(
                        f"The {what}s have no ids of their own, so the edges of {what}_graph "
                        f"cannot find them: build the Bags with {name}."
                    )

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

    def _find_truth(self, codes: Array, weight: Array) -> Array:
        # A bag without weight is no positive bag: it must not choose a witness.
        return self._truth(codes) & (weight > 0)[:, None]
