"""The negative log-likelihood of a cardinality Markov network, with all labelings summed out.

The network of `bagwise.oracles.markov` as a distribution: P(Y, y | B) is proportional to
exp f_w(B, Y, y). With log Z of either side in place of the maxima F, the total of class l is again
T_l = log Z_l(+1) + sum_{j != l} log Z_j(-1), and

    R(w) = sum_n weight_n [ log sum_l exp T_l - T_{Y_n} ] = -sum_n weight_n log P(Y_n | B_n).

Both terms are convex, R is smooth. Its minus T_Y replaced by its tangent (one step of expectation
maximization) is convex: with alpha/2 |w|^2 strongly so, and a gradient g of the objective leaves
it at most |g|^2 / (2 alpha) to gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp, softmax

from bagwise._typing import Array
from bagwise.assumptions import CountPosterior, Posteriors
from bagwise.oracles.markov import InstanceOperator, OfRisk


@dataclass(frozen=True)
class MarkovLikelihood(OfRisk):
    """A network's negative log-likelihood, on the data of its risk."""

    @cached_property
    def posterior(self) -> CountPosterior:
        """The sums over labelings of the training bags."""
        return CountPosterior(self.risk.inference.potential, self.risk.inference.offsets)

    def value(self, z: Array) -> float:
        """Return the negative log-likelihood."""
        return self._loss(self.totals(z))

    def totals(self, z: Array) -> Array:
        """Return T (n_classes, n_bags), up to a number per bag."""
        return self._totals(z, marginals=False)[1]

    def evaluate(self, z: Array) -> tuple[float, Array]:
        """Return the negative log-likelihood and its gradient in z."""
        found, total = self._totals(z, marginals=True)
        slope = softmax(total, axis=0)
        slope[self.risk.codes, np.arange(total.shape[1])] -= 1.0
        slope *= self.risk.weight
        # The slopes of all classes sum to zero: of log Z_l(-1) the others' sum is minus the own.
        amount = slope[None] if self.risk.n_models == 1 else np.stack([-slope, slope], axis=1)
        instances = self.posterior.instance_slopes(found, amount)
        potential = self.posterior.bin_slopes(found, amount)
        parts = (instances.ravel(), potential.ravel(), amount[:, 1].ravel())
        return self._loss(total), np.concatenate(parts)

    def _loss(self, total: Array) -> float:
        of_truth = total[self.risk.codes, np.arange(total.shape[1])]
        return float(self.risk.weight @ (logsumexp(total, axis=0) - of_truth))

    def _totals(self, z: Array, *, marginals: bool) -> tuple[Posteriors, Array]:
        """Return the sums over labelings and T (n_classes, n_bags)."""
        part = self.risk.parts(z)
        found = self.posterior.of(part.instances, part.potential, marginals=marginals)
        negative, positive = found.log_sum[:, 0], found.log_sum[:, 1] + part.bags
        if self.risk.n_models == 1:
            return found, np.stack([negative[0], positive[0]])
        return found, positive - negative  # without sum_j log Z_j(-1), which cancels


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
