"""Where the training of a Markov network begins.

From w = 0 a network with three classes or more does not move: every class ties, every subgradient
cancels. The starts here break the tie by the bags themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from bagwise._typing import Array
from bagwise.assumptions import AtLeastPotential
from bagwise.bags.segments import expand
from bagwise.designs import matrix_design
from bagwise.losses import SquaredHinge
from bagwise.models.markov.risk import MarkovRisk
from bagwise.models.markov.swept import (
    FEW_STEPS,
    STEPS,
    descend_by_passes,
    is_swept,
    start_by_passes,
)
from bagwise.problems import Problem
from bagwise.procedures.nrbm import restart_nrbm
from bagwise.solvers import solve
from bagwise.solvers.bundle import bmrm

_RAY = 10.0 ** np.arange(-3, 2.01, 0.25)  # lengths tried along a direction
_SMALL_WEIGHT = 0.1  # of bag features, which are other models' scores: the paper's value


def start_point(name: str, risk: MarkovRisk, alpha: float, tol: float, seed: int) -> Array:
    """Return the start of this name."""
    return STARTS[name](risk, alpha, tol, seed)


def _instances(risk: MarkovRisk, alpha: float, tol: float, seed: int) -> Array:
    """One convex step from the labeling in which all instances of a bag are of its class."""
    if is_swept(risk):
        return start_by_passes(risk, alpha, tol=tol)
    return bmrm(risk.freeze(risk.whole_bags()), alpha, np.zeros(risk.n_coef), tol=tol).coef


def _any(risk: MarkovRisk, alpha: float, tol: float, seed: int) -> Array:
    """Begin with the weights of MIMN."""
    return _from_fraction(risk, 0.0, alpha, tol)


def _half(risk: MarkovRisk, alpha: float, tol: float, seed: int) -> Array:
    """Begin with the weights of RMIMN at a fraction of 1/2."""
    return _from_fraction(risk, 0.5, alpha, tol)


def _from_fraction(risk: MarkovRisk, positive_fraction: float, alpha: float, tol: float) -> Array:
    """Train with a rule on the fraction; counts that it forbids begin a margin below the others."""
    simple = risk.under(AtLeastPotential(positive_fraction))
    start = _instances(simple, alpha, tol, 0)
    if is_swept(simple):
        run = descend_by_passes(simple, alpha, start, tol=tol, max_iter=1, max_steps=FEW_STEPS)
    else:
        run = restart_nrbm(simple, alpha, start, tol=tol, max_iter=STEPS, max_steps=STEPS)
    instance, sides, bag = simple.split(run.solution.coef)
    allowed = risk.inference.bins_allowed_by(simple.inference.potential)
    potential = np.where(allowed, sides[:, :, None], sides[:, :, None] - 1.0)  # (models, 2, bins)
    used = risk.inference.bins_used()
    return np.hstack([instance, (potential * used).sum(axis=1), bag]).ravel()


def _mean(risk: MarkovRisk, alpha: float, tol: float, seed: int) -> Array:
    """Separate the bags' means by a linear SVM."""
    means = _bag_means(risk)
    if is_swept(risk):  # as many bags cost coordinate descent more than all passes together
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


TRAINED = ("any", "half")  # those that are networks with a simpler potential

STARTS: dict[str, Callable[[MarkovRisk, float, float, int], Array]] = {
    "instances": _instances,
    "any": _any,
    "half": _half,
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
