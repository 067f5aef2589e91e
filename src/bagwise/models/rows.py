"""The common ground of the methods that weigh instances: one design, one two-sided problem a class.

`RowsClassifier` builds the design once, shares it between the classes (one-vs-rest), and turns
solutions into fitted attributes. A method adds ``_fit_binary(task)``; as it stands, every row takes
the label of its bag.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from bagwise.bags import Bags
from bagwise.base import BagClassifier
from bagwise.designs import Design, Gram, matrix_design
from bagwise.kernels import check_kernel_matrix, gram_matrix
from bagwise.losses import get_loss
from bagwise.problems import Problem
from bagwise.segments import expand
from bagwise.solvers import Solution, solve
from bagwise.tags import BagTags

__all__ = ["BinaryFit", "RowsClassifier", "Task"]

Array = NDArray[Any]

_BLOCK_VALUES = 1 << 22


@dataclass(frozen=True)
class Task:
    """One class against the rest: what ``_fit_binary`` sees.

    Attributes
    ----------
    design : Design
        All training instances.
    offsets : ndarray of shape (n_bags + 1,)
        Where each bag starts.
    positive : ndarray of bool of shape (n_bags,)
        Which bags are positive.
    weight : ndarray of shape (n_instances,)
        C times the weight of the instance's bag.
    loss : Loss
        The margin loss.
    C : float
        The factor inside ``weight``.
    priors : ndarray of shape (n_bags,) or None
        Expected fraction of positives in each bag.
    """

    design: Design
    offsets: Array
    positive: Array
    weight: Array
    loss: Any
    C: float = 1.0
    priors: Array | None = None

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
    def positive_bag_weight(self) -> Array:
        """Weight of each positive bag, without C."""
        return self.weight[self.offsets[:-1][self.positive]] / self.C

    def spread(self, of_positive_bags: Array) -> Array:
        """Place one value an instance of positive bags among zeros for all instances."""
        values = np.zeros(len(self.weight))
        values[self.positive_rows] = of_positive_bags
        return values

    def problem(self, p: Array, rest_is_negative: bool) -> Problem:
        """Return the two-sided problem in which instance k is positive with weight p_k.

        Instances of negative bags are negative; those of positive bags are negative with weight
        1 - p_k, or drop out.
        """
        negative = np.where(self.in_positive, (1 - p) if rest_is_negative else 0.0, 1.0)
        return Problem(self.design, self.weight * p, self.weight * negative, self.loss)


@dataclass(frozen=True)
class BinaryFit:
    """What ``_fit_binary`` returns."""

    solution: Solution
    instance_weights: Array
    history: list[dict[str, Any]]
    converged: bool


class RowsClassifier(BagClassifier):
    """Kernel or linear max-margin classifier over weighted instances.

    Those with outer iterations add ``max_iter``.
    """

    _loss_weights = "C"  # the parameters that weigh the losses, for messages

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BagClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions({"linear", "rbf", "poly", "precomputed"}), callable],
        "gamma": [StrOptions({"median", "scale"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "loss": [StrOptions({"squared_hinge", "hinge"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        C=1.0,
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
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.class_weight = class_weight
        self.pos_label = pos_label
        self.threshold = threshold
        self.probability = probability
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __bag_tags__(self) -> BagTags:
        """Say what this estimator can do; libsvm stops earlier than Newton."""
        return replace(super().__bag_tags__(), tolerance=1e-4 if self.loss == "hinge" else 1e-6)

    def _fit_binary(self, task: Task) -> BinaryFit:
        """Solve one problem in which every row takes its bag's label."""
        p = 1.0 * task.in_positive
        solution = solve(task.problem(p, rest_is_negative=False))
        record = {"objective": solution.objective, "gap": solution.gap}
        self._report(record)
        return BinaryFit(solution, p, [record], True)

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        row_weight = self.C * expand(weight, bags.offsets)
        self._fit_on(self._design(bags, row_weight), bags, codes, weight)

    def _fit_on(self, design: Design, bags: Bags, codes: Array, weight: Array) -> None:
        """Fit all classes on a design that may be shared with other fits."""
        jobs = Parallel(n_jobs=self.n_jobs, prefer="threads")
        tasks = self._tasks(design, bags, codes, weight)
        self._keep(bags, jobs(delayed(self._fit_binary)(task) for task in tasks))

    def _tasks(self, design: Design, bags: Bags, codes: Array, weight: Array) -> list[Task]:
        # A bag without weight is no positive bag: its instances must not steer the assignments.
        truth = self._truth(codes) & (weight > 0)[:, None]
        row_weight = self.C * expand(weight, bags.offsets)
        loss = self._loss()
        return [
            Task(design.twin(), bags.offsets, column, row_weight, loss, self.C, bags.priors)
            for column in truth.T
        ]

    def _loss(self) -> Any:
        return get_loss(self.loss)

    def _design(self, bags: Bags, row_weight: Array) -> Design:
        if self.kernel == "linear":
            return matrix_design(bags.X)
        if self.kernel == "precomputed":
            return Gram(check_kernel_matrix(_columns(bags.X, _column_numbers(bags))))
        self.kernel_, K = gram_matrix(
            bags.X,
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            weights=row_weight,
            random_state=check_random_state(0 if self.random_state is None else self.random_state),
        )
        return Gram(K)

    # After the fit -------------------------------------------------------------------------------

    def _keep(self, bags: Bags, fits: list[BinaryFit]) -> None:
        """Turn solutions into fitted attributes."""
        solutions = [fit.solution for fit in fits]
        coef = np.stack([solution.coef for solution in solutions])
        self.intercept_ = np.array([solution.intercept for solution in solutions])
        if self.kernel == "linear":
            self.coef_ = coef
        else:
            self._keep_support(bags, coef)
        self.objective_ = np.array([solution.objective for solution in solutions])
        self.gap_ = np.array([solution.gap for solution in solutions])
        self.n_iter_ = max(len(fit.history) for fit in fits)
        several = len(fits) > 1
        self.history_ = [fit.history for fit in fits] if several else fits[0].history
        p = [fit.instance_weights for fit in fits]
        self.instance_weights_ = np.stack(p) if several else p[0]
        for fit in fits:
            self._warn(fit)

    def _keep_support(self, bags: Bags, coef: Array) -> None:
        self.support_ = np.flatnonzero(np.any(coef != 0, axis=0))
        self.dual_coef_ = coef[:, self.support_]
        if self.kernel == "precomputed":
            self.support_columns_ = _column_numbers(bags)[self.support_]
        else:
            self.support_vectors_ = bags.X[self.support_]

    def _warn(self, fit: BinaryFit) -> None:
        if fit.converged and fit.solution.converged:
            return
        what, more = "the solver", ""
        if not fit.converged:
            what, more = f"max_iter={self.max_iter}", "raise it, "
        solution = fit.solution
        warnings.warn(
            f"{type(self).__name__} was stopped by {what} before it converged: the last convex "
            f"problem has objective {solution.objective:.6g} and duality gap {solution.gap:.2g}. "
            f"Remedies: {more}scale the features, lower {self._loss_weights}.",
            ConvergenceWarning,
            stacklevel=2,
        )

    def _report(self, record: dict[str, Any]) -> None:
        """Print one line an outer iteration when verbose."""
        if self.verbose:
            numbers = "  ".join(f"{k} {v:.6g}" for k, v in record.items())
            print(f"[{type(self).__name__}] {numbers}")

    def _instance_scores(self, bags: Bags) -> Array:
        if self.kernel == "linear":
            design = matrix_design(bags.X)
            columns = [design @ coef for coef in self.coef_]
            return np.stack(columns, axis=1) + self.intercept_
        rows = max(1, _BLOCK_VALUES // max(1, len(self.support_)))
        blocks = range(0, bags.n_instances, rows)
        parts = [self._kernel_rows(bags.X[i : i + rows]) @ self.dual_coef_.T for i in blocks]
        return np.concatenate(parts).astype(np.float64) + self.intercept_

    def _kernel_rows(self, X: Any) -> Array:
        if self.kernel == "precomputed":
            return _columns(X, self.support_columns_)
        return self.kernel_(X, self.support_vectors_)


def _columns(X: Any, columns: Array) -> Array:
    taken = X[:, columns]
    return taken.toarray() if sp.issparse(taken) else np.ascontiguousarray(taken)


def _column_numbers(bags: Bags) -> Array:
    """Return the column of the precomputed kernel that belongs to each instance: its id."""
    ids = bags.instance_ids
    if ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() >= bags.n_features:
        raise ValueError(
            "With kernel='precomputed' the columns of bags.X are instances, numbered by "
            f"instance_ids: these must be integers from 0 to {bags.n_features - 1}."
        )
    return ids
