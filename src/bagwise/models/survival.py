"""Times of events: landmarks for any bag classifier, and Cox's model on bags.

`BagSurvival` asks at several landmark times t whether an event came before t: two classes, where
bags censored before t weigh nothing and the others are weighted by the inverse probability of not
being censored (`bagwise.times`), in training and in calibration. That censoring is independent of
the features is assumed. If the worst instance decides about the risk, each of these problems
satisfies the standard assumption, and instances have risks, too.

`CoxBag` maximizes Cox's partial likelihood (ties by Efron) of a vector per bag,

    min_w -log L(w) + alpha / 2 |w|^2,        risk(B) = w.r(B),

with r(B) the standardized mean, statistics or composition of the bag; ``gap_`` is
|gradient|^2 / (2 alpha), which bounds the distance from the optimum because the objective is
alpha-strongly convex.

References: D. M. Vock and others, "Adapting machine learning techniques to censored time-to-event
health record data", Journal of Biomedical Informatics 2016; D. R. Cox, "Regression models and
life-tables", Journal of the Royal Statistical Society B 1972; B. Efron, "The efficiency of Cox's
likelihood function for censored data", JASA 1977.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.statistics import check_statistics, statistics, statistics_without_each
from bagwise.estimators.discovery import LEVEL
from bagwise.estimators.params import Words, integer, param, positive
from bagwise.estimators.scoring import BagScores
from bagwise.estimators.tags import BagTags
from bagwise.models.composition import Composition
from bagwise.models.thresholds import ThresholdModels
from bagwise.problems import is_in_doubt
from bagwise.solvers.cox import cox_baseline, solve_cox
from bagwise.times import (
    Steps,
    Times,
    check_events,
    check_times,
    concordance,
    kaplan_meier,
    landmark_weights,
)
from bagwise.tolerances import COARSE


class TimesModel(BagScores):
    """Base of the models of times: labels, risks and their score.

    Attributes
    ----------
    censored_times_, censored_ : ndarray
        The training bags' probability of being uncensored, from each time on.
    times_ : ndarray of shape (n_times,)
        The times at which ``predict_survival_function`` answers.
    """

    task = "times"

    def _read_labels(self, bags: Bags, y: Any, weight: Array) -> Times:
        times = check_times(y, bags.ids)
        check_events(times[weight > 0])
        censoring = kaplan_meier(times, weight, censoring=True)
        self.censored_times_, self.censored_ = censoring.times, censoring.values
        return times

    def _survival(self, bags: Bags) -> Array:
        """Return survival functions; by default those of log hazards beside a baseline."""
        return np.exp(-np.exp(self._score_bags(bags)) * self.baseline_)

    @answers(
        "ndarray of shape (n_bags, n_times)",
        "The probability that no event comes up to each of ``times_``; rows do not rise.",
    )
    def predict_survival_function(self, bags: Any) -> Array:
        """Return the survival functions of bags."""
        return self._survival(self._check_bags(bags))

    @answers("float", "Between 0 and 1; 1/2 is chance.", y="Events and times, as in ``fit``.")
    def score(self, bags: Any, y: Any) -> float:
        """Return Uno's C-index of the risks, up to the last time of the training bags."""
        tau = float(self.censored_times_[-1])
        return concordance(check_times(y), self.predict(bags), self._censoring(), tau)[0]

    def _survival_at(self, bags: Any, moments: Array) -> Array:
        """Return survival functions at other times, by interpolation from 1 at time 0."""
        at, rows = np.append(0.0, self.times_), self.predict_survival_function(bags)
        return np.array([np.interp(moments, at, np.append(1.0, row)) for row in rows])

    def _censoring(self) -> Steps:
        return Steps(self.censored_times_, self.censored_, np.zeros(len(self.censored_)))


class BagSurvival(TimesModel, ThresholdModels):
    """Predict times of events with any bag classifier, fitted at several landmark times.

    ``predict`` is the mean probability of an event over ``times_``.

    See Also
    --------
    CoxBag : Cox's model, where the whole bag decides.
    OrdinalBagClassifier : The same for grades.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import BagSurvival
    >>> rng = np.random.default_rng(0)
    >>> members = [rng.normal(size=(6, 2)) for _ in range(120)]
    >>> time = rng.exponential(np.exp([-3 * X[:, 0].max() for X in members]))
    >>> y = np.column_stack([time < 1.0, np.minimum(time, 1.0)])
    >>> model = BagSurvival(times=2).fit(members[:80], y[:80])
    >>> model.score(members[80:], y[80:]) > 0.7
    True
    """

    times: Any = param(
        4,
        [integer(), "array-like"],
        "Landmark times, or how many of them: these are quantiles of the times of events.",
        kind="int or sequence of float",
    )

    def _fit_labels(self, bags: Bags, y: Times, weight: Array) -> None:
        known = y[(weight > 0) & y.event].time
        if isinstance(self.times, int | np.integer):
            shares = np.linspace(0.15, 0.85, self.times) if self.times > 1 else [0.5]
            self.times_ = np.unique(np.quantile(known, shares))
        else:
            self.times_ = np.unique(np.asarray(self.times, dtype=np.float64))
        super()._fit_labels(bags, y, weight)

    def _recall_labels(self, bags: Bags, y: Any) -> Times:
        return check_times(y, bags.ids)

    def _ask_thresholds(self, y: Times) -> tuple[Array, Array]:
        asked = [landmark_weights(y, t, self._censoring()) for t in self.times_]
        truth, weight = (np.stack(part, axis=1) for part in zip(*asked, strict=True))
        return truth, weight

    @answers(
        *("ndarray of shape (n_instances,)", "Aligned with ``bags.X``; infinity where at none."),
        level="Share of bags without an event up to a landmark that may have any discovery at it.",
    )
    def discover_times(self, bags: Any, level: float = LEVEL) -> Array:
        """Return the earliest of ``times_`` at which each instance is discovered."""
        found = self._find_discoveries(self._check_bags(bags), level)
        return np.where(found, self.times_, np.inf).min(axis=1)

    def _name_threshold(self, number: int) -> str:
        return f"The landmark at {self.times_[number]:g}"

    def _reduce(self, chances: Array) -> Array:
        return chances.mean(axis=1, keepdims=True)

    def _survival(self, bags: Bags) -> Array:
        return 1 - self._chances(bags)


class CoxBag(TimesModel, Composition):
    """Cox's proportional hazards on a vector per bag.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns)
        Log hazard ratios of the standardized columns.
    center_, scale_ : ndarray of shape (n_columns,)
        What standardizes the columns.
    baseline_ : ndarray of shape (n_times,)
        Cumulative hazard of risk 0 at ``times_``, by Breslow.
    objective_, gap_ : ndarray of shape (1,)
        The objective reached, and a proven bound on its distance from the optimum.
    n_iter_ : int
        Number of Newton steps.
    history_ : list of dict
        One record per step.

    See Also
    --------
    BagSurvival : Where one instance decides.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import CoxBag
    >>> rng = np.random.default_rng(0)
    >>> members = [rng.normal(size=(6, 2)) for _ in range(120)]
    >>> time = rng.exponential(np.exp([-5 * X[:, 0].mean() for X in members]))
    >>> y = np.column_stack([time < 1.0, np.minimum(time, 1.0)])
    >>> model = CoxBag().fit(members[:80], y[:80])
    >>> model.score(members[80:], y[80:]) > 0.8
    True
    """

    embedding: str = param(
        "mean",
        Words("mean", "statistics", "composition"),
        "What describes a bag: its mean, the mean, std, min and max of every feature, or the "
        "shares of ``n_words`` kinds of instances.",
    )
    alpha: float = param(1.0, positive(), "Weight of the penalty alpha / 2 |w|^2.")

    def __bag_tags__(self) -> BagTags:
        """The log hazard of a mean is the mean of those of its instances."""
        if self.embedding == "mean":
            return BagTags(bag_score=np.mean, instance_weights=False)
        whole = BagTags(instance_scores="occlusion", bag_score=None, instance_weights=False)
        return replace(whole, weight_is_repetition=self.embedding != "composition")

    def _fit_labels(self, bags: Bags, y: Times, weight: Array) -> None:
        if self.embedding == "composition":
            self._find_centers(bags, weight)
        rows = self._embed(bags)
        self.center_ = np.average(rows, axis=0, weights=weight)
        spread = np.sqrt(np.average((rows - self.center_) ** 2, axis=0, weights=weight))
        self.scale_ = np.where(spread > 1e-12 * max(spread.max(), 1e-300), spread, 1.0)
        rows = (rows - self.center_) / self.scale_
        coef, self.history_ = solve_cox(rows, y, weight, self.alpha)
        last = self.history_[-1]
        self.coef_, self.n_iter_ = coef[None], len(self.history_)
        self.objective_, self.gap_ = np.array([last["objective"]]), np.array([last["gap"]])
        met = last["gap"] <= COARSE * max(abs(last["objective"]), 1.0)
        if is_in_doubt(last["objective"], last["gap"], converged=met):
            text = f"CoxBag did not converge: its gap is {last['gap']:.2g}. Raise alpha."
            warnings.warn(text, ConvergenceWarning, stacklevel=2)
        self.times_, self.baseline_ = cox_baseline(rows @ coef, y, weight)

    @property
    def _names(self) -> tuple[str, ...]:
        return ("mean",) if self.embedding == "mean" else check_statistics("four")

    def _embed(self, bags: Bags) -> Array:
        if self.embedding == "composition":
            return super()._embed(bags)
        return _dense(statistics(bags, self._names))

    def _score_rows(self, rows: Array) -> Array:
        return ((rows - self.center_) / self.scale_) @ self.coef_.T

    def _instance_scores(self, bags: Bags) -> Array:
        return self._score_rows(_dense(bags.X))

    def _scores_without_each(self, bags: Bags) -> Array:
        if self.embedding == "composition":
            return super()._scores_without_each(bags)
        scores = np.empty((bags.n_instances, 1))
        for rows, part in statistics_without_each(bags, self._names):
            scores[rows] = self._score_rows(_dense(part))
        return scores

    def _slopes(self, X: Any, column: int) -> Array | None:
        return np.broadcast_to(self.coef_[0] / self.scale_, X.shape)


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
