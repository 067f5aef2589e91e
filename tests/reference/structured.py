"""Random structured problems and their exact solution by a general QP solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.bags import Bags
from bagwise.graphs import Edges, Graph
from bagwise.models.graph.terms import BagEdges, BagHinge, RowEdges
from reference.program import minimize


@dataclass
class Case:
    """Rows, bags, labels and graphs, with witnesses chosen at random."""

    X: Any
    offsets: Any
    positive: Any
    share: Any
    witnesses: Any
    bag_edges: Edges
    row_edges: Edges

    def terms(self, C, mu, mu_rows, eps=1e-9, negatives="bags", scale=None):
        """Return the loss and the graph terms that have weight."""
        n_bags = len(self.share)
        found = [BagHinge(C, eps, self.share, self.positive, self.offsets, negatives)]
        if mu:
            s = 1 / np.sqrt(self.bag_edges.degrees("out")) if scale is None else scale
            found.append(BagEdges(mu, eps, self.bag_edges, s))
        if mu_rows:
            s = 1 / np.sqrt(self.row_edges.degrees("out"))
            found.append(RowEdges(mu_rows, eps, self.row_edges, s, n_bags))
        return found


def draw(seed, *, n_bags=20, d=3, signed=True, weighted=True) -> Case:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n_bags)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n = offsets[-1]
    X = rng.normal(size=(n, d)) if signed else rng.random((n, d))
    labeled = np.append(rng.random(n_bags - 2) < 0.7, [True, True])
    positive = np.append(rng.random(n_bags - 2) < 0.5, [True, False]) & labeled
    share = rng.uniform(0.5, 2, n_bags) * labeled
    return Case(
        X,
        offsets,
        positive,
        share / share.sum(),
        offsets[:-1] + rng.integers(0, sizes),
        _edges(rng, n_bags, 25, weighted),
        _edges(rng, n, 25, weighted),
    )


def _edges(rng, n, count, weighted):
    source = rng.integers(0, n, count)
    target = (source + rng.integers(1, n, count)) % n
    weight = rng.uniform(0.2, 2, count) if weighted else None
    return Graph(source, target, weight, directed=True).among(np.arange(n))


def by_clarabel(case, terms):
    """Return (w, b) and the objective of problem (2), one slack per bag and one per edge."""
    A = np.column_stack([case.X, np.ones(len(case.X))])
    slopes, slacks, limits, costs = [], [], [], []

    def at_least(slope, limit):  # slope.w - slack <= limit
        slopes.append(slope)
        slacks.append(len(costs) - 1)
        limits.append(limit)

    def new_slack(cost):
        costs.append(cost)
        at_least(np.zeros(A.shape[1]), 0.0)

    for term in terms:
        if isinstance(term, BagHinge):
            _hinge_rows(case, term, A, new_slack, at_least)
            continue
        edges = term.edges
        for p, q, w in zip(edges.source, edges.target, edges.weight, strict=True):
            new_slack(term.weight * w / len(edges))
            for one, other in ((p, q), (q, p)):
                tops, fixed = [one], other
                if isinstance(term, BagEdges):
                    tops = range(case.offsets[one], case.offsets[one + 1])
                    fixed = case.witnesses[other]
                for k in tops:
                    at_least(A[k] * term.scale[one] - A[fixed] * term.scale[other], 0.0)
    return _solve(np.array(slopes), slacks, np.array(limits), np.array(costs))


def _hinge_rows(case, term, A, new_slack, at_least):
    for i in np.flatnonzero(term.share):
        cost, inside = term.weight * term.share[i], range(case.offsets[i], case.offsets[i + 1])
        if term.negatives == "instances" and not term.positive[i]:
            for k in inside:
                new_slack(cost)
                at_least(A[k], -1.0)
            continue
        new_slack(cost)
        if term.positive[i]:
            at_least(-A[case.witnesses[i]], -1.0)
        else:
            for k in [case.witnesses[i]] if term.negatives == "witnesses" else inside:
                at_least(A[k], -1.0)


def _solve(slopes, slacks, limits, costs):
    d, m = slopes.shape[1], len(costs)
    choice = sp.csc_array((-np.ones(len(slacks)), (np.arange(len(slacks)), slacks)))
    G = sp.hstack([sp.csc_array(slopes), choice])
    P = sp.block_diag([np.eye(d), sp.csc_array((m, m))])
    found = minimize(P, np.concatenate([np.zeros(d), costs]), G, limits)
    return np.array(found.x)[:d], found.obj_val


def noisy_bags(seed, n_bags=30, d=4):
    """Overlapping classes, so that witnesses move and slacks are many."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n_bags)
    y = np.append(rng.integers(0, 2, n_bags - 2), [0, 1])
    X = rng.normal(size=(sizes.sum(), d))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X[offsets[:-1], 0] += 1.5 * y
    bags = Bags(X, offsets, ids=np.arange(n_bags), instance_ids=np.arange(len(X)))
    edges = rng.integers(0, n_bags, (40, 2))
    links = rng.integers(0, len(X), (40, 2))
    graphs = [Graph.from_edges(e[e[:, 0] != e[:, 1]], directed=True) for e in (edges, links)]
    return bags, y, *graphs
