"""Markov networks of many instances: passes over the rows instead of a bundle method.

From the number of instances on at which linear models are swept (`bagwise.estimators.sweeping`),
two-class networks are minimized by `bagwise.solvers.soft_newton`, if their potential has a few
ranges of counts: dozens of passes where a bundle method takes thousands.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bagwise._typing import Array
from bagwise.designs import Dense
from bagwise.designs.linear import LARGEST_SYSTEM
from bagwise.models.markov.ranges import Ranges
from bagwise.models.markov.risk import MarkovRisk
from bagwise.models.markov.sweeps import NetworkLabels, SweptNetwork
from bagwise.procedures import Run
from bagwise.procedures.run import Callback, Journal
from bagwise.rowstores import memory
from bagwise.solvers.soft_newton import soft_newton, whole_start

STEPS = 300  # of a descent by passes, or of one that is not the user's own; dozens are usual
FEW_STEPS = STEPS // 10  # of a start: it proves nothing, and ten are usual


def is_swept(risk: MarkovRisk) -> bool:
    """Return whether a network is to be minimized by passes over its rows."""
    design = risk.instances.design
    return (
        risk.n_models == 1
        and isinstance(design, Dense)
        and design.n_rows >= memory.MANY_ROWS
        and design.n_coef <= LARGEST_SYSTEM
        and Ranges.of(risk.inference.potential, risk.inference.offsets) is not None
    )


def descend_by_passes(
    risk: MarkovRisk,
    alpha: float,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    max_steps: int = STEPS,
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
        max_passes=min(max_steps, STEPS),
        trained=trained,
        report=lambda objective, gap, passes: journal.add(
            objective=objective, gap=gap, solver_steps=float(passes)
        ),
    )
    found = replace(found, coef=_unpad(risk, found.coef))
    return Run(found, None, journal.records, found.converged)


def start_by_passes(risk: MarkovRisk, alpha: float, *, tol: float) -> Array:
    """Return the start in which all instances of a bag have its label."""
    found = whole_start(_network(risk, alpha), tol=tol, max_passes=FEW_STEPS)
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
