"""mi-SPSVM (Avolio & Fuduli 2021): proximal to the positives, a margin to the negatives.

`SemiProximalSVC` keeps a set J+ of instances that count as positive, all instances of positive
bags at first, and solves for z = (w, b) with f_k = w.x_k + b

    min_z 1/2|w|^2 + 1/2 b^2 + C/2 sum_{k in J+} (1 - f_k)^2 + C sum_{k in J-} max(0, 1 + f_k)  (3)

Steps 2-4: the witness of a positive bag is its highest score in J+; every other member of J+ with
f_k <= -1 moves to J- for good, and (3) is solved again. A move takes C/2 (1 - f_k)^2 >= 2C away and
costs nothing, so the objective falls by at least 2C per move and the loop ends.

Ties: scores within 1e-7 of each other, or of -1, count as equal. Of the instances of a bag that tie
for the highest score the witness is the one that lies farthest from the negatives towards the
positives (along the difference of the means of both), whatever the order of the instances; where
(3) has its optimum at w = 0, all of them tie, and all others leave.

Departures: the intercept is b = -gamma of the print; kernels (through k + 1, as b is penalized);
weights of bags multiply their losses. ``relabel=False`` stops after Step 1: on the usual data sets
Steps 2-4 change little, which only a control can show.

Reference: M. Avolio, A. Fuduli, "A semiproximal support vector machine approach for binary multiple
instance learning", IEEE Transactions on Neural Networks and Learning Systems 32 (8), 2021.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import ExactlyOne
from bagwise.bags import Bags
from bagwise.bags.segments import expand, segment_max
from bagwise.designs import augmented_design
from bagwise.estimators.params import param, shared
from bagwise.estimators.rows import RowsClassifier, Start
from bagwise.estimators.task import Task
from bagwise.losses import Hinge
from bagwise.procedures import Run, alternate
from bagwise.solvers import Solution
from bagwise.solvers.semiproximal import semiproximal
from bagwise.tolerances import SINGLE


@dataclass(frozen=True)
class _RelabeledFit(Run):
    moved: list[Array] = field(default_factory=list)


@dataclass
class _Relabeling:
    """Steps 2 and 3: J+ only shrinks, so it is remembered from call to call."""

    task: Task
    moved: list[Array] = field(default_factory=list)  # rows moved in each round

    def __post_init__(self) -> None:
        self.kept = self.task.in_positive.copy()
        self.towards = _towards_positives(self.task)

    def __call__(self, scores: Array) -> Array:
        task, rows = self.task, self.task.positive_rows
        among_kept = np.where(self.kept, scores, -np.inf)[rows]
        top = expand(segment_max(among_kept, task.positive_offsets), task.positive_offsets)
        tied = among_kept >= top - SINGLE
        towards = np.where(tied, self.towards[rows], -np.inf)
        witness = task.spread(ExactlyOne().map(towards, task.positive_offsets)) > 0
        leaving = self.kept & ~witness & (scores <= -1 + SINGLE)
        if leaving.any():
            self.moved.append(np.flatnonzero(leaving))
            self.kept = self.kept & ~leaving
        return 1.0 * self.kept


class SemiProximalSVC(RowsClassifier):
    """Pull the instances of positive bags to one hyperplane, push the negatives off (mi-SPSVM).

    A squared loss around +1 for the instances that count as positive and a hinge for the
    negatives; instances of positive bags far on the negative side are relabeled, except
    one witness per bag. The intercept is penalized like a weight.

    Attributes
    ----------
    moved_ : list of ndarray of int
        Row numbers of the training instances relabeled after each round (a list of these a class
        for three classes or more).

    See Also
    --------
    LabelSVC : Labels may move both ways, and both sides have the same loss.

    Examples
    --------
    >>> from bagwise import SemiProximalSVC
    >>> bags = [[[-4.0], [3.0]], [[-2.0]], [[2.9], [2.5], [2.8]], [[-2.2], [-2.1], [-2.3]]]
    >>> model = SemiProximalSVC(C=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags)
    array([1, 0, 1, 0])
    >>> model.moved_
    [array([0])]
    """

    _linear_design = staticmethod(augmented_design)

    relabel: bool = param(
        True,
        ["boolean"],
        "Whether instances of positive bags may become negative (Steps 2-4 of the paper).",
    )
    C: float = shared("C")
    kernel: Any = shared("kernel", default="linear")
    max_iter: int = shared("max_iter")
    class_weight: Any = shared("class_weight")

    def _loss(self) -> Hinge:
        return Hinge()  # of the negatives

    def _loss_weight(self) -> float:
        return self.C

    def _fit_from(self, task: Task, start: Start) -> Run:
        relabeling = _Relabeling(task)
        first = 1.0 * task.in_positive

        def solve(p: Array, last: Solution | None) -> Solution:
            # Multipliers go on from where they were; that of an instance just moved starts at 0.
            multipliers = None if last is None else np.maximum(-last.dual, 0.0)
            return semiproximal(task.design, p > 0, task.weight, multipliers)

        run = alternate(
            solve,
            relabeling if self.relabel else lambda scores: first,
            first,
            max_iter=self.max_iter,
            callback=self._report,
        )
        moved = relabeling.moved[: len(run.history) - 1]
        return _RelabeledFit(run.solution, run.assignment, run.history, run.converged, moved=moved)

    def _keep(self, bags: Bags, fits: list[Run]) -> None:
        super()._keep(bags, fits)
        moved = [fit.moved for fit in fits if isinstance(fit, _RelabeledFit)]
        self.moved_ = moved if len(moved) > 1 else moved[0]


def _towards_positives(task: Task) -> Array:
    """Score rows along the difference of the means of positive and negative bags' instances."""
    weight = task.weight * np.where(task.in_positive, 1.0, -1.0)
    sums = {side: np.abs(weight[task.in_positive == side]).sum() for side in (True, False)}
    share = weight / np.where(task.in_positive, sums[True], sums[False])
    return task.design @ (task.design.adjoint(share))
