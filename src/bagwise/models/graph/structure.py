"""Bags and their edges, as `GraphSVC` sees them, and the steps of CCCP on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.designs import Design
from bagwise.estimators.rows import RowsClassifier
from bagwise.graphs import Edges, Graph
from bagwise.losses import SquaredHinge
from bagwise.models.graph.terms import BagEdges, BagHinge
from bagwise.problems import Problem
from bagwise.solvers import Solution, solve
from bagwise.solvers.cutting_plane import BagScores, Term


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


def validate_unlabeled(model: RowsClassifier, bags: Bags, unlabeled: Any) -> Bags | None:
    """Return the unlabeled bags of a fit, checked against the labeled ones."""
    if unlabeled is None:
        return None
    width = getattr(unlabeled, "n_features", bags.n_features)
    if width != bags.n_features:
        raise ValueError(
            f"The unlabeled bags have {width} features, the labeled ones have "
            f"{bags.n_features}: both need the same columns."
        )
    return model._validate_bags(unlabeled, reset=False)


def check_graph_ids(what: str, graph: Any, bags: Bags, others: Bags | None) -> None:
    """Refuse a graph between bags or instances that have no ids of their own."""
    name = "ids" if what == "bag" else "instance_ids"
    for part in (bags, others) if graph else ():
        if part is not None and not getattr(part, f"has_{name}"):
            raise ValueError(
                f"The {what}s have no ids of their own, so the edges of {what}_graph "
                f"cannot find them: build the Bags with {name}."
            )
