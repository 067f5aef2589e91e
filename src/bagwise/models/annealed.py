"""AL-SVM, AW-SVM and ALP-SVM by deterministic annealing (Gehler & Chapelle 2007).

`AnnealedLabelSVC` (Eq. 4) makes the labels of mi-SVM random, p_k = P(y_k = 1), and cools

    1/2|w|^2 + C sum_k [p_k l(f_k) + (1 - p_k) l(-f_k)] - T S(p),   sum_{k in bag} p_k >= 1;

`AnnealedProportionSVC` (Eqs. 12-13) adds C2 sum_i (sum_k y_k - m_i p*)^2 in expectation;
`AnnealedWitnessSVC` (Eq. 9) makes the witness of MI-SVM random,

    1/2|w|^2 + C sum_k p_k l(Y_k f_k) - T S(p),   sum_{k in bag} p_k = 1.

l is the squared hinge (the paper's) or the hinge. With the hinge an undecided label costs the same
anywhere between the margins, so that w = 0, f = -1 solves the first problem of a hot start and
holds for good; start it from the bags' labels at T0 = 1 or below (a warning says when it happened).

Departures from the print: 1/2|w|^2 instead of |w|^2 (their C, C2 and T are twice ours), the exact
p-step and the variance term (`softening`), (y + 1)/2 for the misprinted (y - 1)/2 in Eq. 12, and a
temperature floor, so that it always ends.

Reference: P. Gehler, O. Chapelle, "Deterministic annealing for multiple-instance learning",
AISTATS 2007.
"""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from bagwise._docs import described
from bagwise.assumptions import ExactlyOne
from bagwise.designs import Point
from bagwise.losses import Hinge
from bagwise.models.rows import BinaryFit, RowsClassifier, Task
from bagwise.models.witness import mean_scores
from bagwise.procedures.anneal import Annealed, Schedule, anneal
from bagwise.softening import Softened, Softening, SoftLabels, SoftWitness
from bagwise.solvers import Solution, cold_start, descend, solve

__all__ = ["AnnealedLabelSVC", "AnnealedProportionSVC", "AnnealedWitnessSVC"]

Array = NDArray[Any]

_FLOOR = 1e-6  # coldest temperature, in units of C
_HINGE_FLOOR = 1e-3  # libsvm's scores carry five digits: below it, noise would choose the labels
_SLACK = 1e-4  # relative decrease at which a problem on the way is solved
_DECIDED = 1e-6
_UNDERFLOW = 1e-12  # probabilities that would only be numbers out of range to the last solver
_NOTHING = 1e-3  # spread of the scores below which a machine says nothing
_NO_WITNESS = 1e-3  # weight below which an instance is no witness in the final refit


class _AnnealedSVC(RowsClassifier):
    """One annealing run a class."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RowsClassifier._parameter_constraints,
        "T0": [Interval(Real, 0, None, closed="neither")],
        "cooling": [Interval(Real, 1, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "newton_steps": [Interval(Integral, 1, None, closed="left"), None],
        "callback": [callable, None],
    }
    _entropy_ends_it = True

    def __init__(
        self,
        *,
        C=1.0,
        start="uniform",
        T0=10.0,
        cooling=1.5,
        tol=1e-2,
        newton_steps=None,
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=0.0,
        loss="squared_hinge",
        class_weight=None,
        pos_label=None,
        threshold=0.0,
        probability=False,
        cv=5,
        max_iter=100,
        n_jobs=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        super().__init__(
            C=C,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            loss=loss,
            class_weight=class_weight,
            pos_label=pos_label,
            threshold=threshold,
            probability=probability,
            cv=cv,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.max_iter = max_iter
        self.start = start
        self.T0 = T0
        self.cooling = cooling
        self.tol = tol
        self.newton_steps = newton_steps
        self.callback = callback

    def _softening(self, task: Task) -> Softening:
        raise NotImplementedError

    def _start(self, task: Task, softening: Softening) -> Array:
        return softening.start(task.positive_offsets)

    def _final(self, softening: Any, p: Array, offsets: Array) -> Array:
        return p

    def _schedule(self) -> Schedule:
        floor = _HINGE_FLOOR if self.loss == "hinge" else _FLOOR
        return Schedule(
            hottest=self.T0 * self.C,
            coldest=min(floor, self.T0) * self.C,
            cooling=self.cooling,
            rest=self.tol,
            entropy=1e-3 if self._entropy_ends_it else 0.0,
            max_inner=self.max_iter,
        )

    def _fit_binary(self, task: Task) -> BinaryFit:
        if not task.design.prepared and self.loss == "squared_hinge":
            task.design.prepare(2 * task.weight)
        softening = self._softening(task)
        run = anneal_task(
            task,
            softening,
            self._start(task, softening),
            self._schedule(),
            self.newton_steps,
            self._watch,
        )
        p = _rounded(run.assignment, _UNDERFLOW)
        p = task.spread(self._final(softening, p, task.positive_offsets))
        solution = refit(task, softening, p, run)
        self._warn_of_nothing(task, solution)
        return BinaryFit(solution, p, run.history, run.settled)

    def _warn_of_nothing(self, task: Task, solution: Solution) -> None:
        if isinstance(task.loss, Hinge) and np.ptp(solution.scores) < _NOTHING:
            warnings.warn(
                f"{type(self).__name__} scores all instances alike: with the hinge a hot start has "
                "no other solution. Lower T0 (to 1 or less, with start='labels' for labels), raise "
                "C, or use the squared hinge.",
                UserWarning,
                stacklevel=2,
            )

    def _watch(self, record: dict[str, Any]) -> None:
        self._report(record)
        if self.callback is not None:
            self.callback(record)


def anneal_task(
    task: Task,
    softening: Softening,
    start: Array,
    schedule: Schedule,
    newton_steps: int | None = None,
    callback: Any = None,
    first: Point | None = None,
) -> Annealed:
    """Anneal one class against the rest; ``first`` solves the first convex problem, if known."""
    return anneal(
        partial(_fit, task, softening, newton_steps),
        partial(_soften, task, softening),
        partial(_energy, task, softening),
        start,
        task.positive_offsets,
        task.positive_bag_weight,
        schedule,
        callback,
        first,
    )


def _fit(
    task: Task, softening: Softening, newton_steps: int | None, p: Array, last: Point | None
) -> tuple[Point, int]:
    # Their rows then drop out of the linear algebra.
    p = _rounded(p, _DECIDED)
    problem = task.problem(task.spread(p), softening.rest_is_negative)
    if isinstance(task.loss, Hinge):
        return solve(problem).point, 1
    history: list[dict[str, Any]] = []
    start = cold_start(problem) if last is None else last
    # The first problem has no point to start from: one step would leave it half solved.
    limit = 100 if newton_steps is None or last is None else newton_steps
    point, _ = descend(problem, start, 1e-8, limit, history, slack=_SLACK)
    return point, len(history)


def _rounded(p: Array, least: float) -> Array:
    """Count what is all but decided as decided."""
    return np.where(p < least, 0.0, np.where(p > 1 - least, 1.0, p))


def _soften(
    task: Task, softening: Softening, point: Point, p: Array, temperature: float
) -> Softened:
    f = point.scores[task.positive_rows] + point.intercept
    losses = task.C * task.loss.value(-f), task.C * task.loss.value(f)
    return softening.step(*losses, task.positive_offsets, temperature, p)


def _energy(
    task: Task, softening: Softening, point: Point, softened: Softened, temperature: float
) -> float:
    """Return Eq. 4 or 9 at a temperature, a bag's penalty and entropy weighted like its losses."""
    problem = task.problem(task.spread(softened.p), softening.rest_is_negative)
    added = softening.penalty(softened.p, task.positive_offsets) - temperature * softened.entropy
    return problem.objective(point) + float(task.positive_bag_weight @ added)


def refit(task: Task, softening: Softening, p: Array, run: Annealed) -> Solution:
    """Solve the last convex problem without shortcuts, and add the penalty to its objective."""
    problem = task.problem(p, softening.rest_is_negative)
    solution = solve(problem.on(task.design.fresh()), run.point)
    penalty = softening.penalty(p[task.positive_rows], task.positive_offsets)
    return solution.shifted(float(task.positive_bag_weight @ penalty))


@described
class AnnealedLabelSVC(_AnnealedSVC):
    """Infer the label of every instance in the positive bags by annealing (AL-SVM).

    The objective is that of `LabelSVC`; annealing ends in better minima of it, which have fewer
    positive instances.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses under 1/2|w|^2.
    start : {"uniform", "labels"}, default="uniform"
        First probabilities: one half, or the bag's label.
    %(annealing_parameters)s
    %(kernel_parameters)s
    %(bag_parameters)s
    callback : callable, default=None
        Called with the record of each temperature.

    Attributes
    ----------
    %(rows_attributes)s

    See Also
    --------
    AnnealedProportionSVC : Adds an expected fraction of positive instances.
    LabelSVC : The same objective without annealing.

    References
    ----------
    .. [1] P. Gehler, O. Chapelle, "Deterministic annealing for multiple-instance learning",
       AISTATS 2007.

    Examples
    --------
    >>> from bagwise import AnnealedLabelSVC
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> model = AnnealedLabelSVC(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict_instances(bags)
    array([0, 1, 0, 1, 0, 0, 0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_AnnealedSVC._parameter_constraints,
        "start": [StrOptions({"uniform", "labels"})],
    }

    def _softening(self, task: Task) -> Softening:
        return SoftLabels()

    def _start(self, task: Task, softening: Softening) -> Array:
        if self.start == "labels":
            return np.ones(len(task.positive_rows))
        return softening.start(task.positive_offsets)


@described
class AnnealedProportionSVC(AnnealedLabelSVC):
    """Infer labels by annealing, given an expected fraction of positives (ALP-SVM).

    Parameters
    ----------
    p_star : float or "bags", default=0.5
        Expected fraction of positive instances in a positive bag; "bags" takes ``bags.priors``.
    C2 : float, default=1.0
        Weight of the squared deviation from it; 0 is `AnnealedLabelSVC`.
    variance : bool, default=True
        Penalise the expected squared deviation. False drops the variance of the number of
        positives, as printed; labels may then stay undecided.
    C : float, default=1.0
        Weight of the losses under 1/2|w|^2.
    start : {"uniform", "labels"}, default="uniform"
        First probabilities: one half, or the bag's label.
    %(annealing_parameters)s
    %(kernel_parameters)s
    %(bag_parameters)s
    callback : callable, default=None
        Called with the record of each temperature.

    Attributes
    ----------
    %(rows_attributes)s

    See Also
    --------
    AnnealedLabelSVC : Without the expected fraction.
    AnnealedProportionSVCCV : Chooses C, C2 and p_star by cross-validation.

    References
    ----------
    .. [1] P. Gehler, O. Chapelle, "Deterministic annealing for multiple-instance learning",
       AISTATS 2007.

    Examples
    --------
    >>> from bagwise import AnnealedProportionSVC
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> model = AnnealedProportionSVC(p_star=0.5, kernel="linear").fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags)
    array([1, 0, 1, 0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **AnnealedLabelSVC._parameter_constraints,
        "p_star": [Interval(Real, 0, 1, closed="both"), StrOptions({"bags"})],
        "C2": [Interval(Real, 0, None, closed="left")],
        "variance": ["boolean"],
    }

    def __init__(
        self,
        p_star=0.5,
        *,
        C2=1.0,
        variance=True,
        C=1.0,
        start="uniform",
        T0=10.0,
        cooling=1.5,
        tol=1e-2,
        newton_steps=None,
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=0.0,
        loss="squared_hinge",
        class_weight=None,
        pos_label=None,
        threshold=0.0,
        probability=False,
        cv=5,
        max_iter=100,
        n_jobs=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        super().__init__(
            C=C,
            start=start,
            T0=T0,
            cooling=cooling,
            tol=tol,
            newton_steps=newton_steps,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            loss=loss,
            class_weight=class_weight,
            pos_label=pos_label,
            threshold=threshold,
            probability=probability,
            cv=cv,
            max_iter=max_iter,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
        )
        self.p_star = p_star
        self.C2 = C2
        self.variance = variance

    def _softening(self, task: Task) -> Softening:
        return SoftLabels(self.C2, self._proportion(task), self.variance)

    def _proportion(self, task: Task) -> Any:
        if self.p_star != "bags":
            return self.p_star
        if task.priors is None:
            raise ValueError(
                "p_star='bags' needs the expected fractions: give them as Bags(..., priors=...)."
            )
        return task.priors[task.positive]


@described
class AnnealedWitnessSVC(_AnnealedSVC):
    """Find the witnesses of the positive bags by annealing (AW-SVM).

    Parameters
    ----------
    n_witnesses : int, default=1
        Witnesses a positive bag is expected to hold (bags with fewer instances use all).
    C : float, default=1.0
        Weight of the losses under 1/2|w|^2.
    start : {"uniform", "mean"}, default="uniform"
        First weights: the same for all instances of a bag, or the witnesses that `WitnessSVC`
        starts from.
    %(annealing_parameters)s
    %(kernel_parameters)s
    %(bag_parameters)s
    callback : callable, default=None
        Called with the record of each temperature.

    Attributes
    ----------
    %(rows_attributes)s

    See Also
    --------
    WitnessSVC : The same objective without annealing.

    References
    ----------
    .. [1] P. Gehler, O. Chapelle, "Deterministic annealing for multiple-instance learning",
       AISTATS 2007.

    Examples
    --------
    >>> from bagwise import AnnealedWitnessSVC
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> model = AnnealedWitnessSVC(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.key_instances(bags)
    array([1, 0, 0, 0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_AnnealedSVC._parameter_constraints,
        "start": [StrOptions({"uniform", "mean"})],
        "n_witnesses": [Interval(Integral, 1, None, closed="left")],
    }
    _entropy_ends_it = False

    def __init__(
        self,
        n_witnesses=1,
        *,
        C=1.0,
        start="uniform",
        T0=10.0,
        cooling=1.5,
        tol=1e-2,
        newton_steps=None,
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=0.0,
        loss="squared_hinge",
        class_weight=None,
        pos_label=None,
        threshold=0.0,
        probability=False,
        cv=5,
        max_iter=100,
        n_jobs=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        super().__init__(
            C=C,
            start=start,
            T0=T0,
            cooling=cooling,
            tol=tol,
            newton_steps=newton_steps,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            loss=loss,
            class_weight=class_weight,
            pos_label=pos_label,
            threshold=threshold,
            probability=probability,
            cv=cv,
            max_iter=max_iter,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
        )
        self.n_witnesses = n_witnesses

    def _softening(self, task: Task) -> Softening:
        return SoftWitness(self.n_witnesses)

    def _start(self, task: Task, softening: Softening) -> Array:
        if self.start == "mean":
            scores = mean_scores(task)[task.positive_rows]
            return ExactlyOne().map(scores, task.positive_offsets)
        return softening.start(task.positive_offsets)

    def _final(self, softening: Any, p: Array, offsets: Array) -> Array:
        return softening.witnesses(p, offsets, _NO_WITNESS)
