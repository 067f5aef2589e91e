"""One class against the rest: what a method of weighted rows sees, and what it keeps.

The functions that keep solutions, and score by them, are methods of `RowsClassifier` and
`RowsRegressor`, which have ``kernel``, ``_options``, ``_excused`` and ``_loss_weights``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from bagwise._typing import Array
from bagwise.assumptions.rules import Facts
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.designs import Design, matrix_design
from bagwise.errors import SCALE, Argument, Message
from bagwise.kernels import in_double
from bagwise.kernels.instance import rbf_slopes
from bagwise.losses import Loss
from bagwise.problems import Problem, is_in_doubt
from bagwise.procedures import Run
from bagwise.rows import Labels, Rows
from bagwise.rowstores import here
from bagwise.solvers import Solution, solve
from bagwise.tolerances import in_threads


@dataclass(frozen=True)
class Task:
    """One class against the rest: what a fit sees."""

    instances: Design | Rows  # all of them: vectors in memory, or rows that are passed over
    offsets: Array  # where each bag starts, (n_bags + 1,)
    positive: Array  # which bags are positive, (n_bags,)
    bag_weight: Array  # C times the weight of the bag, (n_bags,)
    loss: Loss
    C: float = 1.0  # the factor inside ``bag_weight``
    priors: Array | None = None  # expected fraction of positives in each bag, (n_bags,)
    known: Array | None = None  # of instances: 1 and -1 for known labels, 0 for others

    @property
    def design(self) -> Design:
        """The instances as vectors in memory."""
        if isinstance(self.instances, Rows):
            raise TypeError("These rows are passed over: there are no vectors of their length.")
        return self.instances

    @property
    def rows(self) -> Rows | None:
        """The instances as rows that are passed over, or None."""
        return self.instances if isinstance(self.instances, Rows) else None

    @cached_property
    def in_positive(self) -> Array:
        """Whether an instance belongs to a positive bag, (n_instances,)."""
        return expand(self.positive, self.offsets)

    @cached_property
    def positive_rows(self) -> Array:
        """Row numbers of the instances of positive bags."""
        return np.flatnonzero(self.in_positive)

    @cached_property
    def positive_offsets(self) -> Array:
        """Offsets of the positive bags within `positive_rows`."""
        return np.concatenate([[0], np.cumsum(np.diff(self.offsets)[self.positive])])

    @cached_property
    def weight(self) -> Array:
        """C times the weight of each instance's bag, (n_instances,)."""
        return expand(self.bag_weight, self.offsets)

    def label(self, fraction: Array | None = None, given: Array | None = None) -> Labels:
        """Return what passes over the rows know of the bags.

        ``fraction`` is the expected fraction of positives of every bag, ``given`` a first
        assignment of all instances.
        """
        return Labels(self.positive, self.bag_weight, self.C, fraction, given, self.known)

    def facts(self, fraction: Array | None = None) -> Facts:
        """Return what rules know of positive bags beside their scores; ``fraction`` as above."""
        shares = None if fraction is None else fraction[self.positive]
        known = None if self.known is None else self.known[self.positive_rows]
        return Facts(shares, None, known)

    @property
    def bag_labels(self) -> Array:
        """The assignment in which instances have their own label if known, else their bag's."""
        return self.spread(self.facts().overrule(np, np.ones(len(self.positive_rows))))

    def spread(self, of_positive_bags: Array) -> Array:
        """Place one value per instance of positive bags among zeros for all instances."""
        values = np.zeros(len(self.weight))
        values[self.positive_rows] = of_positive_bags
        return values

    def problem(self, p: Array, rest_is_negative: bool) -> Problem:
        """Return the two-sided problem in which instance k is positive with weight p_k.

        Instances of negative bags are negative; those of positive bags are negative with weight
        1 - p_k, or drop out unless they are known to be.
        """
        rest = (1 - p[self.positive_rows]) * self.facts().rest(rest_is_negative)
        negative = np.ones(len(p))
        negative[self.positive_rows] = rest
        return Problem(self.design, self.weight * p, self.weight * negative, self.loss)


def mean_scores(task: Task) -> Array:
    """Score all instances by the classifier in which a positive bag is its mean."""
    means, problem = combined_problem(task, mean_shares(task))
    solution = solve(problem)
    return task.design @ task.design.lift(means, solution.coef)


def combined_problem(task: Task, shares: Array) -> tuple[Any, Problem]:
    """Return combinations of instances and the problem in which they stand for positive bags.

    ``shares`` has one value per instance of the positive bags; rows as in `combinations_of`.
    """
    combinations, is_bag = combinations_of(task, shares)
    weight = np.concatenate([task.bag_weight[task.positive], task.weight[~task.in_positive]])
    design = task.design.aggregate(combinations)
    return combinations, Problem(design, weight * is_bag, weight * ~is_bag, task.loss)


def combinations_of(task: Task, shares: Array) -> tuple[Any, Array]:
    """Return a combination (CSR) for each positive bag, then each negative instance."""
    n_bags, negatives = len(task.positive_offsets) - 1, np.flatnonzero(~task.in_positive)
    used = np.flatnonzero(shares)
    bag = expand(np.arange(n_bags), task.positive_offsets)[used]
    rows = np.concatenate([bag, n_bags + np.arange(len(negatives))])
    columns = np.concatenate([task.positive_rows[used], negatives])
    values = np.concatenate([shares[used], np.ones(len(negatives))])
    shape = (n_bags + len(negatives), len(task.weight))
    is_bag = np.arange(shape[0]) < n_bags
    return sp.csr_array((values, (rows, columns)), shape=shape), is_bag


def mean_shares(task: Task) -> Array:
    """Return the shares with which the instances of positive bags make up the bags' means."""
    return expand(1 / np.diff(task.positive_offsets), task.positive_offsets)


def lift(task: Task, combinations: Any, solution: Solution) -> Solution:
    """Express a solution found on combinations of instances on the instances."""
    coef = task.design.lift(combinations, solution.coef)
    scores = task.design @ coef + solution.intercept
    return replace(solution, coef=coef, scores=scores, dual=combinations.T @ solution.dual)


def as_given(fit: Run, design: Design | Rows) -> Run:
    """Express a solution in the features, or in the kernel values, as they were given."""
    coef, intercept = design.as_given(fit.solution.coef, fit.solution.intercept)
    return replace(fit, solution=replace(fit.solution, coef=coef, intercept=intercept))


def stack_models(of_models: Any) -> Array:
    """Return one row per model, or the only one as it is."""
    return np.stack(of_models) if len(of_models) > 1 else of_models[0]


def rows_of(bags: Bags, selected: Array) -> Array:
    """Return the row numbers of some bags."""
    member = np.zeros(len(bags), dtype=bool)
    member[selected] = True
    return np.flatnonzero(expand(member, bags.offsets))


def take_columns(X: Any, columns: Array) -> Array:
    """Return some columns of kernel values as a contiguous array."""
    taken = X[:, columns]
    return taken.toarray() if sp.issparse(taken) else np.ascontiguousarray(taken)


def kernel_columns(bags: Bags) -> Array:
    """Return the column of the precomputed kernel that belongs to each instance: its id."""
    ids = bags.instance_ids
    if ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() >= bags.n_features:
        raise ValueError(
            "With kernel='precomputed' the columns of bags.X are instances, numbered by "
            f"instance_ids: these must be integers from 0 to {bags.n_features - 1}."
        )
    return ids


_LIMITS = ("max_iter", "annealing__max_inner")  # of iterations; a method has one of them
BLOCK_VALUES = 1 << 22  # 32 MiB of kernel values or distances at a time when scoring


def keep_solutions(model: Any, fits: list[Any]) -> Array:
    """Keep everything but the coefficients and the weights of instances; warn; return coef."""
    solutions = [fit.solution for fit in fits]
    model.intercept_ = np.array([solution.intercept for solution in solutions])
    model.objective_ = np.array([solution.objective for solution in solutions])
    model.gap_ = np.array([solution.gap for solution in solutions])
    model.n_iter_ = max(len(fit.history) for fit in fits)
    model.history_ = [fit.history for fit in fits] if len(fits) > 1 else fits[0].history
    if fits[0].starts:
        model.starts_ = [fit.starts for fit in fits] if len(fits) > 1 else fits[0].starts
    for fit in fits:
        model._warn(fit)
    return np.stack([solution.coef for solution in solutions])


def keep_support(model: Any, bags: Bags, coef: Array) -> None:
    """Keep the rows with coefficients."""
    model.support_ = np.flatnonzero(np.any(coef != 0, axis=0))
    model.dual_coef_ = coef[:, model.support_]
    if model.kernel == "precomputed":
        model.support_columns_ = kernel_columns(bags)[model.support_]
    else:
        support = here(bags.X[model.support_])
        # Coefficients of landmarks are large and of both signs: they cancel in float64 only.
        model.support_vectors_ = support if model._options.approx is None else in_double(support)


def warn_of_doubt(model: Any, fit: Any) -> None:
    """Warn where the last convex problem may not be solved."""
    solution, stopped = fit.solution, not fit.converged
    objective, gap = solution.objective, solution.gap
    flags = {"converged": solution.converged, "at_zero": solution.at_zero}
    if not is_in_doubt(objective, gap, stopped=stopped, tol=model._excused, **flags):
        return
    what, more = "the solver", ""
    if stopped:
        name = next(each for each in _LIMITS if each in (known := model.get_params()))
        what, more = f"{name}={known[name]}", "raise it, "
    message = Message(
        f"{type(model).__name__} was stopped by {what} before it converged: the last convex "
        f"problem has objective {objective:.6g} and duality gap {gap:.2g}. "
        f"Remedies: {more}scale the features with ",
        SCALE,
        f", lower {model._loss_weights}.",
    )
    warnings.warn(message, ConvergenceWarning, stacklevel=2)


def warn_stopped(
    model: Any, by: str, objective: float, *remedy: str | Argument, gap: float | None = None
) -> None:
    """Warn that something ended a fit before it converged."""
    proven = "" if gap is None else f", gap {gap:.2g}"
    what = f"{type(model).__name__} was stopped by {by} before it converged: objective "
    message = Message(f"{what}{objective:.6g}{proven}. ", *remedy)
    warnings.warn(message, ConvergenceWarning, stacklevel=3)


def score_instances(model: Any, bags: Bags) -> Array:
    """Return the raw scores of instances, one column per model."""
    if model.kernel == "linear":
        return matrix_design(bags.X).scores_of_many(model.coef_) + model.intercept_
    rows = max(1, BLOCK_VALUES // max(1, len(model.support_)))
    blocks = range(0, bags.n_instances, rows)

    def score_block(first: int) -> Array:
        return model._kernel_rows(here(bags.X[first : first + rows])) @ model.dual_coef_.T

    parts = in_threads(score_block, blocks, model.n_jobs)
    return np.concatenate(parts).astype(np.float64) + model.intercept_


def find_slopes(model: Any, X: Any, column: int) -> Array | None:
    """Return the slopes of a model's scores at rows; None where the kernel has none."""
    if model.kernel == "linear":
        return np.broadcast_to(model.coef_[column], X.shape)
    if model.kernel != "rbf":
        return None
    return rbf_slopes(model.kernel_, X, model.support_vectors_, model.dual_coef_[column])


def compare_with_support(model: Any, X: Any) -> Array:
    """Return the kernel between rows and the support vectors."""
    if model.kernel == "precomputed":
        return take_columns(X, model.support_columns_)
    X = X if model._options.approx is None else in_double(X)
    return model.kernel_(X, model.support_vectors_)
