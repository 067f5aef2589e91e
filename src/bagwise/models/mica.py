"""MICA (Mangasarian & Wild 2008): a convex combination of its instances stands for a positive bag.

    min_{w,b,nu} R(w) + C sum_{positive bags i} l(sum_j nu_ij f_ij) + C sum_{negative k} l(-f_k),

nu_i >= 0, sum_j nu_ij = 1, f_k = w.x_k + b, with R(w) = 1/2|w|^2 or |w|_1. For fixed nu it is an
SVM in which a bag is a combination of its instances, taken in the kernel's feature space; for fixed
w a linear program in nu, solved by all weight on the highest score, or by the last nu where that is
as good (beyond the margin). The two alternate, from the bags' means.

With a kernel, |w|_1 is the 1-norm of the coefficients u of f(x) = sum_k u_k k(x_k, x) + b, as in
the original's nonlinear form. The original has the 1-norm and the hinge (``penalty="l1"``,
``loss="hinge"``); Gehler & Chapelle (2007) set it beside the other SVMs with 1/2|w|^2 and the
squared hinge, the default here. Departure: one C for bags and negative instances, where the
original takes means of both (``class_weight`` weighs them); with the hinge, many negative instances
against few bags can make w = 0 the optimum.

Reference: O. L. Mangasarian, E. W. Wild, "Multiple instance classification via successive linear
programming", Journal of Optimization Theory and Applications 137 (2008).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import ExactlyOne
from bagwise.bags import Bags
from bagwise.bags.segments import expand, segment_max, segment_sum
from bagwise.designs import Design, Gram, Nystroem, Point, matrix_design
from bagwise.estimators.params import Words, param, shared
from bagwise.estimators.rows import MarginClassifier, Start
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import Task, combined_problem, lift, mean_shares
from bagwise.losses import Hinge
from bagwise.problems import Problem
from bagwise.procedures import Run, alternate
from bagwise.solvers import Solution, solve
from bagwise.solvers.l1_hinge import solve_l1_hinge
from bagwise.tolerances import PROVEN


class MICA(MarginClassifier):
    """Let a convex combination of its instances stand for each positive bag.

    Where one instance alone lies beyond the margin it is the witness of `WitnessSVC`; where several
    do, their combination may stay as it is. A new bag is scored by its highest instance.

    See Also
    --------
    WitnessSVC : A single witness of each positive bag takes part.
    AnnealedWitnessSVC : The same objective, by annealing.

    Examples
    --------
    >>> model = MICA(penalty="l1", loss="hinge", kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    penalty: str = param(
        "l2",
        Words("l2", "l1"),
        "1/2 |w|^2, or |w|_1, which keeps few features (with a kernel: few instances) in use.",
    )
    _by_passes = False

    n_init: int = shared("n_init")
    max_iter: int = shared("max_iter")

    def __bag_tags__(self) -> BagTags:
        """Say what this estimator can do; a program's vertices depend on the order of its rows."""
        tags = super().__bag_tags__()
        return replace(tags, tolerance=1e-4) if self.penalty == "l1" else tags

    def _assumption(self) -> ExactlyOne:
        return ExactlyOne()

    def _design(self, bags: Bags, row_weight: Array) -> Design:
        if self.penalty == "l1" and self.kernel == "linear":
            return matrix_design(bags.X)  # |w|_1 is that of the features as given
        design = super()._design(bags, row_weight)
        if self.penalty == "l1" and isinstance(design, Gram):
            # Kernel values with the training instances are the features; those without weight
            # are no training instances.
            return matrix_design(design.K * (row_weight > 0))
        if self.penalty == "l1" and isinstance(design, Nystroem):
            return design.values()
        return design

    def _fit_from(self, task: Task, start: Start) -> Run:
        steps, shares = _Steps(task, self.penalty), mean_shares(task)
        if start is not None:  # uniform on the simplex
            drawn = start.exponential(size=len(shares))
            total = segment_sum(drawn, task.positive_offsets)
            shares = drawn / expand(total, task.positive_offsets)
        run = alternate(
            steps.solve, steps.assign, shares, max_iter=self.max_iter, callback=self._report
        )
        return Run(run.solution, task.spread(run.assignment), run.history, run.converged)


class _Steps:
    """The two steps of the alternation, and where they stand."""

    def __init__(self, task: Task, penalty: str) -> None:
        self.task, self.penalty = task, penalty
        self.shares = mean_shares(task)
        self.last: Solution | None = None  # over the combined rows

    def solve(self, shares: Array, _: Solution | None) -> Solution:
        """Solve the SVM for fixed nu; return it over the task's own rows."""
        combinations, problem = combined_problem(self.task, shares)
        solution = _solve_l1(problem) if self.penalty == "l1" else self._solve_l2(problem)
        self.shares, self.last = shares, solution
        return lift(self.task, combinations, solution)

    def _solve_l2(self, problem: Problem) -> Solution:
        if self.last is None:
            return solve(problem)
        coef, intercept = self.last.coef, self.last.intercept
        return solve(problem, Point(coef, intercept, problem.design @ coef))

    def assign(self, scores: Array) -> Array:
        """Solve the linear program in nu; several solutions leave it as it is."""
        f, offsets = scores[self.task.positive_rows], self.task.positive_offsets
        best = np.minimum(segment_max(f, offsets), 1.0)
        is_best = segment_sum(self.shares * f, offsets) >= best - PROVEN  # closer scores are alike
        return np.where(expand(is_best, offsets), self.shares, ExactlyOne().map(f, offsets))


def _solve_l1(problem: Problem) -> Solution:
    weight = problem.positive + problem.negative
    used = np.flatnonzero(weight)
    design = problem.design.linear
    assert design is not None  # kernel values are features here
    labels = np.where(problem.positive[used] > 0, 1.0, -1.0)
    squared = not isinstance(problem.loss, Hinge)
    solution = solve_l1_hinge(design.matrix(used), labels, weight[used], squared=squared)
    dual = np.zeros(design.n_rows)
    dual[used] = solution.dual
    return replace(solution, dual=dual)
