"""Markov networks of several labels per bag, tied by potentials on pairs of labels.

Hajimirsadeghi & Mori name multi-label networks as the next step. A bag has a set of labels; every
label has a cardinality network of its own, and every pair of labels a learned weight that is added
where a bag has both (`bagwise.oracles.labelsets`). The loss of a set of labels is the number of
wrong ones. Without pairs that is one network against the rest per label. Training starts from
these networks and goes down from there jointly: the joint objective is never above theirs.
Inference enumerates the 2^L sets of labels, each with the exact inference over instances.

Reference: H. Hajimirsadeghi and G. Mori, "Multi-instance classification by max-margin training of
cardinality-based Markov networks", IEEE T-PAMI 39(9), 2017.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.assumptions import CountInference
from bagwise.bags import Bags, check_bags
from bagwise.estimators.params import Parameters, param
from bagwise.estimators.weights import check_weight
from bagwise.models.markov.network import MarkovNetworkClassifier
from bagwise.oracles.labelsets import LabelSetRisk, label_sets, pairs_of
from bagwise.procedures import Run
from bagwise.procedures.nrbm import restarted_nrbm

MOST_LABELS = 10  # with pairs: 2^10 sets of every bag are scored in each step
# What the joint problem has one of, and not one per label or fold.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "loss": ("hinge",),
    "alphas": (None,),
    "early_stopping": (False,),
    "class_weight": (None,),
    "threshold": (None, 0.0),
    "probability": (False,),
}


class MultiLabelMarkovNetwork(ClassifierMixin, Parameters):
    """Cardinality Markov networks for bags with several labels, with potentials on label pairs.

    Attributes
    ----------
    estimators_ : list of MarkovNetworkClassifier
        The network of every label, with the weights of the joint problem.
    pair_weights_ : ndarray of shape (n_labels, n_labels)
        What a bag's score gains if it has both labels; symmetric, with zeros on the diagonal.
    objective_, gap_ : float
        The joint objective, and how much one more convex step could lower it at most.
    separate_objective_ : float
        The sum of the objectives of the labels' own networks, where the joint training began.
    history_ : list of dict
        One record per round of the joint training.

    See Also
    --------
    sklearn.multioutput.MultiOutputClassifier : One against the rest for any bag classifier.

    Examples
    --------
    >>> from bagwise import MarkovNetworkClassifier, MultiLabelMarkovNetwork
    >>> bags = [[[0.0, 3.0]], [[3.0, 0.1], [0.2, 2.9]], [[2.9, 0.2]], [[0.3, 0.1]]]
    >>> labels = [[0, 1], [1, 1], [1, 0], [0, 0]]
    >>> model = MultiLabelMarkovNetwork(estimator=MarkovNetworkClassifier(alpha=0.01))
    >>> model.fit(bags, labels).predict(bags).tolist()
    [[0, 1], [1, 1], [1, 0], [0, 0]]
    """

    estimator: Any = param(
        None,
        [MarkovNetworkClassifier, None],
        "The network of every label, with its default parameters when None. Its ``alpha`` also "
        "weighs the pairs.",
        kind="MarkovNetworkClassifier",
    )
    pairs: bool = param(
        True,
        ["boolean"],
        "Learn weights of pairs of labels, for at most ten labels. Without them the networks "
        "are those of one against the rest.",
    )
    n_jobs: int | None = param(None, [Integral, None], "Number of labels fitted at once.")

    def __sklearn_tags__(self) -> Any:
        """Say that labels come as a matrix."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = True
        return tags

    def fit(self, bags: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from bags and the matrix of their labels.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The training bags.
        y : array-like or sparse matrix of shape (n_bags, n_labels)
            1 where a bag has a label, otherwise 0.
        sample_weight : array-like of shape (n_bags,), default=None
            Weights of the bags.

        Returns
        -------
        MultiLabelMarkovNetwork
            The model itself.
        """
        self._validate_params()
        bags = check_bags(bags)
        labels, weight = _checked_labels(y, bags), check_weight(bags, sample_weight)
        given: Any = self.estimator
        kind: Any = MarkovNetworkClassifier  # whose constructor is made of its fields
        base = kind() if given is None else clone(given)
        self._check_joint(base, labels.shape[1])
        base.set_params(pos_label=1)
        jobs = Parallel(n_jobs=self.n_jobs)
        fitted = jobs(delayed(_fit_label)(base, bags, column, weight) for column in labels.T)
        separate = float(sum(model.objective_[0] for model in fitted))
        pair_weights, found = np.zeros((labels.shape[1],) * 2), None
        if self.pairs:
            pair_weights, found = _tied(fitted, bags, labels, weight)
        self.estimators_, self.pair_weights_ = fitted, pair_weights
        self.separate_objective_ = separate
        self.objective_ = separate if found is None else float(found.solution.objective)
        gaps = sum(model.gap_[0] for model in fitted)
        self.gap_ = float(gaps if found is None else found.solution.gap)
        self.history_ = [] if found is None else found.history
        self.n_features_in_ = bags.n_features
        if hasattr(self, "feature_names_in_"):  # of an earlier fit
            delattr(self, "feature_names_in_")
        if bags.feature_names is not None:
            self.feature_names_in_ = bags.feature_names
        return self

    def _check_joint(self, base: MarkovNetworkClassifier, n_labels: int) -> None:
        if not self.pairs:
            return
        if n_labels > MOST_LABELS:
            raise ValueError(
                f"There are {n_labels} labels, and pairs=True enumerates all sets of up to "
                f"{MOST_LABELS}: set pairs=False, or choose labels."
            )
        for name, plain in _PLAIN.items():
            if getattr(base, name) not in plain:
                raise ValueError(
                    f"The estimator has {name}={getattr(base, name)!r}: with pairs=True it must "
                    f"be {plain[0]!r}."
                )
        if base.bag_features is not None and not (
            isinstance(base.bag_features, str) and base.bag_features == "bags"
        ):
            raise ValueError(
                "The estimator's bag_features are scores of one label's models: with pairs=True "
                "they must be None or 'bags'."
            )

    # Predicting ----------------------------------------------------------------------------------

    def _separate_scores(self, bags: Bags) -> Array:
        return np.stack([model.decision_function(bags) for model in self.estimators_], axis=1)

    def _set_scores(self, bags: Bags) -> tuple[Array, Array]:
        """Return all sets, and the score of every bag and set above the empty one."""
        sets = label_sets(len(self.estimators_))
        tied = np.tensordot(pairs_of(sets), np.triu(self.pair_weights_, 1), axes=2)
        return sets, self._separate_scores(bags) @ sets.T + tied

    @answers("ndarray of shape (n_bags, n_labels)", "1 where the bag has the label.")
    def predict(self, bags: Any) -> Array:
        """Predict the set of labels of every bag: the one with the highest score."""
        bags = self._checked(bags)
        if not self.pair_weights_.any():
            return (self._separate_scores(bags) > 0).astype(int)
        sets, scores = self._set_scores(bags)
        return sets[scores.argmax(axis=1)].astype(int)

    @answers(
        "ndarray of shape (n_bags, n_labels)",
        "The best set with the label minus the best one without it.",
    )
    def decision_function(self, bags: Any) -> Array:
        """Score every label of every bag; positive where the label is predicted."""
        bags = self._checked(bags)
        if not self.pair_weights_.any():
            return self._separate_scores(bags)
        sets, scores = self._set_scores(bags)
        columns = [
            scores[:, has].max(axis=1) - scores[:, ~has].max(axis=1) for has in sets.T.astype(bool)
        ]
        return np.stack(columns, axis=1)

    @answers(
        "ndarray of shape (n_instances, n_labels)",
        "True where the instance belongs to the label; it may belong to none, or to several.",
    )
    def predict_instances(self, bags: Any) -> Array:
        """Infer the labels of all instances, given the predicted labels of their bags."""
        bags = self._checked(bags)
        columns = []
        for model, found in zip(self.estimators_, self.predict(bags).T, strict=True):
            sides = np.stack([1.0 - found, found])[None].astype(float)
            columns.append(model._labelings(bags, sides)[0] >= 0.5)
        return np.stack(columns, axis=1)

    def _checked(self, bags: Any) -> Bags:
        check_is_fitted(self)
        return self.estimators_[0]._checked(bags)


def _fit_label(base: Any, bags: Bags, labels: Array, weight: Array) -> Any:
    return clone(base).fit(bags, labels, sample_weight=weight)


def _checked_labels(y: Any, bags: Bags) -> Array:
    labels = np.asarray(y.toarray() if sp.issparse(y) else y)
    if labels.ndim != 2 or len(labels) != len(bags):
        raise ValueError(
            f"y has shape {labels.shape}: one row per bag ({len(bags)}) and one column per label."
        )
    if not np.isin(labels, (0, 1)).all():
        raise ValueError("y must hold 1 where a bag has a label and 0 elsewhere.")
    labels = labels.astype(int)
    for column, total in enumerate(labels.sum(axis=0).tolist()):
        if total in (0, len(bags)):
            which = "every bag has" if total else "no bag has"
            raise ValueError(f"Label {column} cannot be learned: {which} it. Remove the column.")
    return labels


def _tied(
    fitted: list[MarkovNetworkClassifier], bags: Bags, labels: Array, weight: Array
) -> tuple[Array, Run]:
    """Train all networks and the pairs jointly, and give the networks their new weights."""
    first, used = fitted[0], np.flatnonzero(weight)
    part, n_labels = bags[used], labels.shape[1]
    inference = CountInference(first.potential_, part.offsets)
    columns = first.inputs_.bag_columns(part)
    risk = LabelSetRisk(
        first.inputs_.operator(part), inference, columns, labels[used], weight[used]
    )
    parts = [(net.instance, net.potential, net.bag) for net in (m.networks_[0] for m in fitted)]
    instance, potential, bag = (np.concatenate(rows) for rows in zip(*parts, strict=True))
    start = np.hstack([instance, potential, np.zeros((n_labels, n_labels)), bag]).ravel()
    run = restarted_nrbm(risk, first.alpha, start, tol=first.tol, max_iter=first.max_iter)
    instance, potential, bag = risk.split(run.solution.coef)
    for row, model in enumerate(fitted):
        one = slice(row, row + 1)
        network = replace(
            model.networks_[0],
            instance=instance[one],
            potential=potential[one, :-n_labels],
            bag=bag[one],
            runs=[run],
        )
        model._keep([network])
        model._infer_weights(bags, used, labels[used][:, [row]] == 1)
    above = np.triu(potential[:, -n_labels:], 1)
    return above + above.T, run
