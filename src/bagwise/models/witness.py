"""mi-SVM and MI-SVM (Andrews, Tsochantaridis & Hofmann 2002), by alternation.

`LabelSVC` (mi-SVM; Eqs. 1-2 of Gehler & Chapelle 2007) gives every instance of a positive bag a
label y_k of its own, at least one of them positive:

    min_{w,b,y} 1/2|w|^2 + C sum_k l(y_k (w.x_k + b)),   sum_{k in bag} (y_k + 1)/2 >= 1.

`WitnessSVC` (MI-SVM) lets one witness k(i) speak for each positive bag i, the others drop out:

    min_{w,b} 1/2|w|^2 + C sum_{positive bags i} l(max_{k in i} f_k) + C sum_{negative k} l(-f_k),

with f_k = w.x_k + b.

Departures: l is the squared hinge by default (Gehler & Chapelle's choice; the original has the
hinge, ``loss="hinge"``), and the bias is not penalized. Both start as in the original: mi-SVM from
the bags' labels, MI-SVM from the bags' means.

Reference: S. Andrews, I. Tsochantaridis, T. Hofmann, "Support vector machines for
multiple-instance learning", NIPS 2002.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.assumptions import Assumption, AtLeastOne, ExactlyOne, HighestScore
from bagwise.assumptions.rules import Everything, Given
from bagwise.assumptions.soft import Hardened
from bagwise.estimators.params import Words, param, shared
from bagwise.estimators.rows import MarginClassifier, Start
from bagwise.estimators.task import Task, mean_scores
from bagwise.models.annealed import AnnealedLabelSVC, AnnealedSVC, AnnealedWitnessSVC
from bagwise.procedures import Run, alternate
from bagwise.procedures.alternate import fit_alternating, start_from
from bagwise.procedures.run import Steps
from bagwise.rows import Assignment, Newton
from bagwise.solvers import Solution, solve


class _AlternatingSVC(MarginClassifier):
    """Alternation between the two-sided problem and an assumption's cheapest assignment."""

    _follows_rows = True
    _uses_known = True

    n_init: int = shared("n_init")
    max_iter: int = shared("max_iter")

    def _assumption(self) -> HighestScore:
        raise NotImplementedError

    _draws_first = False  # whether the usual start is drawn at random

    def _start(self, task: Task) -> Array:
        raise NotImplementedError

    def _first(self, newton: Newton, task: Task) -> Steps:
        """Return the first assignment of rows that are passed over."""
        raise NotImplementedError

    def _fit_steps(self, task: Task, start: Start) -> Steps:
        if task.rows is None:
            return (yield from super()._fit_steps(task, start))
        rule, rng = self._assumption(), start
        if start is None and self._draws_first:
            rng = check_random_state(self.random_state)
        given = None if rng is None else _draw(task, self, rng)
        newton = Newton(task.rows, task.label(given=given))
        first = Assignment(Given(rule)) if rng else (yield from self._first(newton, task))
        return (yield from fit_alternating(newton, rule, first, self.max_iter, self._report))

    def _fit_from(self, task: Task, start: Start) -> Run:
        assumption = self._assumption()
        first = self._start(task) if start is None else _draw(task, self, start)
        self._prepare(task.design, task.weight)
        run = alternate(
            partial(solve_assigned, task, assumption),
            partial(assign, task, assumption),
            first,
            max_iter=self.max_iter,
            callback=self._report,
        )
        solution = _finish(task, assumption, run.assignment, run.solution)
        return Run(solution, run.assignment, run.history, run.converged)


def solve_assigned(task: Task, assumption: Assumption, p: Array, last: Solution | None) -> Solution:
    """Solve the convex problem of an assignment."""
    problem = task.problem(p, assumption.rest_is_negative)
    return solve(problem, None if last is None else last.point)


def assign(task: Task, assumption: Assumption, scores: Array) -> Array:
    """Return the assumption's cheapest assignment at these scores of all instances."""
    rows = task.positive_rows
    return task.spread(assumption.map(scores[rows], task.positive_offsets, task.facts()))


def _anneal(task: Task, model: _AlternatingSVC, kind: type[AnnealedSVC]) -> Array:
    """Return the assignment that an annealed SVM with the same C and loss ends with."""
    annealed = kind(C=model.C, loss=model.loss)._fit_from(task, None)
    return assign(task, model._assumption(), annealed.assignment - 0.5)


def _anneal_passes(
    newton: Newton, task: Task, model: _AlternatingSVC, kind: type[AnnealedSVC]
) -> Steps:
    """Return the same as a rule at the place where the annealing ends."""
    annealed = kind(C=model.C, loss=model.loss)
    run = yield from annealed._anneal_rows(newton, task)
    last = run.assignment
    rule = Hardened(annealed._softening(task), model._assumption())
    return Assignment(rule, last.anchor, last.temperature)


def _draw(task: Task, model: _AlternatingSVC, rng: np.random.RandomState) -> Array:
    """Draw witnesses, or labels of which half are positive."""
    return assign(task, model._assumption(), rng.random_sample(len(task.weight)) - 0.5)


def _finish(task: Task, assumption: Assumption, p: Array, last: Solution) -> Solution:
    """Solve the last problem once more without shortcuts, so that its certificate is sharp."""
    if not task.design.prepared:
        return last
    problem = task.problem(p, assumption.rest_is_negative)
    return solve(problem.on(task.design.fresh()), last.point)


class LabelSVC(_AlternatingSVC):
    """Infer the label of every instance in the positive bags (mi-SVM).

    Every instance of a positive bag is positive or negative, at least one is positive, and all of
    them take part in the margin.

    See Also
    --------
    WitnessSVC : Only one witness of each positive bag takes part.
    InstanceSVC : No inference: instances keep their bag's label.

    Examples
    --------
    >>> model = LabelSVC(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict_instances(bags)
    array([0, 1, 0, 1, 0, 0, 0])
    """

    init: str = param(
        "bags",
        Words("bags", "anneal"),
        "The first labels: those of the bags, as in the paper, or those of `AnnealedLabelSVC`.",
    )

    _prepares_kernel = True

    def _assumption(self) -> HighestScore:
        return AtLeastOne()

    def _start(self, task: Task) -> Array:
        if self.init == "anneal":
            return _anneal(task, self, AnnealedLabelSVC)
        return task.bag_labels

    def _first(self, newton: Newton, task: Task) -> Steps:
        if self.init == "anneal":
            return (yield from _anneal_passes(newton, task, self, AnnealedLabelSVC))
        return Assignment(Everything())


class WitnessSVC(_AlternatingSVC):
    """Find one witness in each positive bag (MI-SVM).

    The witness is the instance with the highest score; the other instances of a positive bag drop
    out. All instances of negative bags are negative.

    See Also
    --------
    LabelSVC : Every instance of a positive bag takes part.

    Examples
    --------
    >>> model = WitnessSVC(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.key_instances(bags)
    array([1, 0, 0, 0])
    """

    init: str = param(
        "mean",
        Words("mean", "instances", "anneal", "random"),
        "The first witnesses: the best instances of a classifier in which the bag's mean stands "
        "for a positive bag, of one in which all its instances do, those of `AnnealedWitnessSVC`, "
        "or drawn at random.",
    )

    @property
    def _draws_first(self) -> bool:  # type: ignore[override]
        return self.init == "random"

    def _assumption(self) -> HighestScore:
        return ExactlyOne()

    def _start(self, task: Task) -> Array:
        if self.init == "mean":
            return assign(task, self._assumption(), mean_scores(task))
        if self.init == "anneal":
            return _anneal(task, self, AnnealedWitnessSVC)
        if self.init == "instances":
            whole = solve(task.problem(task.bag_labels, rest_is_negative=False))
            return assign(task, self._assumption(), whole.scores)
        return _draw(task, self, check_random_state(self.random_state))

    def _first(self, newton: Newton, task: Task) -> Steps:
        if self.init == "anneal":
            return (yield from _anneal_passes(newton, task, self, AnnealedWitnessSVC))
        return (yield from start_from(newton, self._assumption(), self.init == "mean"))
