"""One class against the rest: what a method of weighted rows sees, and combinations of its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.assumptions.rules import Facts
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.designs import Design
from bagwise.losses import Loss
from bagwise.problems import Problem
from bagwise.procedures import Run
from bagwise.rows import Labels, Rows
from bagwise.solvers import Solution, solve


@dataclass(frozen=True)
class Task:
    """One class against the rest: what ``_fit_binary`` sees.

    Attributes
    ----------
    instances : Design or Rows
        All training instances: vectors in memory, or rows that are passed over.
    offsets : ndarray of shape (n_bags + 1,)
        Where each bag starts.
    positive : ndarray of bool of shape (n_bags,)
        Which bags are positive.
    bag_weight : ndarray of shape (n_bags,)
        C times the weight of the bag.
    loss : Loss
        The margin loss.
    C : float
        The factor inside ``bag_weight``.
    priors : ndarray of shape (n_bags,) or None
        Expected fraction of positives in each bag.
    known : ndarray of shape (n_instances,) or None
        1 for known positives, -1 for known negatives, 0 for the other instances.
    """

    instances: Design | Rows
    offsets: Array
    positive: Array
    bag_weight: Array
    loss: Loss
    C: float = 1.0
    priors: Array | None = None
    known: Array | None = None

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

    @cached_property
    def positive_bag_weight(self) -> Array:
        """Weight of each positive bag, without C."""
        return self.bag_weight[self.positive] / self.C

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


def prepare_squared(design: Design, loss: str, row_weight: Array) -> None:
    """Prepare a design for squared hinges with these weights on both labels of every row."""
    if loss == "squared_hinge" and not design.prepared:
        design.prepare(2 * row_weight)


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
