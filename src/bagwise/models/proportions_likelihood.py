"""Learning from label proportions: a share of positives per bag instead of a label.

Instances have independent labels with P(y_i = 1) = 1 / (1 + exp(-s_i)), s_i = w.x_i + b. All that
is known of a bag of m instances is its count k = round(share m). The model maximizes the exact
likelihood of the counts, all labelings with that count summed out,

    min_w alpha/2 |w|^2 - sum_n log P(sum_i y_i = k_n),

by L-BFGS, whose gradient is made of the exact posteriors P(y_i = 1 | k_n). Bags with shares 0 and 1
are fully labeled: with nothing but these it is logistic regression. The objective is not convex in
general; ``gap_`` bounds what the convex problem that touches it at the solution (one step of
expectation maximization) could still gain.

Reference: N. Quadrianto, A. Smola, T. Caetano, Q. Le, "Estimating labels from label proportions",
JMLR 10 (2009), for the problem; the likelihood is that of the count potentials of Hajimirsadeghi
& Mori (2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.assumptions import CountPosterior
from bagwise.bags import Bags
from bagwise.bags.segments import segment_mean
from bagwise.estimators.params import param, positive, redeclare, shared
from bagwise.estimators.task import warn_stopped
from bagwise.models.markov.inputs import NetworkInputs
from bagwise.models.markov.parameters import NetworkParameters
from bagwise.models.markov.risk import InstanceOperator
from bagwise.models.proportions import ShareRegressor
from bagwise.problems import is_in_doubt
from bagwise.solvers.lbfgs import lbfgs
from bagwise.tolerances import NOTHING


@dataclass(frozen=True)
class CountLikelihood:
    """Negative log-likelihood of the number of positives in every bag, labels independent.

    R(w) = sum_n weight_n [ sum_i log(1 + exp s_i) - log e_k(exp s) ], s_i = w.x_i, with the
    elementary symmetric polynomial e_k over the labelings that have the known count k.
    """

    instances: InstanceOperator
    posterior: CountPosterior  # of known counts
    weight: Array  # (n_bags,)

    @property
    def n_coef(self) -> int:
        """Length of w."""
        return self.instances.n_coef

    def forward(self, w: Array) -> Array:
        """Return the scores of all instances."""
        return self.instances @ w

    def backward(self, r: Array) -> Array:
        """Return the transposed product."""
        return self.instances.adjoint(r)

    def value(self, z: Array) -> float:
        """Return the negative log-likelihood."""
        log_sum = self.posterior.of(z[None], np.empty((1, 0)), marginals=False).log_sum[0]
        return float(self.weight @ (log_sum[0] - log_sum[1]))

    def evaluate(self, z: Array) -> tuple[float, Array]:
        """Return the negative log-likelihood and its gradient in the scores."""
        found = self.posterior.of(z[None], np.empty((1, 0)))
        amount = np.stack([self.weight, -self.weight])[None]
        value = float(self.weight @ (found.log_sum[0, 0] - found.log_sum[0, 1]))
        return value, self.posterior.instance_slopes(found, amount)[0]


class LabelProportionLogistic(ShareRegressor):
    """Learn a classifier of instances from the share of positives in every bag.

    Attributes
    ----------
    coef_ : ndarray of shape (n_mapped_features,)
        Weights, in the units of the mapped features.
    intercept_ : float
        Weight of the constant feature.
    objective_, gap_ : float
        The objective reached, and how much one more convex step could lower it at most.
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    LabelProportionSVC : The same with a margin instead of a likelihood, and kernels.
    AnnealedProportionSVC : Bags have labels, and an expected share besides.
    MarkovNetworkClassifier : Bags have labels, and counts a potential.

    Examples
    --------
    >>> from bagwise import Bags, LabelProportionLogistic
    >>> bags = Bags.from_list([[[0.0], [3.0]], [[0.1], [0.3]], [[2.9], [0.2], [3.1]]])
    >>> model = LabelProportionLogistic(alpha=0.01).fit(bags, [0.5, 0.0, 0.67])
    >>> model.predict_instances(bags)
    array([0, 1, 0, 0, 1, 0, 1])
    >>> model.predict(bags).round(1)
    array([0.5, 0. , 0.7])
    """

    alpha: float = param(
        1.0, positive(), "Weight of |w|^2 / 2 against the sum of the bags' losses."
    )
    feature_map: Any = redeclare(NetworkParameters, "feature_map")
    unit_norm: bool = redeclare(NetworkParameters, "unit_norm")
    fit_intercept: bool = redeclare(NetworkParameters, "fit_intercept", default=True)
    tol: float = param(1e-6, positive(), "Relative gap at which L-BFGS stops.")
    max_iter: int = shared("max_iter", default=1000, doc="Maximum number of iterations of L-BFGS.")

    def _learn(self, bags: Bags, counts: Array, weight: Array) -> None:
        scaled = {"unit_norm": self.unit_norm, "fit_intercept": self.fit_intercept}
        inputs = NetworkInputs(self.feature_map, **scaled)
        operator, _ = inputs.fit(bags, counts, weight)
        posterior = CountPosterior.of_known_counts(counts, bags.offsets)
        likelihood = CountLikelihood(operator, posterior, weight)
        start = np.zeros(likelihood.n_coef)
        found = lbfgs(likelihood, self.alpha, start, tol=self.tol, max_iter=self.max_iter)
        self.inputs_, w = inputs, found.coef
        self.coef_ = inputs.scale * (w[:-1] if self.fit_intercept else w)
        self.intercept_ = float(w[-1]) if self.fit_intercept else 0.0
        self.objective_, self.gap_, self.n_iter_ = found.objective, found.gap, found.n_iter
        done, tol = found.converged, max(self.tol, NOTHING)
        if is_in_doubt(found.objective, found.gap, converged=done, stopped=not done, tol=tol):
            limit, remedy = f"max_iter={self.max_iter}", "Raise max_iter, tol or alpha."
            warn_stopped(self, limit, found.objective, remedy, gap=found.gap)

    @answers("ndarray of shape (n_instances,)", "Aligned with ``bags.X``.")
    def instance_decision_function(self, bags: Any) -> Array:
        """Score every instance: its log-odds."""
        bags = self._check_bags(bags)
        coef = self.coef_ / self.inputs_.scale
        coef = np.append(coef, self.intercept_) if self.fit_intercept else coef
        return self.inputs_.operator(bags) @ coef

    @answers(
        *("ndarray of shape (n_instances, 2)", "Probabilities of being negative and positive."),
        y="The share of positives in each bag; the posteriors then sum to the count in each bag.",
    )
    def predict_instances_proba(self, bags: Any, y: Any = None) -> Array:
        """Return the probabilities of instances, given the shares of their bags where known."""
        bags = self._check_bags(bags)
        scores = self.instance_decision_function(bags)
        chance = expit(scores)
        if y is not None:
            posterior = CountPosterior.of_known_counts(self._counts(bags, y), bags.offsets)
            chance = posterior.of(scores[None], np.empty((1, 0))).marginals[0, 1]
        return np.column_stack([1 - chance, chance])

    @answers("ndarray of shape (n_bags,)", "Shares in [0, 1].")
    def predict(self, bags: Any) -> Array:
        """Predict the share of positives in each bag: the mean probability of its instances."""
        bags = self._check_bags(bags)
        return segment_mean(self.predict_instances_proba(bags)[:, 1], bags.offsets)
