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
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from bagwise._typing import Array
from bagwise.assumptions import ExactlyOne
from bagwise.assumptions.rules import Everything, Given
from bagwise.assumptions.soft import UNCHANGED, Softening, SoftLabels, SoftWitness
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
from bagwise.problems import Problem
from bagwise.procedures import Run
from bagwise.procedures.alternate import start_from
from bagwise.procedures.anneal import Schedule, Softer, anneal_passes, cool, fit_annealed
from bagwise.procedures.run import Steps, finish
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

    def _vectors(self, task: Task) -> Vectors:
        limit, coldest = self._annealing.newton_steps, self._schedule().coldest
        return Vectors(task, self._softening(task), self._fraction(task), coldest, limit)

    def _start(self, task: Task, steps: Vectors) -> Array:
        if self._starts_from_bags:
            return task.bag_labels[task.positive_rows]
        return steps.softening.even(steps.bags, task.facts())

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
        given = None if start is None else task.spread(self._vectors(task).draw(start))
        newton = Newton(task.rows, task.label(fraction, given))
        first = yield from self._first(newton, softening)
        first = first if start is None else Assignment(Given(softening))
        path = self._schedule(), self._annealing.newton_steps, self._report
        run = yield from fit_annealed(newton, in_units(softening, task.C), first, *path)
        penalty = self._vectors(task).penalize(run.assignment[task.positive_rows])
        return replace(run, solution=run.solution.add_constant(penalty))

    def _anneal_rows(self, newton: Newton, task: Task) -> Steps:
        """Anneal rows that are passed over; return the run without its last problem."""
        softening = self._softening(task)
        first = yield from self._first(newton, softening)
        path = self._schedule(), self._annealing.newton_steps, None
        return (yield from anneal_passes(newton, in_units(softening, task.C), first, *path))

    def _fit_from(self, task: Task, start: Start) -> Run:
        self._prepare(task.design, task.weight)
        steps = self._vectors(task)
        first = self._start(task, steps) if start is None else steps.draw(start)
        run = finish(cool(steps, first, self._schedule(), self._report))
        p = _round_decided(run.assignment, TIE)
        if isinstance(task.loss, Hinge) and np.ptp(run.solution.scores) < NOTHING:
            self._warn_of_nothing()  # and what scores say nothing of stays undecided
        else:
            p = steps.softening.harden(steps.bags, p)
        solution = steps.refit(p, run.solution).add_constant(steps.penalize(p))
        return Run(solution, task.spread(p), run.history, run.converged)

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


class Vectors:
    """What is annealed of one class against the rest: points and assignments in memory."""

    def __init__(
        self,
        task: Task,
        softening: Softening,
        fraction: Array | None,
        coldest: float,
        max_steps: int | None = None,
    ) -> None:
        self.task, self.softening = task, softening
        self.coldest, self.max_steps = coldest, max_steps
        self.bags, self.facts = Segments.of_offsets(task.positive_offsets), task.facts(fraction)
        self.weight = task.bag_weight[task.positive] / task.C
        self.n_instances = float(self.weight @ self.bags.sizes)

    def problem(self, p: Array) -> Problem:
        """Return the convex problem of a soft assignment."""
        return self.task.problem(self.task.spread(p), self.softening.rest_is_negative)

    def fit(self, p: Array, last: Point | None) -> Steps:
        """Solve the convex problem; return the point and the number of factorizations."""
        yield from ()
        # Round probabilities near 0 or 1, so that their rows leave the linear algebra.
        problem = self.problem(_round_decided(p, DECIDED))
        if isinstance(self.task.loss, Hinge):
            return solve(problem).point, 1
        history: list[dict[str, Any]] = []
        start = cold_start(problem) if last is None else last
        # The first problem has no point to start from: one step would leave it half solved.
        limit = 100 if self.max_steps is None or last is None else self.max_steps
        point, _ = newton_steps(problem, start, 1e-8, limit, history, slack=COARSE)
        return point, len(history)

    def assign(self, here: Point, temperature: float) -> Array:
        """Return the assignment of least expected cost minus T x entropy."""
        f, task = here.scores[self.task.positive_rows] + here.intercept, self.task
        gain, loss = task.C * task.loss.value(-f), task.C * task.loss.value(f)
        return self.softening.soften(self.bags, gain, loss, temperature, self.facts)

    def soften(self, here: Point, p: Array, temperature: float) -> Steps:
        """Return the next assignment."""
        yield from ()
        self.p = self.assign(here, temperature)
        entropy, divergences = self.softening.compare(self.bags, self.p, p)
        self.entropy = float(self.weight @ entropy)
        divergence = float(self.weight @ divergences) / self.weight.sum()
        share = float(self.weight @ self.bags.sum(self.p)) / self.n_instances
        return Softer(self.p, divergence, self.entropy, share)

    def energy(self, here: Point, temperature: float) -> float:
        """Return the objective at a temperature: Eq. 4 or 9."""
        return self.value(here) - temperature * self.entropy

    def value(self, here: Point) -> float:
        """Return the objective without entropy."""
        return self.problem(self.p).objective(here) + self.penalize(self.p)

    def penalize(self, p: Array) -> float:
        """Return the penalty of positive bags, each weighted like its losses."""
        return float(self.weight @ self.softening.penalize(self.bags, p, self.facts.fraction))

    def draw(self, rng: np.random.RandomState) -> Array:
        """Draw labels or witnesses: the step of least cost at random losses and temperature 1."""
        gain, loss = rng.exponential(scale=_SPREAD, size=(2, int(self.bags.sizes.sum())))
        return self.softening.soften(self.bags, gain, loss, 1.0, self.facts)

    def refit(self, p: Array, start: Point) -> Solution:
        """Solve the last convex problem without shortcuts."""
        problem, design = self.problem(p), self.task.design
        if design.prepared or not design.proves_itself:
            problem = problem.on(design.fresh())
        return solve(problem, start)

    def is_at_rest(self, here: Point, p: Array, entered: Array) -> bool:
        """Return whether nothing changed, and the coldest temperature would not change it."""
        others = entered, self.assign(here, self.coldest)
        return all(float(np.abs(p - other).max()) <= UNCHANGED for other in others)


def _round_decided(p: Array, least: float) -> Array:
    """Count what is all but decided as decided."""
    return np.where(p < least, 0.0, np.where(p > 1 - least, 1.0, p))


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

    def _start(self, task: Task, steps: Vectors) -> Array:
        if self.init == "mean":
            scores = mean_scores(task)[task.positive_rows]
            return ExactlyOne().map(scores, task.positive_offsets, task.facts())
        return super()._start(task, steps)

    def _first(self, newton: Newton, softening: Softening) -> Steps:
        if self.init == "mean":
            return (yield from start_from(newton, ExactlyOne(), means=True))
        return (yield from super()._first(newton, softening))
