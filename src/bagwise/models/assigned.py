"""The common ground of MI-ODM and KI-SVM: key-instance assignments, relaxed or by descent.

`AssignedClassifier` turns one class against the rest into a `Saddle` problem, solves its relaxation
over a growing pool of assignments, and, where asked, rounds to key instances and descends (CCCP):
fixed assignment, convex machine, the highest scores become the new assignment. A method adds
``_row_weights`` and ``_band``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from bagwise.assumptions import AtLeastOne
from bagwise.bags import Bags
from bagwise.losses import MarginBand
from bagwise.models.keyrows import KeyRows, TopMean
from bagwise.models.rows import BinaryFit, RowsClassifier, Task
from bagwise.procedures import Alternation, alternate
from bagwise.procedures.columns import Choices, Growth, grow, margin_moments
from bagwise.solvers import Solution
from bagwise.solvers.bordered import BorderedSystem
from bagwise.solvers.column_newton import column_newton
from bagwise.solvers.mirror_prox import mirror_prox
from bagwise.solvers.saddle import Saddle, SaddlePoint
from bagwise.tags import BagTags

__all__ = ["AssignedClassifier"]

Array = NDArray[Any]


@dataclass(frozen=True)
class AssignedFit(BinaryFit):
    """A fit that knows its pool."""

    n_columns: int = 1
    heuristic_gap: float = np.nan


class _Descent:
    """CCCP: the two halves of an alternation between machine and key instances."""

    def __init__(self, saddle: Saddle, choices: Choices, system: BorderedSystem) -> None:
        self.saddle, self.choices, self.system = saddle, choices, system
        self.point: SaddlePoint | None = None
        self.taken: tuple[Saddle, SaddlePoint]

    def solve(self, chosen: Array, last: Solution | None) -> Solution:
        """Solve the machine of a fixed assignment; scores are those of the units."""
        self.chosen, self.single = chosen, self.saddle.only(self.choices.weights(chosen))
        self.point = point = column_newton(self.single, self.point, system=self.system)
        coef = self.single.coef(point)
        return Solution(
            coef=coef,
            intercept=float(coef.sum()),
            scores=self.saddle.K @ coef + coef.sum(),
            dual=point.beta,
            objective=point.upper,
            gap=point.gap,
            residual=float(np.abs(point.beta - self.single.dual(point.scores)).max()),
            n_iter=point.counts["systems"],
            converged=point.converged,
        )

    def assign(self, scores: Array) -> Array:
        """Choose the highest scores of a bag unless its present choice costs less.

        A bag above the band may be cheaper with a lower instance: the highest score alone would
        let the objective rise. The alternation asks only at machines that it has taken.
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


class AssignedClassifier(RowsClassifier):
    """Classifier over key-instance assignments."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RowsClassifier._parameter_constraints,
        "k": [Interval(Integral, 1, None, closed="left")],
        "relax": ["boolean"],
        "refine": ["boolean"],
        "start": [StrOptions({"mean", "cccp", "random"})],
        "solver": [StrOptions({"newton", "mirror_prox", "stochastic_mirror_prox"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    negatives = "instances"
    loss = "margin_band"

    def _band(self) -> MarginBand:
        raise NotImplementedError

    def _row_weights(self, rows: KeyRows) -> Array:
        raise NotImplementedError

    def _loss(self) -> MarginBand:
        return self._band()

    def _assumption(self) -> Any:
        return AtLeastOne() if self.k == 1 else TopMean(self.k)

    def __bag_tags__(self) -> BagTags:
        """Say what this estimator can do; pools that grew in another order agree up to ``tol``."""
        tolerance = float(np.sqrt(self.tol)) if self.relax else 0.0
        return replace(super().__bag_tags__(), tolerance=max(tolerance, 1e-6))

    def _fit_binary(self, task: Task) -> AssignedFit:
        rows = KeyRows(task, self.negatives, self.k)
        saddle = rows.saddle(self._row_weights(rows), self._band())
        choices, system = rows.choices, BorderedSystem(saddle.K, saddle.negatives)
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        chosen = self._first_choice(saddle, choices, system, rng)
        history, converged, facts = list[dict[str, Any]](), True, dict[str, Any]()
        if self.relax:
            growth = self._grow(saddle, choices, system, chosen, rng)
            pool, point = growth.saddle, growth.point
            history, converged = growth.history, growth.converged
            facts = {"n_columns": len(pool.columns), "heuristic_gap": growth.heuristic_gap}
            chosen = choices.top((saddle.K @ pool.coef(point))[choices.rows])
        if self.refine or not self.relax:
            pool, point, run = self._descend(saddle, choices, system, chosen)
            history, converged = history + run.history, converged and run.converged
        solution, mu = rows.solution(pool, point), rows.instance_weights(pool, point)
        return AssignedFit(solution, mu, history, converged, **facts)

    def _first_choice(
        self,
        saddle: Saddle,
        choices: Choices,
        system: BorderedSystem,
        rng: np.random.RandomState,
    ) -> Array:
        """Return the first assignment, by the machine in which a positive bag is its mean."""
        if self.start == "random":
            return choices.random(rng, 1)[0]
        means = saddle.only(choices.means())
        coef = means.coef(column_newton(means, system=system))
        chosen = choices.top((saddle.K @ coef)[choices.rows])
        if self.start == "cccp" and self.relax:
            descent = _Descent(saddle, choices, system)
            run = alternate(descent.solve, descent.assign, chosen, max_iter=self.max_iter)
            return run.assignment
        return chosen

    def _grow(
        self,
        saddle: Saddle,
        choices: Choices,
        system: BorderedSystem,
        chosen: Array,
        rng: np.random.RandomState,
    ) -> Growth:
        return grow(
            saddle,
            choices,
            chosen,
            self._master(system, rng),
            tol=self.tol,
            max_columns=self.max_iter,
            random_state=rng,
            callback=self._report,
        )

    def _master(self, system: BorderedSystem, rng: np.random.RandomState) -> Any:
        if self.solver == "newton":
            return partial(column_newton, system=system)
        stochastic = self.solver == "stochastic_mirror_prox"
        return partial(mirror_prox, stochastic=stochastic, random_state=rng)

    def _descend(
        self, saddle: Saddle, choices: Choices, system: BorderedSystem, chosen: Array
    ) -> tuple[Saddle, SaddlePoint, Alternation]:
        descent = _Descent(saddle, choices, system)
        run = alternate(
            descent.solve,
            descent.assign,
            chosen,
            max_iter=self.max_iter,
            callback=lambda record: self._report(descent.finish(record)),
        )
        return *descent.taken, run

    # After the fit -------------------------------------------------------------------------------

    def _keep(self, bags: Bags, fits: list[Any]) -> None:
        super()._keep(bags, fits)
        self.n_columns_ = np.array([fit.n_columns for fit in fits])
        self.heuristic_gap_ = np.array([fit.heuristic_gap for fit in fits])

    def _warn(self, fit: Any) -> None:
        for message in self._doubts(fit):
            warnings.warn(f"{type(self).__name__} {message}", ConvergenceWarning, stacklevel=2)

    def _doubts(self, fit: Any) -> Iterator[str]:
        """Yield what is not certain about a fit, and what can be done about it."""
        solution = fit.solution
        at = f"objective {solution.objective:.6g}, gap over the pool {solution.gap:.2g}"
        if not solution.converged and self.solver == "newton":
            yield f"ran out of digits: {at}. Scale the features or lower {self._loss_weights}."
        elif not solution.converged:
            yield f"stopped solver={self.solver!r} early: {at}. solver='newton' is exact."
        if not fit.converged and not self.relax:
            yield f"was stopped by max_iter={self.max_iter} before CCCP came to rest. Raise it."
        elif not fit.converged:
            yield (
                f"was stopped by max_iter={self.max_iter} before it converged: {at}, heuristic gap "
                f"over all assignments {fit.heuristic_gap:.2g}. Raise max_iter or tol."
            )
