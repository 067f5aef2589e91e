"""The descents of a Markov network: where they begin, by what they go, and how fine they are.

From w = 0 a network with three classes or more does not move: every class ties, every subgradient
cancels. The starts here break the tie by the bags themselves.

From the number of instances on at which linear models are swept (`bagwise.estimators.sweeping`),
two-class networks are minimized by `bagwise.solvers.soft_newton`, if their potential has a few
ranges of counts: dozens of passes over the rows where a bundle method takes thousands.

The bundle methods stop at a gap relative to the objective. Where alpha is large, or the bags say
little, everything that can be gained over w = 0 is smaller than that, and a descent may end at
w = 0 although others lie below. So descents whose gain is small against the objective are repeated
with a tolerance in proportion to the gain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from bagwise._typing import Array
from bagwise.assumptions import AtLeastPotential
from bagwise.bags.segments import expand
from bagwise.designs import Dense, matrix_design
from bagwise.designs.linear import LARGEST_SYSTEM
from bagwise.losses import SquaredHinge
from bagwise.models.markov.ranges import EXACT, Ranges
from bagwise.models.markov.risk import MarkovRisk
from bagwise.models.markov.sweeps import NetworkLabels, SweptNetwork
from bagwise.problems import Problem
from bagwise.procedures import Run
from bagwise.procedures.heldout import HeldOut
from bagwise.procedures.nrbm import restart_nrbm
from bagwise.procedures.run import Callback, Journal
from bagwise.rowstores import blocks
from bagwise.solvers import solve
from bagwise.solvers.bundle import bmrm
from bagwise.solvers.soft_newton import soft_newton, whole_start
from bagwise.tolerances import PATIENCE

_STEPS = 300  # of a descent by passes, or of one that is not the user's own; dozens are usual
_RAY = 10.0 ** np.arange(-3, 2.01, 0.25)  # lengths tried along a direction
_SMALL_WEIGHT = 0.1  # of bag features, which are other models' scores: the paper's value
_HELD_OUT = ("validation_score", "validation_loss", "stopped_early")  # of a record
_DESCENDING = "mean"  # the start to add where those given find nothing


_Records = list[dict[str, Any]]


# Passes over the rows -------------------------------------------------------------------------


def _is_swept(risk: MarkovRisk) -> bool:
    """Return whether a network is to be minimized by passes over its rows."""
    design = risk.instances.design
    return (
        risk.n_models == 1
        and isinstance(design, Dense)
        and design.n_rows >= blocks.MANY_ROWS
        and design.n_coef <= LARGEST_SYSTEM
        and Ranges.of(risk.inference.potential, risk.inference.offsets) is not None
    )


def _descend_by_passes(
    risk: MarkovRisk,
    alpha: float,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    max_steps: int = _STEPS,
    trained: bool = False,
    callback: Callback | None = None,
) -> Run:
    """Descend as `bagwise.procedures.nrbm.restart_nrbm` does, with passes as its steps.

    ``trained`` says that the start was trained under a simpler potential.
    """
    journal = Journal(callback)
    found = soft_newton(
        _network(risk, alpha),
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


def _start_by_passes(risk: MarkovRisk, alpha: float, *, tol: float) -> Array:
    """Return the start in which all instances of a bag have its label."""
    found = whole_start(_network(risk, alpha), tol=tol, max_passes=PATIENCE)
    return _unpad(risk, found.coef)


def _network(risk: MarkovRisk, alpha: float) -> SweptNetwork:
    instances, inference = risk.instances, risk.inference
    bags = inference.offsets, risk.codes == 1, risk.weight
    labels = NetworkLabels(*bags, 1.0, False, inference.potential, risk.bag_features)
    return SweptNetwork(instances.design, labels, instances.scale, instances.fit_intercept, alpha)


def _pad(risk: MarkovRisk, w: Array) -> Array:
    """Return the weights with one of a constant feature."""
    return w if risk.instances.fit_intercept else np.insert(w, risk.instances.n_coef, 0.0)


def _unpad(risk: MarkovRisk, w: Array) -> Array:
    return w if risk.instances.fit_intercept else np.delete(w, risk.instances.n_coef)


# Starts ---------------------------------------------------------------------------------------


def _instances(risk: MarkovRisk, alpha: float, tol: float, seed: int) -> Array:
    """One convex step from the labeling in which all instances of a bag are of its class."""
    if _is_swept(risk):
        return _start_by_passes(risk, alpha, tol=tol)
    return bmrm(risk.freeze(risk.whole_bags()), alpha, np.zeros(risk.n_coef), tol=tol).coef


def _from_fraction(
    positive_fraction: float, risk: MarkovRisk, alpha: float, tol: float, seed: int
) -> Array:
    """Train with a rule on the fraction; counts that it forbids begin a margin below the others."""
    simple = risk.under(AtLeastPotential(positive_fraction))
    start = _instances(simple, alpha, tol, seed)
    if _is_swept(simple):
        run = _descend_by_passes(simple, alpha, start, tol=tol, max_iter=1, max_steps=PATIENCE)
    else:
        run = restart_nrbm(simple, alpha, start, tol=tol, max_iter=_STEPS, max_steps=_STEPS)
    instance, sides, bag = simple.split(run.solution.coef)
    allowed = risk.inference.bins_allowed_by(simple.inference.potential)
    potential = np.where(allowed, sides[:, :, None], sides[:, :, None] - 1.0)  # (models, 2, bins)
    used = risk.inference.bins_used()
    return np.hstack([instance, (potential * used).sum(axis=1), bag]).ravel()


def _mean(risk: MarkovRisk, alpha: float, tol: float, seed: int) -> Array:
    """Separate the bags' means by a linear SVM."""
    means = _bag_means(risk)
    if _is_swept(risk):  # as many bags cost coordinate descent more than all passes together
        is_up = risk.codes == 1
        design = matrix_design(means)
        problem = Problem(design, risk.weight * is_up, risk.weight * ~is_up, SquaredHinge())
        found = solve(problem)
        return _along_ray(risk, alpha, found.coef[None], np.array([found.intercept]))
    # The dual problem always converges; the intercept is a feature of the network's own scale.
    svm = LinearSVC(dual=True, max_iter=20000, random_state=0)
    svm.fit(means, risk.codes, sample_weight=risk.weight)
    return _along_ray(risk, alpha, svm.coef_, svm.intercept_)


def _random(risk: MarkovRisk, alpha: float, tol: float, seed: int) -> Array:
    """Draw weights as small as the tolerance, beside which learned ones are large."""
    return np.random.default_rng(seed).normal(scale=tol, size=risk.n_coef)


def _bag_features(risk: MarkovRisk, alpha: float, tol: float, seed: int) -> Array:
    """The paper's: w = 0, but for small positive weights of the bag features (its footnote 8)."""
    w = np.zeros(risk.n_coef)
    risk.split(w)[2][:] = _SMALL_WEIGHT  # views
    return w


def _zero(risk: MarkovRisk, alpha: float, tol: float, seed: int) -> Array:
    return np.zeros(risk.n_coef)


_TRAINED = ("any", "half")  # those that are networks with a simpler potential

STARTS: dict[str, Callable[[MarkovRisk, float, float, int], Array]] = {
    "instances": _instances,
    "any": partial(_from_fraction, 0.0),  # the weights of MIMN
    "half": partial(_from_fraction, 0.5),  # those of RMIMN
    "mean": _mean,
    "random": _random,
    "bag_features": _bag_features,
    "zero": _zero,
}


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
) -> tuple[Run, _Records]:
    """Descend from every start; return the lowest end, and a record of all.

    "mean" is added where the given starts end at the objective of w = 0, and ``tol`` becomes finer
    where little is gained. A record has the start's name, objective, gap and number of rounds, and
    the objective of w = 0. With ``held``, the risk of held-out bags, descents stop early, and the
    end with the best held-out score is returned.
    """

    def run(name: str, tolerance: float, **limits: Any) -> Run:
        start = STARTS[name](risk, alpha, tolerance, seed)
        common: Any = {"tol": tolerance, "max_iter": max_iter, "callback": callback}
        if held is None and _is_swept(risk):
            learns = not isinstance(risk.inference.potential, AtLeastPotential)
            trained = learns and name in _TRAINED
            return _descend_by_passes(risk, alpha, start, **common, trained=trained, **limits)
        judge = _judge(held, patience)
        return restart_nrbm(risk, alpha, start, **common, held_out=judge, **limits)

    zero, tolerance = risk.value(risk.zero()), tol
    fits = [(name, run(name, tol)) for name in names]
    best = _lowest(fits)
    if best.solution.objective >= zero and _DESCENDING not in names:
        fits.append((_DESCENDING, run(_DESCENDING, tol)))
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
        finer = [run(name, tolerance, max_steps=_STEPS) for name, _ in fits]
        fits = [(name, _lower(fit, fine)) for (name, fit), fine in zip(fits, finer, strict=True)]
        best = _lowest(fits)
    return best, [_record(name, fit, zero) for name, fit in fits]


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
