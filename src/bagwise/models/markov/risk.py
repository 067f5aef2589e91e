"""The risk of a cardinality Markov network and its convex majorizer (Hajimirsadeghi & Mori 2017).

A network scores a bag's label Y together with its best instance labels: F(-1) and F(+1) for two
classes (one model), F_l(-1) and F_l(+1) for each of L > 2 classes. The score of class l is then
T_l = F_l(+1) + sum_{j != l} F_j(-1) (Eq. 5), and the risk (Eq. 22) is

    R(w) = sum_n weight_n [ max_l (1[l != Y_n] + T_l) - T_{Y_n} ],

for two classes the hinge max(0, 1 - Y D) of D = F(+1) - F(-1). Both terms are convex. Replacing
the second by its tangent at a point gives a convex function above R that touches it there.

All parts of R depend on w through linear scores z = Zw (instances, potential weights, bag
features), so both risks are a `bagwise.solvers.bundle.ScoreOracle`: ``forward`` (Zw), ``value``,
``evaluate`` (value and derivative in z) and ``backward`` (Z'r).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.assumptions import BestLabelings, CountInference, CountPotential
from bagwise.bags.segments import expand
from bagwise.designs import LinearDesign


@dataclass(frozen=True)
class InstanceOperator:
    """The instances times a number, optionally with a constant column; nothing is copied."""

    design: LinearDesign
    scale: float = 1.0
    fit_intercept: bool = False

    @property
    def n_rows(self) -> int:
        """Number of instances."""
        return self.design.n_rows

    @property
    def n_coef(self) -> int:
        """Number of features, the constant one included."""
        return self.design.n_coef + self.fit_intercept

    def __matmul__(self, coef: Array) -> Array:
        """Return the scores of all instances."""
        scores = self.design @ (self.scale * coef[: self.design.n_coef])
        return scores + coef[-1] if self.fit_intercept else scores

    def adjoint(self, dual: Array) -> Array:
        """Return the transposed product."""
        found = self.scale * self.design.adjoint(dual)
        return np.append(found, dual.sum()) if self.fit_intercept else found

    def combine(self, weights: Any) -> Array:
        """Return weights @ rows as a dense matrix (weights in CSR form)."""
        rows = self.design.combine(weights)
        rows = self.scale * (rows.toarray() if sp.issparse(rows) else np.asarray(rows))
        if not self.fit_intercept:
            return rows
        return np.hstack([rows, weights @ np.ones((self.n_rows, 1))])


@dataclass(frozen=True)
class MarkovScores:
    """The linear scores of all models: the three parts of z."""

    instances: Array  # w_I.x of every instance, (n_models, n_instances)
    potential: Array  # the weights of the count potential, (n_models, n_weights)
    bags: Array  # w_B.X of every bag, (n_models, n_bags)


class MarkovRisk:
    """The non-convex risk R(w).

    The features of whole bags (n_bags, n_bag_features) may have no columns. ``codes`` are numbers
    of classes, of which two share one model, and ``weight`` has one number per bag.
    """

    by_bundle = False  # whether it is to be minimized by a bundle method, however many rows it has

    def __init__(
        self,
        instances: InstanceOperator,
        inference: CountInference,
        bag_features: Array,
        codes: Array,
        n_classes: int,
        weight: Array,
    ) -> None:
        self.instances, self.inference, self.bag_features = instances, inference, bag_features
        self.codes, self.n_classes, self.weight = codes, n_classes, weight
        self.n_models = 1 if n_classes == 2 else n_classes
        self.widths = (instances.n_coef, inference.potential.n_weights, bag_features.shape[1])
        self.n_coef = self.n_models * sum(self.widths)
        self._bag_numbers = np.arange(len(codes))
        self._work: BestLabelings | None = None

    def under(self, potential: CountPotential) -> MarkovRisk:
        """Return the risk of the same data under another count potential, a place to start from.

        It counts the unknown instances alone: what is known of bags need not fit that potential.
        """
        inference = CountInference(potential, self.inference.offsets)
        data = (self.bag_features, self.codes, self.n_classes, self.weight)
        found = MarkovRisk(self.instances, inference, *data)
        found.by_bundle = self.by_bundle
        return found

    # The linear part -----------------------------------------------------------------------------

    def split(self, w: Array) -> list[Array]:
        """Return (w_I, w_C, w_B), each with one row per model."""
        return np.split(w.reshape(self.n_models, -1), np.cumsum(self.widths)[:-1], axis=1)

    def forward(self, w: Array) -> Array:
        """Return z = Zw as one flat vector: one pass over the instances."""
        instance, potential, bag = self.split(w)
        scores = [self.instances @ row for row in instance]
        return join_scores(*scores, potential, bag @ self.bag_features.T)

    def backward(self, r: Array) -> Array:
        """Return Z'r: one pass over the instances."""
        part = self.parts(r)
        instance = np.stack([self.instances.adjoint(row) for row in part.instances])
        return np.hstack([instance, part.potential, part.bags @ self.bag_features]).ravel()

    def parts(self, z: Array) -> MarkovScores:
        """Split a flat vector into its parts (views)."""
        ends = self.n_models * np.cumsum([self.instances.n_rows, self.widths[1]])
        return MarkovScores(*(part.reshape(self.n_models, -1) for part in np.split(z, ends)))

    # The risk ------------------------------------------------------------------------------------

    def labelings(self, z: Array) -> tuple[BestLabelings, Array]:
        """Return the best labelings, which the next call overwrites, and T (n_classes, n_bags)."""
        part = self.parts(z)
        best = self.inference.best(part.instances, part.potential, out=self._work)
        self._work = best
        return best, self._totals(best.value, part)

    def _totals(self, value: Array, part: MarkovScores) -> Array:
        negative, positive = value[:, 0], value[:, 1] + part.bags
        if self.n_models == 1:
            return np.stack([negative[0], positive[0]])
        return positive - negative + negative.sum(axis=0)

    def totals(self, z: Array) -> Array:
        """Return T alone, (n_classes, n_bags)."""
        part = self.parts(z)
        return self._totals(self.inference.values(part.instances, part.potential), part)

    def value(self, z: Array, *, truth: bool = True) -> float:
        """Return R; without ``truth`` its first term sum_n weight_n max_l (1[l != Y] + T_l)."""
        total = self.totals(z)
        margin = self._add_margin(total)[1]
        return float(self.weight @ (margin - self._of_truth(total) if truth else margin))

    def evaluate(self, z: Array, *, truth: bool = True) -> tuple[float, Array]:
        """Return R, or its first term, and a subgradient in z."""
        best, total = self.labelings(z)
        worst, margin = self._add_margin(total)
        amount = self._amounts(worst)
        if truth:  # Eq. 22: L - R, and its subgradient by Eq. 23
            margin, amount = margin - self._of_truth(total), amount - self._amounts(self.codes)
        return float(self.weight @ margin), self._pull(z, best, amount)

    def _of_truth(self, total: Array) -> Array:
        return total[self.codes, self._bag_numbers]

    def _add_margin(self, total: Array) -> tuple[Array, Array]:
        """Return the class with the largest loss-augmented score (Eq. 24), the truth if tied."""
        others, of_truth = self._add_loss(total), self._of_truth(total)
        worst, margin = others.argmax(axis=0), others.max(axis=0)
        tied = of_truth == margin
        return np.where(tied, self.codes, worst), margin

    def _add_loss(self, total: Array) -> Array:
        others = total + 1.0
        others[self.codes, self._bag_numbers] = self._of_truth(total)
        return others

    def _amounts(self, label: Array) -> Array:
        """Return the derivative of sum_n weight_n T_{label_n} in F, (n_models, 2, n_bags)."""
        amount = np.zeros((self.n_models, 2, len(label)))
        if self.n_models == 1:
            amount[0, label, self._bag_numbers] = self.weight
            return amount
        amount[:, 0] = self.weight
        amount[label, 0, self._bag_numbers] = 0.0
        amount[label, 1, self._bag_numbers] = self.weight
        return amount

    def _pull(self, z: Array, best: BestLabelings, amount: Array) -> Array:
        instances = self.inference.positives(self.parts(z).instances, best, amount)
        potential = self.inference.bin_sums(best, amount)
        return join_scores(instances, potential, amount[:, 1])

    def zero(self) -> Array:
        """Return the z of w = 0."""
        return self._of_instances(np.zeros((self.n_models, self.instances.n_rows)))

    def _of_instances(self, scores: Array) -> Array:
        """Return the z in which only instances score."""
        shapes = ((self.n_models, self.widths[1]), (self.n_models, len(self.codes)))
        return join_scores(scores, *map(np.zeros, shapes))

    def whole_bags(self) -> Array:
        """Return the z in which every instance scores 1 for its bag's class and -1 for others."""
        of_model = np.arange(self.n_models)[:, None] if self.n_models > 1 else 1
        belongs = np.atleast_2d(expand(self.codes, self.inference.offsets) == of_model)
        return self._of_instances(np.where(belongs, 1.0, -1.0))

    def freeze(self, z: Array) -> FrozenMarkovRisk:
        """Return the convex majorizer: the tangent of sum_n weight_n T_{Y_n} at z replaces it."""
        best, total = self.labelings(z)
        value = float(self.weight @ self._of_truth(total))
        slope = self._pull(z, best, self._amounts(self.codes))
        return FrozenMarkovRisk(self, slope, value - float(slope @ z))


def join_scores(*parts: Array) -> Array:
    """Return the parts of z as one vector."""
    return np.concatenate([part.ravel() for part in parts])


class FrozenMarkovRisk:
    """max_l (1[l != Y] + T_l) - tangent of T_Y: convex, and nowhere below the risk."""

    def __init__(self, risk: MarkovRisk, slope: Array, height: float) -> None:
        self.risk, self.slope, self.height = risk, slope, height
        self.n_coef, self.forward, self.backward = risk.n_coef, risk.forward, risk.backward

    def value(self, z: Array) -> float:
        """Return the value."""
        return self.risk.value(z, truth=False) - float(self.slope @ z) - self.height

    def evaluate(self, z: Array) -> tuple[float, Array]:
        """Return the value and a subgradient in z."""
        value, r = self.risk.evaluate(z, truth=False)
        return value - float(self.slope @ z) - self.height, r - self.slope
