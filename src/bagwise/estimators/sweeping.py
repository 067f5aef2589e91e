"""Fits of one class against the rest on rows that are only ever swept.

Where rows are many, what alternation and annealing do to vectors of the rows' length happens within
the passes over the rows (`bagwise.designs.swept`). The procedures are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.assumptions.hard import Assumption, ExactlyOne
from bagwise.assumptions.rules import UNCHANGED, Choose, Soften
from bagwise.assumptions.soft import Softening
from bagwise.designs.dense import Dense
from bagwise.designs.linear import LARGEST_SYSTEM
from bagwise.designs.swept import Labels, SweptRows
from bagwise.estimators.task import Task, mean_scores, mean_shares
from bagwise.losses import SquaredHinge
from bagwise.procedures.alternate import alternate
from bagwise.procedures.anneal import Schedule, Softer, cool
from bagwise.procedures.run import Callback, Run
from bagwise.rowstores import blocks
from bagwise.rowstores.passes import run_pass, visit_ranges
from bagwise.solvers import Solution, solve
from bagwise.solvers.sweeps import Joined, Place, descend, origin, solve_swept, sweep_at
from bagwise.tolerances import COARSE


def is_swept(task: Task) -> bool:
    """Return whether a task's rows are to be swept rather than multiplied with vectors."""
    design = task.design
    if not isinstance(design, Dense) or not isinstance(task.loss, SquaredHinge):
        return False
    return design.elsewhere or (
        design.n_rows >= blocks.MANY_ROWS and design.n_coef <= LARGEST_SYSTEM
    )


def label_rows(task: Task, rest_is_negative: bool, p: Array) -> SweptRows:
    """Return the rows of a task with an assignment of the instances of its positive bags."""
    labels = Labels(task.offsets, task.positive, task.bag_weight, task.C, rest_is_negative)
    design: Any = task.design
    rows: SweptRows = design.label(labels)
    rows.assignment = p
    return rows


class SweptAnnealing:
    """Annealing whose assignment lives with the rows: the ``p`` of the procedure is None."""

    def __init__(
        self,
        rows: SweptRows,
        softening: Softening,
        schedule: Schedule,
        max_steps: int | None,
    ) -> None:
        self.rows, self.max_steps, labels = rows, max_steps, rows.labels
        coldest = schedule.coldest
        self.rule = Soften(softening, SquaredHinge(), labels.C, schedule.hottest, coldest)
        of_bags = labels.weight[labels.positive] / labels.C
        self.n_bags = float(of_bags.sum())
        self.n_instances = float(of_bags @ np.diff(labels.offsets)[labels.positive])
        self.place, self.temperature, self.promise = origin(rows), np.inf, np.inf

    def fit(self, p: None, last: Place | None) -> tuple[Place, int]:
        """Take Newton steps from the place of the last pass."""
        # The first problem has no point to start from: one step would leave it half solved.
        limit = 100 if self.max_steps is None or last is None else self.max_steps
        place, taken, self.promise = descend(self.rows, self.place, COARSE, limit, self.promise)
        return place, taken

    def soften(self, here: Place, p: None, temperature: float) -> Softer:
        """Change the assignment in one pass, which also begins the next Newton step."""
        entering = temperature != self.temperature
        if entering:  # promises of two temperatures do not compare
            self.temperature, self.promise = temperature, np.inf
        rule = replace(self.rule, temperature=temperature, enters=entering)
        self.place = sweep_at(self.rows, here, rule)
        tally = self._tally
        share = tally.positives / self.n_instances
        return Softer(None, tally.divergence / self.n_bags, tally.entropy, share)

    @property
    def _tally(self) -> Any:
        assert self.place.sums is not None
        return self.place.sums.tally

    def energy(self, here: Place, temperature: float) -> float:
        """Return the objective at a temperature."""
        tally = self._tally
        value = self.place.value(self.rows.metric)
        return value + tally.penalty - temperature * tally.entropy

    def is_at_rest(self, here: Place, p: None, entered: None) -> bool:
        """Return whether nothing changed, and the coldest temperature would not change it."""
        return self._tally.moved <= UNCHANGED and self._tally.undecided <= UNCHANGED


def anneal_swept(
    task: Task,
    softening: Softening,
    start: Array,
    schedule: Schedule,
    max_steps: int | None,
    callback: Callback | None,
) -> tuple[SweptRows, Run]:
    """Anneal one class against the rest; the run's assignment is that of positive bags."""
    rows = label_rows(task, softening.rest_is_negative, start)
    steps = SweptAnnealing(rows, softening, schedule, max_steps)
    run = cool(steps, None, schedule, callback)
    return rows, replace(run, solution=steps.place, assignment=rows.assignment)


class Chosen(NamedTuple):
    """A hard assignment that lives with the rows: its number, and how many instances it changed."""

    number: int
    changed: int


class _Alternation:
    """The two halves of an alternation on swept rows."""

    def __init__(self, rows: SweptRows, rule: Choose) -> None:
        self.rows, self.rule, self.place, self.number = rows, rule, origin(rows), 0

    def solve(self, chosen: Chosen, last: Solution | None) -> Solution:
        """Solve the problem of the rows' assignment, from the place of the last pass."""
        self.solution = solve_swept(self.rows, self.place)
        return self.solution

    def assign(self, scores: Array) -> Chosen:
        """Change the assignment in one pass at the last solution; it can be reverted once."""
        there = Place(self.solution.coef, self.solution.intercept)
        self.place = sweep_at(self.rows, there, replace(self.rule, enters=True))
        assert self.place.sums is not None
        self.number += 1
        return Chosen(self.number, self.place.sums.tally.changed)


def alternate_swept(
    task: Task, assumption: Assumption, start: Array, max_iter: int, callback: Callback | None
) -> Run:
    """Alternate on swept rows; the run's assignment is that of the instances of positive bags."""
    rows = label_rows(task, assumption.rest_is_negative, start)
    steps = _Alternation(rows, Choose(assumption))
    run = alternate(
        steps.solve,
        steps.assign,
        Chosen(0, 0),
        max_iter=max_iter,
        callback=callback,
        differences=lambda new, old: new.changed,
    )
    if run.assignment.number != steps.number:
        rows.revert()
    return replace(run, assignment=rows.assignment)


def mean_witnesses(task: Task) -> Array:
    """Return, over positive bags, the best instances of the classifier of the bags' means."""
    if not is_swept(task):
        scores = mean_scores(task)[task.positive_rows]
        return ExactlyOne().map(scores, task.positive_offsets)
    return best_witnesses(task, _mean_classifier(task))


def best_witnesses(task: Task, at: Solution) -> Array:
    """Return, over positive bags, the instances with the highest scores of a solution."""
    if not is_swept(task):
        return ExactlyOne().map(at.scores[task.positive_rows], task.positive_offsets)
    design: Any = task.design
    if not design.elsewhere:  # bag by bag, as for their means
        tops = _of_bags(task, lambda bag: int(np.argmax(bag @ at.coef)))
        chosen = np.zeros(len(task.positive_rows))
        chosen[task.positive_offsets[:-1] + tops] = 1.0
        return chosen
    rows = label_rows(task, rest_is_negative=False, p=np.zeros(len(task.positive_rows)))
    rows.sweep(at.coef, at.intercept, Choose(ExactlyOne()))
    return rows.assignment


def _mean_classifier(task: Task) -> Solution:
    """Solve the problem in which a positive bag is its mean: means in memory, negatives swept."""
    design: Any = task.design
    weight = task.bag_weight
    negatives = Labels(task.offsets, task.positive, weight, task.C, rest_is_negative=False)
    n_positive = int(np.count_nonzero(task.positive))
    means = Dense(_positive_means(task))
    each = np.ones(n_positive, dtype=bool)
    bags = np.arange(n_positive + 1)
    positives = Labels(bags, each, weight[task.positive], task.C, rest_is_negative=False)
    parts: list[SweptRows] = [design.label(negatives), means.label(positives)]
    parts[1].assignment = np.ones(n_positive)
    joined = Joined(parts)
    return solve_swept(joined, origin(joined))


def _positive_means(task: Task) -> Array:
    design: Any = task.design
    if design.elsewhere:
        shares = mean_shares(task), task.positive_rows, task.positive_offsets
        shape = len(task.positive_offsets) - 1, design.n_rows
        return design.combine(sp.csr_array(shares, shape=shape))
    # Bag by bag: weights of all rows would be as long as what a pass must do without.
    return np.stack(_of_bags(task, Dense.mean))


def _of_bags(task: Task, function: Callable[[Dense], Any]) -> list[Any]:
    """Return what a function makes of the rows of each positive bag, in one pass."""
    design: Any = task.design
    bags = np.flatnonzero(task.positive)
    spans = zip(task.offsets[bags].tolist(), task.offsets[bags + 1].tolist(), strict=True)
    ranges = (slice(*span) for span in spans)
    of_bag = visit_ranges(ranges, lambda rows: function(design.span(rows.start, rows.stop)))
    return run_pass(design.X, of_bag)


def solve_bag_labels(task: Task) -> Solution:
    """Solve the problem in which every instance has the label of its bag."""
    if not is_swept(task):
        return solve(task.problem(1.0 * task.in_positive, rest_is_negative=False))
    rows = label_rows(task, rest_is_negative=False, p=np.ones(len(task.positive_rows)))
    return _refine_sweep(rows, solve_swept(rows, origin(rows)))


def solve_assigned(rows: SweptRows, p: Array, start: Place) -> Solution:
    """Solve the problem of one assignment, with its certificate."""
    rows.assignment = p
    return _refine_sweep(rows, solve_swept(rows, Place(start.coef, start.intercept)))


def _refine_sweep(rows: SweptRows, solution: Solution) -> Solution:
    """Go on in float64 where products were coarser: from there it takes few passes."""
    if not (rows.coarse and rows.refine()):
        return solution
    return solve_swept(rows, Place(solution.coef, solution.intercept))
