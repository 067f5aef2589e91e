"""The terms of multiple-instance learning on structured data (Zhang et al. 2011).

Every term is a `bagwise.solvers.cutting_plane.Term`: convex in the scores, an upper bound on the
true term, and equal to it where the witnesses are the tops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bagwise._typing import Array
from bagwise.bags.segments import expand
from bagwise.graphs import Edges
from bagwise.solvers.cutting_plane import BagScores, Plane


@dataclass(frozen=True)
class BagHinge:
    """sum_i c_i max(0, 1 - Y_i f(B_i)), with the witness's score for positive bags.

    ``negatives`` is "bags" for one slack per negative bag, max(0, 1 + top_i); "instances" for one
    per instance; or "witnesses" for the printed max(0, 1 + fixed_i), which is not an upper bound.
    """

    weight: float
    eps: float
    share: Array  # c_i, summing to one, 0 for unlabeled bags, (n_bags,)
    positive: Array  # Y_i = 1, (n_bags,)
    offsets: Array
    negatives: str = "bags"
    name: str = "loss"

    def evaluate(self, scores: BagScores) -> Plane:
        """Cut (4): c_i = [margin < 1]."""
        above, below = self._slacks(scores)  # Eq. 4: c_i is 1 where the slack is positive
        rows, witnesses = np.zeros(len(scores.rows)), -self.share * (above > 0)
        charged = self._negative_share * (below > 0)
        if self.negatives == "instances":
            rows += charged
        elif self.negatives == "bags":
            rows[scores.top_rows] += charged
        else:
            witnesses += charged
        height = float(self.share @ (above > 0) + charged.sum())
        return Plane(self._sum(above, below), height, rows, witnesses)

    def value(self, scores: BagScores) -> float:
        """Return the weighted mean of the slacks."""
        return self._sum(*self._slacks(scores))

    def _sum(self, above: Array, below: Array) -> float:
        return float(self.share @ above + self._negative_share @ below)

    @property
    def _negative_share(self) -> Array:
        """Weights of the negatives' slacks, one per bag or one per row."""
        of_bags = np.where(self.positive, 0.0, self.share)
        return expand(of_bags, self.offsets) if self.negatives == "instances" else of_bags

    def _slacks(self, scores: BagScores) -> tuple[Array, Array]:
        above = np.where(self.positive, np.maximum(0.0, 1 - scores.fixed), 0.0)
        negative = {"bags": scores.top, "instances": scores.rows, "witnesses": scores.fixed}
        return above, np.maximum(0.0, 1 + negative[self.negatives])


@dataclass(frozen=True)
class BagEdges:
    """1/|E| sum_pq w_pq |f(B_p) / s_p - f(B_q) / s_q|, s the square root of a degree.

    Its upper bound: w_pq max(top_p / s_p - fixed_q / s_q, top_q / s_q - fixed_p / s_p).
    """

    weight: float
    eps: float
    edges: Edges
    scale: Array  # 1 / s, (n_bags,)
    name: str = "bag_edges"

    def evaluate(self, scores: BagScores) -> Plane:
        """Cut (5): the gradient of the larger side."""
        edges, forward, backward = self.edges, *self._sides(scores)
        share = edges.weight / len(edges)
        from_source = forward >= backward  # Eq. 5: tau_pq
        upper = np.where(from_source, edges.source, edges.target)
        lower = np.where(from_source, edges.target, edges.source)
        n_bags = len(scores.top)
        rows = np.zeros(len(scores.rows))
        rows[scores.top_rows] = np.bincount(upper, share, minlength=n_bags) * self.scale
        witnesses = -np.bincount(lower, share, minlength=n_bags) * self.scale
        return Plane(float(share @ np.maximum(forward, backward)), 0.0, rows, witnesses)

    def value(self, scores: BagScores) -> float:
        """Return the weighted mean of the larger sides."""
        return float(self.edges.weight @ np.maximum(*self._sides(scores)) / len(self.edges))

    def _sides(self, scores: BagScores) -> tuple[Array, Array]:
        source, target = self.edges.source, self.edges.target
        top, fixed = scores.top * self.scale, scores.fixed * self.scale
        return top[source] - fixed[target], top[target] - fixed[source]


@dataclass(frozen=True)
class RowEdges:
    """1/|E| sum_pq w_pq |f_p / s_p - f_q / s_q| between instances: convex as it stands."""

    weight: float
    eps: float
    edges: Edges
    scale: Array  # (n_rows,)
    n_bags: int
    name: str = "instance_edges"

    def evaluate(self, scores: BagScores) -> Plane:
        """Return the gradient of the absolute differences."""
        difference = self._difference(scores)
        share = np.sign(difference) * self.edges.weight / len(self.edges)
        n_rows = len(scores.rows)
        rows = np.bincount(self.edges.source, share, minlength=n_rows)
        rows -= np.bincount(self.edges.target, share, minlength=n_rows)
        return Plane(float(share @ difference), 0.0, rows * self.scale, np.zeros(self.n_bags))

    def value(self, scores: BagScores) -> float:
        """Return the weighted mean of the absolute differences."""
        return float(self.edges.weight @ np.abs(self._difference(scores)) / len(self.edges))

    def _difference(self, scores: BagScores) -> Array:
        f = scores.rows * self.scale
        return f[self.edges.source] - f[self.edges.target]
