"""The descents of a Markov network: where they begin, by what they go, and how fine they are.

From w = 0 a network with three classes or more does not move: every class ties, every subgradient
cancels. The starts here break the tie by the bags themselves.

From 50,000 instances on, two-class networks are minimized by `bagwise.solvers.soft_newton`, if
their potential has a few ranges of counts: dozens of passes over the rows where a bundle method
takes thousands. Starts, and classes against the rest, share passes. Networks that learn weights of
counts have minima far apart, and neither method finds the lower one as a rule: both run, unless the
rows are too large for the bundle method, and a warning says first what the passes may cost.

The bundle methods stop at a gap relative to the objective. Where alpha is large, or the bags say
little, everything that can be gained over w = 0 is smaller than that, and a descent may end at
w = 0 although others lie below. So descents whose gain is small against the objective are repeated
with a tolerance in proportion to the gain.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from bagwise._typing import Array
from bagwise.assumptions import AtLeastPotential, CountInference
from bagwise.bags.segments import expand
from bagwise.designs import Dense, matrix_design
from bagwise.designs.linear import LARGEST_SYSTEM
from bagwise.errors import Message, Parameter
from bagwise.losses import SquaredHinge
from bagwise.models.markov.looks import NetworkLabels, NetworkProblem
from bagwise.models.markov.ranges import EXACT, Ranges
from bagwise.models.markov.risk import MarkovRisk
from bagwise.problems import Problem
from bagwise.procedures import Run
from bagwise.procedures.heldout import HeldOut
from bagwise.procedures.nrbm import restart_nrbm
from bagwise.procedures.run import Callback, Journal, together
from bagwise.rows import make_rows
from bagwise.solvers import solve
from bagwise.solvers.bundle import bmrm
from bagwise.solvers.soft_newton import Passes, Softness, soft_newton, whole_start
from bagwise.tolerances import PATIENCE

MANY_ROWS = 50_000  # from here on a bundle method costs more than the passes of Newton's
_BLOCK_BYTES = 1 << 23  # 8 MiB: a look does more beside products than those of other models
_BUNDLE_BYTES = 1 << 30  # 1 GiB: fewer are read from memory however often that is
_STEPS = 300  # of a descent by passes, or of one that is not the user's own; dozens are usual
_RAY = 10.0 ** np.arange(-3, 2.01, 0.25)  # lengths tried along a direction
_SMALL_WEIGHT = 0.1  # of bag features, which are other models' scores: the paper's value
_HELD_OUT = ("validation_score", "validation_loss", "stopped_early")  # of a record
_DESCENDING = "mean"  # the start to add where those given find nothing


_Records = list[dict[str, Any]]


# Passes over the rows -------------------------------------------------------------------------


def rows_of(risk: MarkovRisk) -> Any:
    """Return the rows that a network is trained by passes over; None if it is not.

    The one place that decides: two classes, many dense rows, and few ranges of counts.
    """
    design: Any = risk.instances.design
    inference = risk.inference
    by_passes = (
        risk.n_models == 1
        and not risk.by_bundle
        and isinstance(design, Dense)
        and design.n_rows >= MANY_ROWS
        and design.n_coef <= LARGEST_SYSTEM
        and Ranges.of(inference.potential, inference.offsets, kinds=_kinds(inference)) is not None
    )
    if not by_passes:
        return None
    return make_rows(design.X, inference.offsets, conditioned=False, block_bytes=_BLOCK_BYTES)


def _descend_by_passes(
    problem: NetworkProblem,
    risk: MarkovRisk,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    max_steps: int = _STEPS,
    trained: bool = False,
    callback: Callback | None = None,
) -> Passes[Run]:
    """Descend as `bagwise.procedures.nrbm.restart_nrbm` does, with passes as its steps.

    ``trained`` says that the start was trained under a simpler potential.
    """
    journal = Journal(callback)
    found = yield from soft_newton(
        problem,
        _pad(risk, start),
        tol=tol,
        max_iter=max_iter,
        max_passes=min(max_steps, _STEPS),
        trained=trained,
        report=lambda objective, gap, passes: journal.add(
            objective=objective, gap=gap, solver_steps=float(passes)
        ),
    )
    found = replace(found, coef=_unpad(risk, found.coef))
    return Run(found, None, journal.records, found.converged)


def _problem(risk: MarkovRisk, alpha: float) -> NetworkProblem | None:
    """Return what is minimized by passes; None where a bundle method takes over."""
    rows, instances, inference = rows_of(risk), risk.instances, risk.inference
    if rows is None:
        return None
    bags = inference.offsets, risk.codes == 1, risk.weight, risk.bag_features, _kinds(inference)
    labels = NetworkLabels.of(inference.potential, *bags)
    return NetworkProblem(rows, labels, instances.scale, instances.fit_intercept, alpha)


def _kinds(inference: CountInference) -> Array | None:
    return None if inference.kinds is None else inference.kinds[0]


def _pad(risk: MarkovRisk, w: Array) -> Array:
    """Return the weights with one of a constant feature."""
    return w if risk.instances.fit_intercept else np.insert(w, risk.instances.n_coef, 0.0)


def _unpad(risk: MarkovRisk, w: Array) -> Array:
    return w if risk.instances.fit_intercept else np.delete(w, risk.instances.n_coef)


# Starts ---------------------------------------------------------------------------------------


def _instances(risk: MarkovRisk, alpha: float, tol: float, seed: int) -> Passes[Array]:
    """One convex step from the labeling in which all instances of a bag are of its class."""
    problem = _problem(risk, alpha)
    if problem is not None:
        found = yield from whole_start(problem, tol=tol, max_passes=PATIENCE)
        return _unpad(risk, found.coef)
    return bmrm(risk.freeze(risk.whole_bags()), alpha, np.zeros(risk.n_coef), tol=tol).coef


def _from_fraction(
    positive_fraction: float, risk: MarkovRisk, alpha: float, tol: float, seed: int
) -> Passes[Array]:
    """Train with a rule on the fraction; counts that it forbids begin a margin below the others."""
    simple = risk.under(AtLeastPotential(positive_fraction))
    start = yield from _instances(simple, alpha, tol, seed)
    problem = _problem(simple, alpha)
    if problem is not None:
        limits: Any = {"tol": tol, "max_iter": 1, "max_steps": PATIENCE}
        run = yield from _descend_by_passes(problem, simple, start, **limits)
    else:
        run = restart_nrbm(simple, alpha, start, tol=tol, max_iter=_STEPS, max_steps=_STEPS)
    instance, sides, bag = simple.split(run.solution.coef)
    allowed = risk.inference.bins_allowed_by(simple.inference.potential)
    potential = np.where(allowed, sides[:, :, None], sides[:, :, None] - 1.0)  # (models, 2, bins)
    used = risk.inference.bins_allowed_by(risk.inference.potential)
    return np.hstack([instance, (potential * used).sum(axis=1), bag]).ravel()


def _mean(risk: MarkovRisk, alpha: float, tol: float, seed: int) -> Array:
    """Separate the bags' means by a linear SVM."""
    means = _bag_means(risk)
    if (
        rows_of(risk) is not None
    ):  # as many bags cost coordinate descent more than all passes together
        is_up = risk.codes == 1
        design = matrix_design(means)
        problem = Problem(design, risk.weight * is_up, risk.weight * ~is_up, SquaredHinge())
        found = solve(problem)
        return _along_ray(risk, alpha, found.coef[None], np.array([found.intercept]))
    # The dual problem always converges; the intercept is a feature of the network's own scale.
    svm = LinearSVC(dual=True, max_iter=20000, random_state=0)
    svm.fit(means, risk.codes, sample_weight=risk.weight)
    return _along_ray(risk, alpha, svm.coef_, svm.intercept_)


def _bag_features(risk: MarkovRisk, alpha: float, tol: float, seed: int) -> Array:
    """The paper's: w = 0, but for small positive weights of the bag features (its footnote 8)."""
    w = np.zeros(risk.n_coef)
    risk.split(w)[2][:] = _SMALL_WEIGHT  # views
    return w


_TRAINED = ("any", "half")  # those that are networks with a simpler potential

# They return weights, or the passes that lead to them.
STARTS: dict[str, Callable[[MarkovRisk, float, float, int], Array | Passes[Array]]] = {
    "instances": _instances,
    "any": partial(_from_fraction, 0.0),  # the weights of MIMN
    "half": partial(_from_fraction, 0.5),  # those of RMIMN
    "mean": _mean,
    # As small as the tolerance: learned weights are large beside it.
    "random": lambda risk, alpha, tol, seed: np.random.default_rng(seed).normal(
        scale=tol, size=risk.n_coef
    ),
    "bag_features": _bag_features,
    "zero": lambda risk, *_: np.zeros(risk.n_coef),
}


def begin(name: str, *problem: Any) -> Passes[Array]:
    """Return the weights of a start."""
    found = STARTS[name](*problem)
    return (yield from found) if isinstance(found, Generator) else found


def _bag_means(risk: MarkovRisk) -> Array:
    offsets = risk.inference.offsets
    sizes = np.diff(offsets)
    shares = sp.csr_array(
        (expand(1.0 / sizes, offsets), np.arange(offsets[-1]), offsets),
        shape=(len(sizes), offsets[-1]),
    )
    return risk.instances.combine(shares)


def _along_ray(risk: MarkovRisk, alpha: float, coef: Array, intercept: Array) -> Array:
    """Return the best multiple of a direction; an intercept is split over the two potentials."""
    w = np.zeros(risk.n_coef)
    instance, potential, _ = risk.split(w)  # views
    instance[:] = coef
    zero = risk.parts(risk.zero())
    sides = np.tile(np.array([-1.0, 1.0])[None, :, None], (risk.n_models, 1, len(risk.codes)))
    best = risk.inference.best(zero.instances, zero.potential)
    potential[:] = np.sign(risk.inference.bin_sums(best, sides)) * intercept[:, None] / 2
    z, norm = risk.forward(w), float(w @ w)
    lengths = np.append(_RAY, _short_steps(risk, z, alpha * norm))
    objectives = [risk.value(t * z) + alpha / 2 * t**2 * norm for t in lengths]
    return lengths[int(np.argmin(objectives))] * w


def _short_steps(risk: MarkovRisk, z: Array, curvature: float) -> Array:
    """Return the lengths below the fixed ones at which a descending ray has its minimum.

    Near 0 the risk is R(0) + t slope, so that t = -slope / (alpha |w|^2): as short as alpha is
    large.
    """
    tiny = np.sqrt(np.finfo(float).eps) / max(float(abs(z).max()), 1.0)
    slope = (risk.value(tiny * z) - risk.value(risk.zero())) / tiny
    around = _RAY[np.abs(np.log10(_RAY)) <= 1]
    lengths = -slope / curvature * around if slope < 0 else np.empty(0)
    return lengths[lengths < _RAY[0]]


# Descents -------------------------------------------------------------------------------------


def run_starts(
    names: Sequence[str],
    risk: MarkovRisk,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
    seed: int,
    callback: Callable[[dict[str, float]], None] | None = None,
    held: MarkovRisk | None = None,
    patience: int = 1,
) -> Passes[tuple[Run, _Records]]:
    """Descend from all starts side by side; return the lowest end, and a record of all.

    "mean" is added where the given starts end at the objective of w = 0, and ``tol`` becomes finer
    where little is gained. A record has the start's name, objective, gap and number of rounds, and
    the objective of w = 0. With ``held``, the risk of held-out bags, descents stop early, and the
    end with the best held-out score is returned.
    """

    problem = _problem(risk, alpha) if held is None else None
    learns = not isinstance(risk.inference.potential, AtLeastPotential)
    ways = [(risk, problem)]
    if problem is not None and learns:
        yield from _tell_cost(problem, len(names))
        ways += [(_for_bundle(risk), None)] * _is_small(risk)

    def run(name: str, tolerance: float, **limits: Any) -> Passes[Run]:
        found = yield from together(descend(*way, name, tolerance, **limits) for way in ways)
        return min(found, key=_rank)

    def descend(
        risk: MarkovRisk, problem: Any, name: str, tolerance: float, **limits: Any
    ) -> Passes[Run]:
        start = yield from begin(name, risk, alpha, tolerance, seed)
        common: Any = {"tol": tolerance, "max_iter": max_iter, "callback": callback, **limits}
        if problem is None:
            judge = _judge(held, patience)
            return restart_nrbm(risk, alpha, start, **common, held_out=judge)
        trained = learns and name in _TRAINED
        return (yield from _descend_by_passes(problem, risk, start, **common, trained=trained))

    zero, tolerance = risk.value(risk.zero()), tol
    found = yield from together(run(name, tol) for name in names)
    fits = list(zip(names, found, strict=True))
    best = _lowest(fits)
    if best.solution.objective >= zero and _DESCENDING not in names:
        fits.append((_DESCENDING, (yield from run(_DESCENDING, tol))))
        best = _lowest(fits)
    # Until the tolerance is a small part (the root of the one asked for) of what was gained.
    while (
        zero - best.solution.objective < tolerance / np.sqrt(tol) * zero
        and not best.history[-1].get("stopped_early", False)
        and tolerance > EXACT
        and best.converged
    ):
        share = (zero - best.solution.objective) / zero
        tolerance = max(tol * min(tolerance, share), EXACT)
        # What the asked tolerance found converged stays so: the finer one was not asked for.
        finer = yield from together(run(name, tolerance, max_steps=_STEPS) for name, _ in fits)
        fits = [(name, _lower(fit, fine)) for (name, fit), fine in zip(fits, finer, strict=True)]
        best = _lowest(fits)
    return best, [_record(name, fit, zero) for name, fit in fits]


def _tell_cost(problem: NetworkProblem, n_starts: int) -> Passes[None]:
    """Warn how long the descents may take, by the time of one pass over the rows."""
    zero, soft = np.zeros(len(problem.units)), Softness(1.0, 1.0)
    seconds = np.inf
    for _ in range(2):  # the first one may also compile
        began = perf_counter()
        yield from problem.look(zero, soft, soft, problem.centers)
        seconds = min(seconds, perf_counter() - began)
    message = Message(
        f"This network learns weights of counts by up to {_STEPS} passes over the rows per start: "
        f"up to {np.ceil(_STEPS * n_starts * seconds):,.0f} seconds of passes, as one takes "
        f"{seconds:.2g}. One start (",
        Parameter("init", "['any']"),
        ") takes less, and a network without learned weights (",
        Parameter("cardinality", "'any'"),
        ") dozens of passes.",
    )
    warnings.warn(message, UserWarning, stacklevel=2)


def _is_small(risk: MarkovRisk) -> bool:
    """Return whether a bundle method may read the rows hundreds of times; wherever they are."""
    X = risk.instances.design.X  # type: ignore[attr-defined]
    return X.shape[0] * X.shape[1] * X.dtype.itemsize <= _BUNDLE_BYTES


def _for_bundle(risk: MarkovRisk) -> MarkovRisk:
    found = copy(risk)
    found.by_bundle = True
    return found


def find_idle(records: _Records) -> list[Any]:
    """Name the classes (None for a joint problem) whose starts all end no lower than w = 0."""
    learned = {record.get("class") for record in records if _gains(record)}
    return list(dict.fromkeys(r.get("class") for r in records if r.get("class") not in learned))


def _gains(record: dict[str, Any]) -> bool:
    zero = record["objective_of_zero"]
    gained = zero == 0 or zero - record["objective"] > EXACT * zero
    return gained or record.get("stopped_early", False)


def _lowest(fits: list[tuple[str, Run]]) -> Run:
    return min((fit for _, fit in fits), key=_rank)


def _rank(fit: Run) -> tuple[float, float, float]:
    """Order ends by their held-out scores, where there are any, and by their objectives."""
    last = fit.history[-1]
    scores = -last.get("validation_score", 0.0), last.get("validation_loss", 0.0)
    return *scores, fit.solution.objective


def _judge(held: MarkovRisk | None, patience: int) -> HeldOut | None:
    """Return what judges iterates by the accuracy and the mean loss of held-out bags."""
    if held is None:
        return None

    def judge(coef: Array) -> tuple[float, float]:
        z = held.forward(coef)
        right = held.totals(z).argmax(axis=0) == held.codes
        return float(np.average(right, weights=held.weight)), held.value(z) / held.weight.sum()

    return HeldOut(judge, patience)


def _lower(coarse: Run, fine: Run) -> Run:
    lower = fine if _rank(fine) < _rank(coarse) else coarse
    return replace(lower, converged=coarse.converged or fine.converged)


def _record(name: str, fit: Run, zero: float) -> dict[str, Any]:
    return {
        "init": name,
        "objective": fit.solution.objective,
        "gap": fit.solution.gap,
        "rounds": len(fit.history),
        "objective_of_zero": zero,
        **{key: value for key, value in fit.history[-1].items() if key in _HELD_OUT},
    }
