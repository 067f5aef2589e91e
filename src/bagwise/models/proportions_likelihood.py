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

import warnings
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import HasMethods

from bagwise._typing import Array
from bagwise.assumptions import CountPosterior
from bagwise.bags import Bags
from bagwise.bags.ids import name_of
from bagwise.bags.segments import segment_argmax, segment_mean
from bagwise.estimators.input import BagInput
from bagwise.estimators.params import MaxIterParameter, Parameters, changed, param, positive
from bagwise.estimators.weights import check_weight
from bagwise.models.markov.inputs import NetworkInputs
from bagwise.oracles.likelihood import CountLikelihood
from bagwise.solvers.lbfgs import lbfgs


class _LogisticParameters(MaxIterParameter, Parameters):
    """What the model minimizes and sees."""

    alpha: float = param(
        1.0, positive(), "Weight of |w|^2 / 2 against the sum of the bags' losses."
    )
    feature_map: Any = param(
        None,
        [HasMethods(["fit_transform", "transform"]), None],
        "Fitted to the training instances and applied to all, such as ``StandardScaler()`` or a "
        "``Nystroem``.",
        kind="transformer",
    )
    unit_norm: bool = param(
        True, ["boolean"], "Scale the (mapped) instances to unit mean squared norm."
    )
    fit_intercept: bool = param(True, ["boolean"], "Append a constant feature to the instances.")
    tol: float = param(1e-6, positive(), "Relative gap at which L-BFGS stops.")
    max_iter: int = changed(
        MaxIterParameter, "max_iter", default=1000, doc="Maximum number of iterations of L-BFGS."
    )


class LabelProportionLogistic(_LogisticParameters, RegressorMixin, BagInput):
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

    def fit(self, bags: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from shares.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The training bags.
        y : array-like of shape (n_bags,), default=None
            The share of positives in each bag, in [0, 1]; ``bags.priors`` when None.
        sample_weight : array-like of shape (n_bags,), default=None
            One weight per bag.

        Returns
        -------
        self
            The fitted estimator.
        """
        fresh = type(self)(**self.get_params(deep=False))
        fresh._learn(bags, y, sample_weight)
        self.__dict__.update(vars(fresh))  # a fit that fails leaves the model as it was
        return self

    def _learn(self, bags: Any, y: Any, sample_weight: Any) -> None:
        self._validate_params()
        bags = self._validate_bags(bags, reset=True)
        counts = self._counts(bags, y)
        weight = check_weight(bags, sample_weight)
        inputs = NetworkInputs(
            self.feature_map,
            None,
            unit_norm=self.unit_norm,
            fit_intercept=self.fit_intercept,
            cv=None,
            random_state=None,
            n_jobs=None,
        )
        operator, _ = inputs.fit(bags, counts, weight)
        posterior = CountPosterior.of_known_counts(counts, bags.offsets)
        likelihood = CountLikelihood(operator, posterior, weight)
        start = np.zeros(likelihood.n_coef)
        found = lbfgs(likelihood, self.alpha, start, tol=self.tol, max_iter=self.max_iter)
        self.inputs_, w = inputs, found.coef
        self.coef_ = inputs.scale * (w[:-1] if self.fit_intercept else w)
        self.intercept_ = float(w[-1]) if self.fit_intercept else 0.0
        self.objective_, self.gap_, self.n_iter_ = found.objective, found.gap, found.n_iter
        if not found.converged:
            warnings.warn(
                f"LabelProportionLogistic was stopped by max_iter={self.max_iter} before it "
                f"converged to tol={self.tol:g}: objective {found.objective:.6g}, gap "
                f"{found.gap:.2g}. Raise max_iter, tol or alpha.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _counts(self, bags: Bags, shares: Any) -> Array:
        """Return the number of positives in each bag."""
        shares = bags.priors if shares is None else shares
        if shares is None:
            raise ValueError(
                "LabelProportionLogistic requires y to be passed, but the target y is None, and "
                "the bags have no priors: give the share of positives in each bag."
            )
        shares = column_or_1d(shares, dtype=np.float64)
        if len(shares) != len(bags):
            raise ValueError(f"y has {len(shares)} shares, there are {len(bags)} bags.")
        bad = np.flatnonzero(~((shares >= 0) & (shares <= 1)))
        if len(bad):
            raise ValueError(
                f"{name_of(bags.ids, int(bad[0]))} has the share {shares[bad[0]]}, which is not in "
                "[0, 1]: give the fraction of its instances that are positive."
            )
        return np.rint(shares * bags.sizes).astype(np.int64)

    # Predicting ----------------------------------------------------------------------------------

    def instance_decision_function(self, bags: Any) -> Array:
        """Score every instance: its log-odds.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags.

        Returns
        -------
        ndarray of shape (n_instances,)
            Aligned with ``bags.X``.
        """
        bags = self._checked(bags)
        coef = self.coef_ / self.inputs_.scale
        coef = np.append(coef, self.intercept_) if self.fit_intercept else coef
        return self.inputs_.operator(bags) @ coef

    def predict_instances_proba(self, bags: Any, y: Any = None) -> Array:
        """Return the probabilities of instances, given the shares of their bags where known.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags.
        y : array-like of shape (n_bags,), default=None
            The share of positives in each bag; the posteriors then sum to the count in each bag.

        Returns
        -------
        ndarray of shape (n_instances, 2)
            Probabilities of being negative and positive.
        """
        bags = self._checked(bags)
        scores = self.instance_decision_function(bags)
        chance = expit(scores)
        if y is not None:
            posterior = CountPosterior.of_known_counts(self._counts(bags, y), bags.offsets)
            chance = posterior.of(scores[None], np.empty((1, 0))).marginals[0, 1]
        return np.column_stack([1 - chance, chance])

    def predict_instances(self, bags: Any) -> Array:
        """Predict the label of every instance.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags.

        Returns
        -------
        ndarray of int of shape (n_instances,)
            1 for positive instances, 0 for others.
        """
        return (self.instance_decision_function(bags) > 0).astype(int)

    def key_instances(self, bags: Any) -> Array:
        """Point at the instance of each bag that is most likely positive.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags.

        Returns
        -------
        ndarray of int of shape (n_bags,)
            Position within the bag.
        """
        bags = self._checked(bags)
        return segment_argmax(self.instance_decision_function(bags), bags.offsets)

    def predict(self, bags: Any) -> Array:
        """Predict the share of positives in each bag: the mean probability of its instances.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags.

        Returns
        -------
        ndarray of shape (n_bags,)
            Shares in [0, 1].
        """
        bags = self._checked(bags)
        return segment_mean(self.predict_instances_proba(bags)[:, 1], bags.offsets)
