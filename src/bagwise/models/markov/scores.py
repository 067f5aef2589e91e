"""The weights of a trained Markov network, and what they say about bags and instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, softmax

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.assumptions import CountInference, CountPosterior, CountPotential, Posteriors
from bagwise.bags import Bags
from bagwise.estimators.base import BagClassifier
from bagwise.models.markov.inputs import NetworkInputs
from bagwise.models.markov.parameters import NetworkParameters
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
        self,
        operator: InstanceOperator,
        inference: CountInference,
        sides: Array,
        rows: Any = slice(None),
    ) -> Array:
        """Return the best label of every instance (of ``rows``), given each bag's side."""
        scores = np.ascontiguousarray(self._instance_scores(operator)[:, rows])
        return inference.positives(scores, inference.best(scores, self.potential), sides)

    def _instance_scores(self, operator: InstanceOperator) -> Array:
        return np.stack([operator @ row for row in self.instance])


class NetworkScores(NetworkParameters, BagClassifier):
    """The predicting half of a Markov network."""

    if TYPE_CHECKING:  # fields would be parameters
        inputs_: NetworkInputs
        networks_: list[Network]
        potential_: CountPotential
        coef_: Array
        intercept_: Array

    def _instance_scores(self, bags: Bags) -> Array:
        operator = self.inputs_.operator(bags)
        coef = self.coef_ / self.inputs_.scale
        if self.fit_intercept:
            coef = np.hstack([coef, self.intercept_[:, None]])
        return np.stack([operator @ row for row in coef], axis=1)

    def _bag_scores(self, bags: Bags) -> Array:
        operator, columns = self.inputs_.operator(bags), self.inputs_.bag_columns(bags)
        inference = CountInference(self.potential_, bags.offsets)
        return self.networks_[0].scores(operator, columns, inference)

    @answers(
        "ndarray of shape (n_instances,) or (n_instances, n_classes)",
        "Two classes: one label per instance. More classes: whether the instance "
        "belongs to the column's class; it may belong to none, or to several.",
    )
    def predict_instances(self, bags: Any) -> Array:
        """Infer the labels of all instances, given the predicted labels of their bags."""
        bags = self._check_bags(bags)
        scores = self._score_bags(bags)
        if scores.shape[1] == 1:
            chosen = scores > 0
        else:
            chosen = scores.argmax(axis=1)[:, None] == np.arange(scores.shape[1])
        sides = np.stack([~chosen.T, chosen.T], axis=1).astype(float)  # (n_models, 2, n_bags)
        labels = self._labelings(bags, sides).T >= 0.5
        if labels.shape[1] > 1:
            return labels
        code = np.where(labels[:, 0], self._positive_code(), 1 - self._positive_code())
        return self.classes_[code]

    def _labelings(self, bags: Bags, sides: Array) -> Array:
        """Return the label of every instance, given each bag's side."""
        inference = CountInference(self.potential_, bags.offsets)
        return self.networks_[0].labelings(self.inputs_.operator(bags), inference, sides)

    # Probabilities -------------------------------------------------------------------------------

    @answers(
        "ndarray of shape (n_instances, 2) or (n_instances, n_classes)",
        "Two classes: probabilities of both, rows sum to one. More classes: the probability that "
        "the instance belongs to the column's class; it may belong to none, or to several.",
    )
    def predict_instances_proba(self, bags: Any) -> Array:
        """Return exact posteriors of instances: P(y_i = 1 | bag), all labelings summed out.

        The label of the bag is summed out too, P(y_i | B) = sum_Y P(Y | B) P(y_i | Y, B): with the
        probabilities of ``predict_proba`` where that exists, otherwise with those of the network.
        Nothing in training for a margin makes them calibrated.

        Examples
        --------
        >>> from bagwise import MarkovNetworkClassifier
        >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
        >>> model = MarkovNetworkClassifier(alpha=0.01).fit(bags, [1, 0, 1, 0])
        >>> model.predict_instances_proba(bags)[:2, 1].round(1)
        array([0.4, 0.8])
        """
        bags = self._check_bags(bags)
        operator, columns = self.inputs_.operator(bags), self.inputs_.bag_columns(bags)
        posterior = CountPosterior(self.potential_, bags.offsets)
        odds, found = self.networks_[0].log_odds(operator, columns, posterior)
        if hasattr(self, "predict_proba"):
            of_bags = self._given_chances(bags)
        else:
            of_bags = self._chances(odds - self.threshold_)
        slopes = posterior.instance_slopes(found, np.stack([1 - of_bags.T, of_bags.T], axis=1))
        return self._as_classes(np.minimum(slopes, 1.0).T)  # (n_instances, n_models)

    def _chances(self, odds: Array) -> Array:
        """Return the probability that each model's class is the bag's, (n_bags, n_models)."""
        if odds.shape[1] == 1:
            return expit(odds)
        if self.multi_class == "native":
            return softmax(odds, axis=1)
        alone = expit(odds)
        return alone / alone.sum(axis=1, keepdims=True)

    def _given_chances(self, bags: Bags) -> Array:
        given = self.predict_proba(bags)
        return given if given.shape[1] > 2 else given[:, [self._positive_code()]]

    def _as_classes(self, positive: Array) -> Array:
        """Return one column per class, from one per model."""
        if positive.shape[1] > 1:
            return positive
        both = np.hstack([1 - positive, positive])
        return both if self._positive_code() == 1 else both[:, ::-1]
