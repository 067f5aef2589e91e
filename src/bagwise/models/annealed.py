"""AL-SVM, AW-SVM and ALP-SVM by deterministic annealing (Gehler & Chapelle 2007).

`AnnealedLabelSVC` (Eq. 4) makes the labels of mi-SVM random, p_k = P(y_k = 1), and cools

    1/2|w|^2 + C sum_k [p_k l(f_k) + (1 - p_k) l(-f_k)] - T S(p),   sum_{k in bag} p_k >= 1;

`AnnealedProportionSVC` (Eqs. 12-13) adds C2 sum_i (sum_k y_k - m_i p*)^2 in expectation;
`AnnealedWitnessSVC` (Eq. 9) makes the witness of MI-SVM random,

    1/2|w|^2 + C sum_k p_k l(Y_k f_k) - T S(p),   sum_{k in bag} p_k = 1.

l is the squared hinge (the paper's) or the hinge. With the hinge an undecided label costs the same
anywhere between the margins, so that w = 0, f = -1 solves the first problem of a hot start and
holds for good; start it with ``init="instances"`` at T0 = 1 or below (a warning says when it
happened).

Departures from the print: 1/2|w|^2 instead of |w|^2 (their C, C2 and T are twice ours), the exact
p-step and the variance term (`bagwise.assumptions.soft`), (y + 1)/2 for the misprinted (y - 1)/2 in
Eq. 12, and a temperature floor, so that it always ends.

Reference: P. Gehler, O. Chapelle, "Deterministic annealing for multiple-instance learning",
AISTATS 2007.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from bagwise._typing import Array
from bagwise.assumptions import ExactlyOne
from bagwise.assumptions.rules import Everything, Given
from bagwise.assumptions.soft import Softening, SoftLabels, SoftWitness
from bagwise.bags.segments import Segments
from bagwise.designs import Point
from bagwise.estimators.params import (
    Parameters,
    Words,
    fraction,
    group,
    integer,
    param,
    positive,
    redeclare,
    shared,
)
from bagwise.estimators.rows import MarginClassifier, Start
from bagwise.estimators.task import Task, mean_scores
from bagwise.losses import Hinge
from bagwise.procedures import Run
from bagwise.procedures.alternate import start_from
from bagwise.procedures.anneal import Schedule, Vectors, anneal, anneal_passes, fit_annealed
from bagwise.procedures.run import Steps
from bagwise.rows import Assignment, Newton
from bagwise.solvers import Solution, cold_start, newton_steps, solve
from bagwise.tolerances import COARSE, DECIDED, NOTHING, TIE

_FLOOR = 1e-6  # coldest temperature, in units of C
_SPREAD = 5.0  # of random losses, in units of the temperature: most draws are all but decided


class Annealing(Parameters):
    """The schedule of an annealing run: a group of parameters.

    Examples
    --------
    >>> from bagwise import Annealing
    >>> Annealing(cooling=2.0)
    Annealing(cooling=2.0)
    """

    T0: float = param(10.0, positive(), "First temperature, in units of C.")
    cooling: float = param(
        1.5,
        Interval(Real, 1, None, closed="neither"),
        "Factor between one temperature and the next.",
    )
    tol: float = param(
        1e-2,
        positive(),
        "Convergence threshold at one temperature, on the mean divergence per bag.",
    )
    newton_steps: int | None = param(
        None,
        [integer(), None],
        "Newton steps per alternation. None solves each problem; 1 is quicker and often as good.",
    )
    max_inner: int = param(100, integer(), "Maximum number of alternations per temperature.")
    variance: bool = param(
        True,
        ["boolean"],
        "Of `AnnealedProportionSVC`: penalize the expected squared deviation. False drops the "
        "variance of the number of positives, as printed; labels may then stay undecided.",
    )


class AnnealedSVC(MarginClassifier):
    """One annealing run per class."""

    n_init: int = shared("n_init")
    annealing: Annealing | None = group(Annealing, "The schedule of the temperatures.")

    _entropy_ends_it = True
    _follows_rows = True
    _uses_known = True
    _prepares_kernel = True

    @property
    def _annealing(self) -> Annealing:
        return self.annealing or Annealing()

    def _softening(self, task: Task) -> Softening:
        raise NotImplementedError

    def _fraction(self, task: Task) -> Array | None:
        """Return the expected fraction of positives of every bag, where bags have their own."""
        return None

    @property
    def _starts_from_bags(self) -> bool:
        """Whether every instance has the label of its bag at first."""
        return False

    def _start(self, task: Task, softening: Softening) -> Array:
        if self._starts_from_bags:
            return task.bag_labels[task.positive_rows]
        return softening.even(Segments.of_offsets(task.positive_offsets), task.facts())

    def _first(self, newton: Newton, softening: Softening) -> Steps:
        """Return the first assignment of rows that are passed over."""
        yield from ()
        return Assignment(Everything() if self._starts_from_bags else softening.start())

    def _schedule(self) -> Schedule:
        # libsvm's scores carry five digits: at lower temperatures noise would choose the labels.
        floor, given = NOTHING if self.loss == "hinge" else _FLOOR, self._annealing
        return Schedule(
            hottest=given.T0 * self.C,
            coldest=min(floor, given.T0) * self.C,
            cooling=given.cooling,
            rest=given.tol,
            entropy=1e-3 if self._entropy_ends_it else 0.0,
            max_inner=given.max_inner,
        )

    def _fit_steps(self, task: Task, start: Start) -> Steps:
        if task.rows is None:
            return (yield from super()._fit_steps(task, start))
        softening, fraction = self._softening(task), self._fraction(task)
        given = None if start is None else task.spread(_draw(task, softening, fraction, start))
        newton = Newton(task.rows, task.label(fraction, given))
        first = yield from self._first(newton, softening)
        first = first if start is None else Assignment(Given(softening))
        path = self._schedule(), self._annealing.newton_steps, self._report
        run = yield from fit_annealed(newton, in_units(softening, task.C), first, *path)
        penalty = _penalize(task, softening, fraction, run.assignment[task.positive_rows])
        return replace(run, solution=run.solution.add_constant(penalty))

    def _anneal_rows(self, newton: Newton, task: Task) -> Steps:
        """Anneal rows that are passed over; return the run without its last problem."""
        softening = self._softening(task)
        first = yield from self._first(newton, softening)
        path = self._schedule(), self._annealing.newton_steps, None
        return (yield from anneal_passes(newton, in_units(softening, task.C), first, *path))

    def _fit_from(self, task: Task, start: Start) -> Run:
        self._prepare(task.design, task.weight)
        softening, fraction = self._softening(task), self._fraction(task)
        if start is None:
            first = self._start(task, softening)
        else:
            first = _draw(task, softening, fraction, start)
        path = self._schedule(), self._annealing.newton_steps, self._report
        run = anneal_task(task, softening, fraction, first, *path)
        p = _round_decided(run.assignment, TIE)
        if isinstance(task.loss, Hinge) and np.ptp(run.solution.scores) < NOTHING:
            self._warn_of_nothing()  # and what scores say nothing of stays undecided
        else:
            p = softening.harden(Segments.of_offsets(task.positive_offsets), p)
        penalty = _penalize(task, softening, fraction, p)
        p = task.spread(p)
        solution = refit(task, softening, p, run.solution).add_constant(penalty)
        return Run(solution, p, run.history, run.converged)

    def _warn_of_nothing(self) -> None:
        warnings.warn(
            f"{type(self).__name__} scores all instances alike: with the hinge a hot start has no "
            "other solution. Lower annealing__T0 (to 1 or less, for labels with init='instances'), "
            "raise C, or use the squared hinge.",
            UserWarning,
            stacklevel=2,
        )


def in_units(softening: Softening, C: float) -> Softening:
    """Return the softening with its penalty in units of C, as passes have costs."""
    if not isinstance(softening, SoftLabels):
        return softening
    return replace(softening, C_proportion=softening.C_proportion / C)


def _penalize(task: Task, softening: Softening, fraction: Array | None, p: Array) -> float:
    """Return the penalty of positive bags, each weighted like its losses."""
    bags = Segments.of_offsets(task.positive_offsets)
    shares = None if fraction is None else fraction[task.positive]
    return float(task.positive_bag_weight @ softening.penalize(bags, p, shares))


def _draw(
    task: Task, softening: Softening, fraction: Array | None, rng: np.random.RandomState
) -> Array:
    """Draw labels or witnesses: the step of least cost at random losses, with unit temperature."""
    gain, loss = rng.exponential(scale=_SPREAD, size=(2, int(task.positive_offsets[-1])))
    bags = Segments.of_offsets(task.positive_offsets)
    return softening.soften(bags, gain, loss, 1.0, task.facts(fraction))


def anneal_task(
    task: Task,
    softening: Softening,
    fraction: Array | None,
    start: Array,
    schedule: Schedule,
    max_steps: int | None = None,
    callback: Any = None,
) -> Run:
    """Anneal one class against the rest."""
    bags, facts = Segments.of_offsets(task.positive_offsets), task.facts(fraction)

    def soften(point: Point, temperature: float) -> Array:
        f = point.scores[task.positive_rows] + point.intercept
        gain, loss = task.C * task.loss.value(-f), task.C * task.loss.value(f)
        return softening.soften(bags, gain, loss, temperature, facts)

    def energy(point: Point, p: Array) -> float:
        """Return Eq. 4 or 9 without its entropy."""
        problem = task.problem(task.spread(p), softening.rest_is_negative)
        return problem.objective(point) + _penalize(task, softening, fraction, p)

    steps = Vectors(
        partial(solve_softened, task, softening, max_steps),
        soften,
        energy,
        softening,
        task.positive_offsets,
        task.positive_bag_weight,
        schedule.coldest,
    )
    return anneal(steps, start, schedule, callback)


def solve_softened(
    task: Task, softening: Softening, max_steps: int | None, p: Array, last: Point | None
) -> tuple[Point, int]:
    """Solve the convex problem of a soft assignment; return the point and its Newton steps."""
    # Round probabilities near 0 or 1, so that their rows leave the linear algebra.
    p = _round_decided(p, DECIDED)
    problem = task.problem(task.spread(p), softening.rest_is_negative)
    if isinstance(task.loss, Hinge):
        return solve(problem).point, 1
    history: list[dict[str, Any]] = []
    start = cold_start(problem) if last is None else last
    # The first problem has no point to start from: one step would leave it half solved.
    limit = 100 if max_steps is None or last is None else max_steps
    point, _ = newton_steps(problem, start, 1e-8, limit, history, slack=COARSE)
    return point, len(history)


def _round_decided(p: Array, least: float) -> Array:
    """Count what is all but decided as decided."""
    return np.where(p < least, 0.0, np.where(p > 1 - least, 1.0, p))


def refit(task: Task, softening: Softening, p: Array, start: Point) -> Solution:
    """Solve the last convex problem without shortcuts."""
    problem = task.problem(p, softening.rest_is_negative)
    if task.design.prepared or not task.design.proves_itself:
        problem = problem.on(task.design.fresh())
    return solve(problem, start)


class AnnealedLabelSVC(AnnealedSVC):
    """Infer the label of every instance in the positive bags by annealing (AL-SVM).

    The objective is that of `LabelSVC`; annealing ends in better minima of it, which have fewer
    positive instances.

    See Also
    --------
    AnnealedProportionSVC : Adds an expected fraction of positive instances.
    LabelSVC : The same objective without annealing.

    Examples
    --------
    >>> model = AnnealedLabelSVC(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict_instances(bags)
    array([0, 1, 0, 1, 0, 0, 0])
    """

    init: str = param(
        "uniform",
        Words("uniform", "instances"),
        "First probabilities: one half, or the bag's label on every instance.",
    )

    def _softening(self, task: Task) -> Softening:
        return SoftLabels()

    @property
    def _starts_from_bags(self) -> bool:
        return self.init == "instances"


class AnnealedProportionSVC(AnnealedSVC):
    """Infer labels by annealing, given an expected fraction of positives (ALP-SVM).

    See Also
    --------
    AnnealedLabelSVC : Without the expected fraction.

    Examples
    --------
    >>> model = AnnealedProportionSVC(positive_fraction=0.5, kernel="linear")
    >>> model.fit(bags, [1, 0, 1, 0]).predict(bags)
    array([1, 0, 1, 0])
    """

    positive_fraction: float | str = param(
        0.5,
        [fraction(), Words("bags")],
        'Expected fraction p* of positive instances in a positive bag; "bags" takes '
        "``bags.priors``.",
        kind='float or "bags"',
    )
    C_proportion: float = param(
        1.0,
        positive(zero=True),
        "Weight (C2 in the paper) of the squared deviation from it; 0 is `AnnealedLabelSVC`.",
    )
    init: str = redeclare(AnnealedLabelSVC, "init")

    @property
    def _starts_from_bags(self) -> bool:
        return self.init == "instances"

    def _softening(self, task: Task) -> Softening:
        fraction: Any = 0.5 if self.positive_fraction == "bags" else self.positive_fraction
        return SoftLabels(self.C_proportion, fraction, self._annealing.variance)

    def _fraction(self, task: Task) -> Array | None:
        if self.positive_fraction != "bags":
            return None
        if task.priors is None:
            raise ValueError(
                "positive_fraction='bags' needs the expected fractions: give them as "
                "Bags(..., priors=...)."
            )
        return task.priors


class AnnealedWitnessSVC(AnnealedSVC):
    """Find the witnesses of the positive bags by annealing (AW-SVM).

    See Also
    --------
    WitnessSVC : The same objective without annealing.

    Examples
    --------
    >>> model = AnnealedWitnessSVC(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.key_instances(bags)
    array([1, 0, 0, 0])
    """

    n_witnesses: int = param(
        1, integer(), "Number of witnesses in a positive bag; a smaller bag uses all its instances."
    )
    init: str = param(
        "uniform",
        Words("uniform", "mean"),
        "First weights: the same for all instances of a bag, or the witnesses that `WitnessSVC` "
        "starts from.",
    )

    _entropy_ends_it = False

    def _softening(self, task: Task) -> Softening:
        return SoftWitness(self.n_witnesses)

    def _start(self, task: Task, softening: Softening) -> Array:
        if self.init == "mean":
            scores = mean_scores(task)[task.positive_rows]
            return ExactlyOne().map(scores, task.positive_offsets, task.facts())
        return super()._start(task, softening)

    def _first(self, newton: Newton, softening: Softening) -> Steps:
        if self.init == "mean":
            return (yield from start_from(newton, ExactlyOne(), means=True))
        return (yield from super()._first(newton, softening))
