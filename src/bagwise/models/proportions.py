"""Learning from label proportions: bags come with a share of positive instances, not with a label.

`LabelProportionSVC` is pSVM (Yu, Liu, Kumar, Jebara & Chang 2013) with exact counts. With r_i the
share and m_i the number of instances of bag i it descends

    min_{w,b,y} 1/2|w|^2 + C sum_k l(y_k (w.x_k + b)),   #{k in i: y_k = 1} = round(r_i m_i),

by alternation: given the scores, the count potential of a bag makes its round(r_i m_i) highest ones
positive (`ExactCounts`), which is the exact minimizer for any loss that falls with the margin;
given the labels, an SVM. Neither step can raise the objective.

Departures: the paper penalizes the deviation from the share, C_p |share - r_i|; here counts are
kept exactly, the limit of large C_p. The paper starts from random labels, many times; by default
the first labels are annealed, with a penalized share (ALP-SVM's, Gehler & Chapelle 2007, Eq. 13,
over all bags). ``init="soft"`` starts from the convex problem in which every instance of bag i is
positive with weight r_i and negative with weight 1 - r_i.

Reference: F. X. Yu, D. Liu, S. Kumar, T. Jebara, S.-F. Chang, "pSVM for learning with label
proportions", ICML 2013.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from bagwise._documented import answers
from bagwise._threads import one_blas_thread
from bagwise._typing import Array
from bagwise.assumptions.hard import ExactCounts
from bagwise.assumptions.soft import SoftLabels
from bagwise.bags import Bags, check_bags
from bagwise.bags.ids import name_of
from bagwise.bags.segments import expand, segment_mean
from bagwise.estimators.rows import as_given
from bagwise.estimators.task import Task
from bagwise.models.annealed import anneal_task
from bagwise.models.instance import InstanceSVC
from bagwise.models.witness import assign, solve_assigned
from bagwise.procedures import Run, alternate
from bagwise.procedures.anneal import Schedule
from bagwise.procedures.restart import lowest

_STARTS = ("anneal", "soft", "random")


class LabelProportionSVC(RegressorMixin, BaseEstimator):
    """Learn to label instances from the share of positives in each bag.

    It predicts shares, and is a regressor in the sense of scikit-learn; `predict_instances` labels
    instances.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The margin loss.
    kernel : str or callable, default="rbf"
        The kernel, as in `InstanceSVC`.
    gamma : float or str, default="median"
        The width of the rbf kernel, as in `InstanceSVC`.
    init : {"anneal", "soft", "random"}, default="anneal"
        The first labels: annealed, from the shares as soft labels, or drawn at random.
    n_init : int, default=1
        Number of starts, of which the lowest objective is kept; those after the first are random.
    max_iter : int, default=50
        Maximum number of alternations.
    random_state : int, default=0
        Seed of random starts.

    Attributes
    ----------
    estimator_ : InstanceSVC
        The classifier of instances.
    objective_, gap_ : float
        The objective reached, and the duality gap of the last convex problem.
    instance_weights_ : ndarray of shape (n_instances,)
        The labels of the training instances: 1 for positives.
    converged_ : bool
        Whether the labels came to rest before ``max_iter``.

    See Also
    --------
    AnnealedProportionSVC : Bags have labels, and an expected share.

    Examples
    --------
    >>> from bagwise import LabelProportionSVC
    >>> bags = [[[0.0], [3.0]], [[0.1], [0.3], [2.8]], [[2.9], [3.1]], [[0.2], [0.1]]]
    >>> model = LabelProportionSVC(kernel="linear", C=10).fit(bags, [1 / 2, 1 / 3, 1, 0])
    >>> model.predict_instances([[[2.7], [0.4]]])
    array([1, 0])
    >>> model.predict([[[2.7], [0.4]]])
    array([0.5])
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        kernel: Any = "rbf",
        gamma: float | str = "median",
        init: str = "anneal",
        n_init: int = 1,
        max_iter: int = 50,
        random_state: int | None = 0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, bags: Any, y: Any) -> Self:
        """Learn from bags and their shares of positive instances.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags.
        y : array-like of shape (n_bags,)
            Shares in [0, 1].

        Returns
        -------
        self
            The fitted estimator.
        """
        if self.init not in _STARTS:
            raise ValueError(f"init must be 'anneal', 'soft' or 'random', it is {self.init!r}.")
        options = {"C": self.C, "loss": self.loss, "kernel": self.kernel, "gamma": self.gamma}
        model = InstanceSVC(**options, random_state=self.random_state)
        model._validate_params()
        bags = model._validate_bags(bags, reset=True)
        shares = _checked_shares(y, bags)
        model.classes_ = np.array([0, 1])
        with one_blas_thread():
            run, design = self._best_run(model, bags, shares)
            model._keep(bags, [as_given(run, design)])
        model._keep_threshold(0.0)
        self.estimator_, self.converged_ = model, run.converged
        self.objective_, self.gap_ = float(model.objective_[0]), float(model.gap_[0])
        self.instance_weights_ = run.assignment
        return self

    def _best_run(self, model: InstanceSVC, bags: Bags, shares: Array) -> tuple[Run, Any]:
        weight = np.full(bags.n_instances, float(self.C))
        design = model._design(bags, weight)
        everyone = np.ones(len(bags), dtype=bool)
        task = Task(design, bags.offsets, everyone, weight, model._loss(), float(self.C), shares)
        counts = ExactCounts(np.round(shares * bags.sizes).astype(np.int64))
        rng = np.random.RandomState(self.random_state)
        starts = [self._start(task, rng)]
        starts += [rng.random_sample(bags.n_instances) for _ in range(self.n_init - 1)]
        runs = [
            alternate(
                partial(solve_assigned, task, counts),
                partial(assign, task, counts),
                assign(task, counts, scores),
                max_iter=self.max_iter,
            )
            for scores in starts
        ]
        return (lowest(iter(runs), task.offsets, everyone) if len(runs) > 1 else runs[0]), design

    def _start(self, task: Task, rng: np.random.RandomState) -> Array:
        """Return scores whose ranking within bags gives the first labels."""
        if self.init == "random":
            return rng.random_sample(len(task.weight))
        assert task.priors is not None
        soft = expand(task.priors, task.offsets)
        if self.init == "soft":
            return solve_assigned(task, ExactCounts(np.zeros(0)), soft, None).scores
        penalized = SoftLabels(self.C, task.priors)
        schedule = Schedule(hottest=10 * self.C, coldest=1e-6 * self.C, rest=1e-2)  # as in AL-SVM
        return anneal_task(task, penalized, soft, schedule).assignment

    @answers("ndarray of shape (n_instances,)", "Positive scores for positive instances.")
    def instance_decision_function(self, bags: Any) -> Array:
        """Score instances."""
        check_is_fitted(self)
        return self.estimator_.instance_decision_function(bags)

    @answers(
        "ndarray of int of shape (n_instances,)", "1 for positive instances, 0 for negative ones."
    )
    def predict_instances(self, bags: Any) -> Array:
        """Label instances."""
        return (self.instance_decision_function(bags) > 0).astype(int)

    @answers("ndarray of shape (n_bags,)", "Shares in [0, 1].")
    def predict(self, bags: Any) -> Array:
        """Predict the share of positive instances in each bag."""
        bags = check_bags(bags)
        return segment_mean(self.predict_instances(bags).astype(float), bags.offsets)


def _checked_shares(y: Any, bags: Bags) -> Array:
    shares = np.asarray(column_or_1d(y), dtype=np.float64)
    if len(shares) != len(bags):
        raise ValueError(f"There are {len(shares)} shares for {len(bags)} bags: one per bag.")
    bad = np.flatnonzero(~((shares >= 0) & (shares <= 1)))
    if len(bad):
        i = int(bad[0])
        raise ValueError(f"{name_of(bags.ids, i)} has the share {shares[i]}, not one in [0, 1].")
    counts = np.round(shares * bags.sizes)
    if not counts.any() or np.all(counts == bags.sizes):
        raise ValueError("All instances have the same label: bring bags with other shares.")
    return shares
