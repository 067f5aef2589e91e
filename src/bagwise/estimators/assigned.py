"""The common ground of MI-ODM and KI-SVM: key-instance assignments, relaxed or by steps.

`AssignedClassifier` turns one class against the rest into a `Saddle` problem, solves its relaxation
over a growing pool of assignments, and, where asked, rounds to key instances and descends (CCCP):
fixed assignment, convex problem, the highest scores become the new assignment. A method adds
``_row_weights`` and ``_band``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.assumptions import AtLeastOne, TopMean
from bagwise.bags import Bags
from bagwise.designs import augmented_design
from bagwise.errors import SCALE, Message, Parameter
from bagwise.estimators.keyrows import KeyRows
from bagwise.estimators.params import Parameters, Words, group, integer, param, positive, shared
from bagwise.estimators.rows import RowsClassifier, Start
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import Task
from bagwise.losses import MarginBand
from bagwise.problems import is_in_doubt
from bagwise.procedures import Run, alternate
from bagwise.procedures.columns import Choices, grow, margin_moments
from bagwise.solvers import Solution
from bagwise.solvers.column_newton import column_newton
from bagwise.solvers.mirror_prox import mirror_prox
from bagwise.solvers.pool import SaddlePoint
from bagwise.solvers.saddle import Saddle
from bagwise.solvers.systems import Systems
from bagwise.tolerances import COARSE, MAX_STEPS

_GRADIENTS = {"mirror_prox": "exact", "stochastic_mirror_prox": "stochastic"}
_ROUGH = 1e-5  # relative gap of the problem that only chooses the first assignments
_Solved = tuple[Saddle, SaddlePoint]


class Pool(Parameters):
    """How key instances are searched for, the pool of assignments: a group of parameters.

    Examples
    --------
    >>> from bagwise import OptimalMarginSVC, Pool
    >>> OptimalMarginSVC(pool=Pool(max_columns=10)).pool.max_columns
    10
    """

    init: str = param(
        "mean",
        Words("mean", "cccp", "random"),
        "The first assignment: the best instances of a classifier in which the bag's mean stands "
        "for a positive bag, where CCCP from there ends, or drawn at random.",
    )
    solver: str = param(
        "newton",
        Words("newton", *_GRADIENTS),
        "Solver of the problem over the pool; those but Newton are Zhang & Jin's, for study.",
    )
    tol: float = param(
        0.01,
        positive(),
        "The pool stops growing when the heuristic gap over all assignments is this fraction of "
        "the objective.",
    )
    max_columns: int = param(30, integer(), "Maximum number of assignments in the pool.")
    refine: bool = param(
        False, ["boolean"], "Round the relaxation to key instances and continue from there by CCCP."
    )
    max_iter: int = shared(
        "max_iter",
        default=200,
        doc="Maximum number of rounds, in which the pool grows or CCCP takes a step. In each round "
        "the solvers of Zhang & Jin take at most a few thousand steps.",
    )


class _Search:
    """The search for the key instances of one class: CCCP, and a growing pool of assignments."""

    def __init__(
        self, saddle: Saddle, choices: Choices, pool: Pool, rng: np.random.RandomState
    ) -> None:
        self.saddle, self.choices, self.pool, self.rng = saddle, choices, pool, rng
        self.system = Systems(saddle)
        self.point: SaddlePoint | None = None
        self.taken: _Solved

    def begin(self) -> tuple[Array, _Solved | None]:
        """Return the first assignment, and the classifier in which a positive bag is its mean."""
        if self.pool.init == "random":
            return self.choices.random(self.rng, 1)[0], None
        means = self.saddle.only(self.choices.means())
        point = column_newton(means, system=self.system, tol=_ROUGH)
        return self.choose(means, point), (means, point)

    def choose(self, saddle: Saddle, point: SaddlePoint) -> Array:
        """Return the instances that score highest at a point."""
        return self.choices.top(saddle.unit_scores(point)[self.choices.rows])

    # CCCP: the two halves of an alternation between classifier and key instances.

    def alternate(self, chosen: Array, report: Any = None) -> Run:
        """Run CCCP from an assignment; `taken` is then the last problem and its solution."""
        self.point = None
        steps, limit = (self.solve, self.assign), self.pool.max_iter
        return alternate(*steps, chosen, max_iter=limit, callback=report)

    def solve(self, chosen: Array, last: Solution | None) -> Solution:
        """Solve the problem of a fixed assignment; scores are those of the units."""
        self.chosen, self.single = chosen, self.saddle.only(self.choices.weights(chosen))
        self.point = point = column_newton(self.single, self.point, system=self.system)
        return Solution(
            coef=self.single.coef(point),
            intercept=0.0,  # the constant is among the features
            scores=self.single.unit_scores(point),
            dual=point.beta,
            objective=point.upper,
            gap=point.gap,
            residual=float(np.abs(point.beta - self.single.dual(point.scores)).max()),
            n_iter=point.counts["factorizations"],
            converged=point.converged,
        )

    def assign(self, scores: Array) -> Array:
        """Choose the highest scores of a bag unless its present choice costs less.

        A bag above the band may be cheaper with a lower instance: the highest score alone would
        let the objective rise. The alternation asks only at solutions that it has taken.
        """
        assert self.point is not None
        self.taken = self.single, self.point
        values = scores[self.choices.rows]
        top = self.choices.top(values)
        loss = self.saddle.loss
        now = loss.value(self.choices.means_of(values, self.chosen))
        then = loss.value(self.choices.means_of(values, top))
        return np.where((then <= now)[self.choices.slots], top, self.chosen)

    def finish(self, record: dict[str, Any]) -> dict[str, Any]:
        """Add the margins' moments to an alternation's record."""
        single, point = self.taken
        record.update(n_columns=1, **margin_moments(single, point.scores))
        return record

    # The relaxation over a growing pool of assignments.

    def grow(self, chosen: Array, center: _Solved | None, report: Any) -> Run:
        """Solve the relaxation, beginning with an assignment."""
        limits = {name: getattr(self.pool, name) for name in ("tol", "max_columns", "max_iter")}
        options = {"random_state": self.rng, "callback": report, "center": center, **limits}
        return grow(self.saddle, self.choices, chosen, self.solve_pool, **options)

    def solve_pool(self, saddle: Saddle, last: SaddlePoint | None, tol: float) -> SaddlePoint:
        """Solve the problem over a pool to a relative gap."""
        if self.pool.solver == "newton":
            return column_newton(saddle, last, system=self.system, tol=tol)
        gradients = _GRADIENTS[self.pool.solver]
        rough = max(tol, COARSE)  # first-order steps prove no more within reason
        return mirror_prox(
            saddle, last, gradients=gradients, random_state=self.rng, tol=rough, max_iter=MAX_STEPS
        )


class AssignedClassifier(RowsClassifier):
    """Classifier over key-instance assignments.

    Attributes
    ----------
    n_columns_ : ndarray of int of shape (1 or n_classes,)
        Number of assignments in the pool.
    heuristic_gap_ : ndarray of shape (1 or n_classes,)
        Distance from the relaxation over all assignments as far as the search could tell. Unlike
        ``gap_``, which is over the pool, it is no proof. NaN without relaxation.
    """

    _linear_design = staticmethod(augmented_design)

    n_witnesses: int = param(
        1,
        integer(),
        "Number of key instances per positive bag; their mean stands for the bag. A smaller bag "
        "uses all its instances.",
    )
    relax: bool = param(
        True,
        ["boolean"],
        "Solve the convex relaxation over a growing pool of assignments. False is the nonconvex "
        "variant (CCCP): fix the key instances, solve the convex problem, take the highest scores "
        "as the new key instances.",
    )
    n_init: int = shared("n_init")
    pool: Pool | None = group(Pool, "How key instances are searched for.")
    kernel: Any = shared(
        "kernel",
        doc='Kernel between instances. A callable takes two matrices. With "precomputed" the '
        "columns of the instances are kernel values with the instances numbered by "
        "``instance_ids``. The intercept is a constant feature: 1 is added to the kernel.",
    )
    threshold: float | str = shared(
        "threshold",
        default="calibrated",
        doc='Bag score above which a bag is called positive. "calibrated" chooses it on '
        "out-of-fold scores, which the relaxation needs: at 0 it can call every bag negative and "
        "still rank the bags well.",
    )

    def _band(self) -> MarginBand:
        raise NotImplementedError

    def _row_weights(self, rows: KeyRows) -> Array:
        raise NotImplementedError

    def _negatives(self) -> str:
        return "instances"

    def _loss(self) -> MarginBand:
        return self._band()

    def _assumption(self) -> Any:
        return AtLeastOne() if self.n_witnesses == 1 else TopMean(self.n_witnesses)

    def __bag_tags__(self) -> BagTags:
        """Say what this estimator can do; pools that grew in another order agree up to ``tol``."""
        tolerance = float(np.sqrt(self._pool.tol)) if self.relax else 0.0
        return replace(super().__bag_tags__(), tolerance=max(tolerance, 1e-6))

    @property
    def _pool(self) -> Pool:
        return self.pool or Pool()

    def _fit_from(self, task: Task, start: Start) -> Run:
        rows = KeyRows(task, self._negatives(), self.n_witnesses)
        saddle = rows.saddle(self._row_weights(rows), self._band())
        rng = check_random_state(self.random_state)
        search = _Search(saddle, rows.choices, self._pool, rng)
        if start is not None:
            chosen, center = search.choices.random(start, 1)[0], None
        else:
            chosen, center = search.begin()
            if self._pool.init == "cccp" and self.relax:
                chosen = search.alternate(chosen).assignment
        history, converged = list[dict[str, Any]](), True
        if self.relax:
            grown = search.grow(chosen, center, self._report)
            pool, point = grown.assignment, grown.solution
            history, converged = grown.history, grown.converged
            chosen = search.choose(pool, point)
        if self._pool.refine or not self.relax:
            run = search.alternate(chosen, lambda record: self._report(search.finish(record)))
            (pool, point), history = search.taken, history + run.history
            converged = converged and run.converged
        solution, mu = rows.solution(pool, point), rows.instance_weights(pool, point)
        return Run(solution, mu, history, converged)

    # After the fit -------------------------------------------------------------------------------

    def _keep(self, bags: Bags, fits: list[Any]) -> None:
        super()._keep(bags, fits)
        self.n_columns_ = np.array([_pool_of(fit).get("n_columns", 1) for fit in fits])
        self.heuristic_gap_ = np.array([_pool_of(fit).get("heuristic_gap", np.nan) for fit in fits])

    def _warn(self, fit: Any) -> None:
        for message in self._doubts(fit):
            named = Message(f"{type(self).__name__} ", message)
            warnings.warn(named, ConvergenceWarning, stacklevel=2)

    def _doubts(self, fit: Any) -> Iterator[str]:
        """Yield what is not certain about a fit, and what can be done about it."""
        solution = fit.solution
        at = f"objective {solution.objective:.6g}, gap over the pool {solution.gap:.2g}"
        doubt = is_in_doubt(solution.objective, solution.gap, converged=solution.converged)
        if doubt and self._pool.solver == "newton":
            scale = (f"ran out of digits: {at}. Scale the features with ", SCALE)
            yield Message(*scale, f" or lower {self._loss_weights}.")
        elif doubt:
            newton = (Parameter("pool__solver", "'newton'"), " is exact.")
            yield Message(f"stopped pool__solver={self._pool.solver!r} early: {at}. ", *newton)
        if not fit.converged and not self.relax:
            limit = f"pool__max_iter={self._pool.max_iter}"
            yield f"was stopped by {limit} before CCCP came to rest. Raise it."
        elif not fit.converged:
            gap = _pool_of(fit)["heuristic_gap"]
            limits = f"pool__max_columns={self._pool.max_columns}"
            yield (
                f"was stopped by {limits} or pool__max_iter={self._pool.max_iter} before "
                f"it converged: {at}, heuristic gap over all assignments {gap:.2g}. Raise "
                "pool__max_columns or pool__tol."
            )


def _pool_of(fit: Run) -> dict[str, Any]:
    """Return the last record of the relaxation; an empty one where nothing was relaxed."""
    records = [record for record in fit.history if "heuristic_gap" in record]
    return records[-1] if records else {}
