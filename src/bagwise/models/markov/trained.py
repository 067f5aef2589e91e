"""The weights of one trained network, and what they say about bags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import CountInference, CountPosterior, Posteriors
from bagwise.models.markov.risk import InstanceOperator
from bagwise.procedures import Run


@dataclass(frozen=True)
class Network:
    """The weights of one fit, one row per model, and how they were found."""

    alpha: float
    instance: Array  # (n_models, n_mapped_features), the constant one last where there is one
    potential: Array  # (n_models, n_weights)
    bag: Array  # (n_models, n_bag_features)
    runs: list[Run]  # one joint, or one per class
    starts: list[dict[str, Any]]

    def as_starts(self, n_problems: int) -> list[Array]:
        """Return the weights as one vector per problem: a joint one, or one per class."""
        rows = np.hstack([self.instance, self.potential, self.bag])
        return [part.ravel() for part in np.split(rows, n_problems)]

    def scores(
        self, operator: InstanceOperator, columns: Array, inference: CountInference
    ) -> Array:
        """Return D of every bag, (n_bags, n_models)."""
        best = inference.best(self._instance_scores(operator), self.potential)
        return (best.value[:, 1] + self.bag @ columns.T - best.value[:, 0]).T

    def log_odds(
        self, operator: InstanceOperator, columns: Array, posterior: CountPosterior
    ) -> tuple[Array, Posteriors]:
        """Return log P(Y = 1) / P(Y = -1) of bags, (n_bags, n_models), and the labels' sums."""
        found = posterior.of(self._instance_scores(operator), self.potential)
        difference = found.log_sum[:, 1] + self.bag @ columns.T - found.log_sum[:, 0]
        return difference.T, found

    def labelings(
        self, operator: InstanceOperator, inference: CountInference, sides: Array
    ) -> Array:
        """Return the best label of every instance, given each bag's side, (n_models, n)."""
        scores = self._instance_scores(operator)
        return inference.positives(scores, inference.best(scores, self.potential), sides)

    def _instance_scores(self, operator: InstanceOperator) -> Array:
        return np.stack([operator @ row for row in self.instance])
