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

from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.assumptions.rules import ExactCounts
from bagwise.assumptions.soft import SoftLabels
from bagwise.bags import Bags
from bagwise.bags.ids import name_of
from bagwise.bags.segments import expand, segment_argmax, segment_mean
from bagwise.estimators.input import BagInput, check_weight
from bagwise.estimators.params import KernelOptions, Words, param, redeclare, shared
from bagwise.estimators.task import Task, as_given, warn_stopped
from bagwise.models.annealed import Vectors
from bagwise.models.instance import InstanceSVC
from bagwise.models.witness import assign, solve_assigned
from bagwise.procedures import Run, alternate
from bagwise.procedures.anneal import Schedule, cool
from bagwise.procedures.run import finish, keep_lowest
from bagwise.tolerances import one_blas_thread

# What goes on to the classifier of instances.
_OF_INSTANCES = ("C", "loss", "kernel", "gamma", "degree", "kernel_options", "random_state")


class ShareRegressor(RegressorMixin, BagInput):
    """Base of estimators whose targets are shares; a subclass adds ``_learn`` and its scores."""

    def _learn(self, bags: Bags, counts: Array, weight: Array) -> None:
        raise NotImplementedError

    @answers(
        *("self", "The fitted estimator."),
        bags="The training bags.",
        y="The share of positives in each bag, in [0, 1]; ``bags.priors`` when None.",
    )
    def fit(self, bags: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from shares."""
        fresh = self._make_fresh()
        fresh._validate_params()
        bags = fresh._validate_bags(bags, reset=True)
        fresh._learn(bags, fresh._counts(bags, y), check_weight(bags, sample_weight))
        return self._become(fresh)

    def _counts(self, bags: Bags, shares: Any) -> Array:
        """Return the number of positives in each bag."""
        shares = bags.priors if shares is None else shares
        if shares is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None, and "
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

    @answers("ndarray of shape (n_instances,)", "Positive scores for positive instances.")
    def instance_decision_function(self, bags: Any) -> Array:
        """Score instances."""
        raise NotImplementedError

    @answers(
        "ndarray of int of shape (n_instances,)", "1 for positive instances, 0 for negative ones."
    )
    def predict_instances(self, bags: Any) -> Array:
        """Label instances."""
        return (self.instance_decision_function(bags) > 0).astype(int)

    @answers("ndarray of int of shape (n_bags,)", "Position within the bag.")
    def key_instances(self, bags: Any) -> Array:
        """Point at the instance of each bag that is most likely positive."""
        bags = self._check_bags(bags)
        return segment_argmax(self.instance_decision_function(bags), bags.offsets)


class LabelProportionSVC(ShareRegressor):
    """Learn to label instances from the share of positives in each bag.

    It predicts shares, and is a regressor in the sense of scikit-learn; `predict_instances` labels
    instances.

    Attributes
    ----------
    estimator_ : InstanceSVC
        The classifier of instances.
    objective_, gap_ : float
        The objective reached, and the duality gap of the last convex problem.
    instance_weights_ : ndarray of shape (n_instances,)
        The labels of the training instances: 1 for positives.

    See Also
    --------
    LabelProportionLogistic : The same by maximum likelihood, with probabilities.
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

    init: str = param(
        "anneal",
        Words("anneal", "soft", "random"),
        "The first labels: annealed, from the shares as soft labels, or drawn at random.",
    )
    n_init: int = shared(
        "n_init",
        doc="Number of starts, of which the lowest objective is kept; those after the first are "
        "random.",
    )
    max_iter: int = shared("max_iter", doc="Maximum number of alternations.")
    C: float = shared("C")
    loss: str = shared("loss")
    kernel: Any = shared("kernel")
    gamma: float | str = shared("gamma")
    degree: int = shared("degree")
    kernel_options: KernelOptions | None = redeclare(InstanceSVC, "kernel_options")
    random_state: Any = shared(
        "random_state", doc="Seed of random starts and of the median width.", kind="int"
    )

    def _learn(self, bags: Bags, counts: Array, weight: Array) -> None:
        if not counts.any() or np.all(counts == bags.sizes):
            raise ValueError("All instances have the same label: bring bags with other shares.")
        model = InstanceSVC(**{name: getattr(self, name) for name in _OF_INSTANCES})
        model._validate_bags(bags, reset=True)
        model.classes_ = np.array([0, 1])
        of_bags = self.C * weight
        with one_blas_thread():
            design = model._vector_design(bags, expand(of_bags, bags.offsets))
            used = weight > 0  # a bag without weight must not steer the labels
            shares = counts / bags.sizes
            task = Task(design, bags.offsets, used, of_bags, model._loss(), self.C, shares)
            run = self._best_run(task, ExactCounts(counts[used]))
            # Its own words about max_iter, which InstanceSVC does not have, follow below.
            model._keep(bags, [as_given(replace(run, converged=True), design)])
        model._keep_threshold(0.0)
        self.estimator_, self.instance_weights_ = model, run.assignment
        self.objective_, self.gap_ = float(model.objective_[0]), float(model.gap_[0])
        if not run.converged:  # the rest `model` decided
            limit = f"max_iter={self.max_iter}"
            warn_stopped(self, limit, self.objective_, "Raise max_iter.", gap=self.gap_)

    def _best_run(self, task: Task, counts: ExactCounts) -> Run:
        rng = np.random.RandomState(self.random_state)
        starts = [self._start(task, counts, rng)]
        starts += [rng.random_sample(len(task.weight)) for _ in range(self.n_init - 1)]
        runs = [
            alternate(
                partial(solve_assigned, task, counts),
                partial(assign, task, counts),
                assign(task, counts, scores),
                max_iter=self.max_iter,
            )
            for scores in starts
        ]
        return keep_lowest(runs) if len(runs) > 1 else runs[0]

    def _start(self, task: Task, counts: ExactCounts, rng: np.random.RandomState) -> Array:
        """Return scores whose ranking within bags gives the first labels."""
        if self.init == "random":
            return rng.random_sample(len(task.weight))
        assert task.priors is not None
        shares = task.priors[task.positive]
        soft = expand(shares, task.positive_offsets)
        if self.init == "soft":
            return solve_assigned(task, counts, task.spread(soft), None).scores
        schedule = Schedule(hottest=10 * self.C, coldest=1e-6 * self.C, rest=1e-2)  # as in AL-SVM
        steps = Vectors(task, SoftLabels(self.C), task.priors, schedule.coldest)
        return task.spread(finish(cool(steps, soft, schedule)).assignment)

    @answers("ndarray of shape (n_instances,)", "Positive scores for positive instances.")
    def instance_decision_function(self, bags: Any) -> Array:
        """Score instances."""
        return self.estimator_.instance_decision_function(self._check_bags(bags))

    @answers("ndarray of shape (n_bags,)", "Shares in [0, 1].")
    def predict(self, bags: Any) -> Array:
        """Predict the share of positive instances in each bag."""
        bags = self._check_bags(bags)
        return segment_mean(self.predict_instances(bags).astype(float), bags.offsets)
