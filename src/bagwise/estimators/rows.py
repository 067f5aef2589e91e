"""The common ground of the methods that weigh instances: one design, one problem per class.

`RowsClassifier` builds the design once, shares it between the classes (one-vs-rest), and turns
solutions into fitted attributes. A method adds ``_fit_binary(task)``, ``_loss()`` and
``_loss_weight()``. `MarginClassifier` adds the parameters ``C`` and ``loss`` and, as it stands,
gives every row the label of its bag.

`RowsClassifier.fit_on_design` is the seam for whoever fits several models to the same instances
(searches, paths, the benchmark): validate once with ``_validated``, make one design with
``_design``, then learn on it as often as needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.crossfit import in_order
from bagwise.designs import (
    Design,
    Gram,
    Iterative,
    conditioned_design,
    kernel_design,
    matrix_design,
)
from bagwise.errors import SCALE, Message
from bagwise.estimators.approximation import KernelApproximation
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.params import (
    ClassWeightParameter,
    CParameter,
    LossParameter,
    ProgressParameters,
)
from bagwise.estimators.paths import Paths
from bagwise.estimators.sweeping import is_swept, solve_bag_labels
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import Task
from bagwise.estimators.weights import class_weights
from bagwise.kernels import Kernel, check_kernel_matrix, gram_matrix, in_double
from bagwise.kernels.instance import rbf_slopes, settle_gamma
from bagwise.losses import get_loss
from bagwise.procedures import Run
from bagwise.rowstores import here, memory
from bagwise.rowstores.device import DeviceRows
from bagwise.rowstores.together import side_by_side
from bagwise.solvers import Solution, solve

_LIMITS = ("max_iter", "annealing__max_inner")  # of iterations; a method has one of them
_BLOCK_VALUES = 1 << 22  # 32 MiB of kernel values at a time when scoring


@dataclass(frozen=True)
class _Shared:
    """The kernel matrix of a fit, for the folds of its calibration."""

    design: Gram
    offsets: Array
    weight: Array  # of the bags, which may have been prepared for

    def part(self, bags: Array, weight: Array | None = None) -> _Shared:
        """Return some bags, with what was prepared unless they weigh something else there."""
        weight = self.weight if weight is None else weight
        same = np.array_equal(weight[bags], self.weight[bags])
        design: Any = self.design.twin() if same else self.design.fresh()
        rows = np.flatnonzero(expand(bags, self.offsets))
        sizes = np.diff(self.offsets)[bags]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return _Shared(design.subset(rows), offsets, weight[bags])


class RowsClassifier(Paths, KernelApproximation, BagClassifier, ProgressParameters):
    """Kernel or linear classifier over weighted instances.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, n_features)
        Weight vectors, with ``kernel="linear"``.
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
        Dual coefficients of the support vectors, with other kernels.
    support_ : ndarray of int of shape (n_support,)
        Row numbers of the support vectors among the training instances.
    support_vectors_ : ndarray of shape (n_support, n_features)
        The support vectors.
    intercept_ : ndarray of shape (1 or n_classes,)
        Intercepts.
    objective_ : ndarray of shape (1 or n_classes,)
        The objective reached.
    gap_ : ndarray of shape (1 or n_classes,)
        Certificate: the last convex problem is proven to be solved within this distance of its
        optimal objective. A gap that is not small beside ``objective_`` comes with a warning.
    n_iter_ : int
        Number of outer iterations (the maximum over classes).
    history_ : list of dict
        One record per outer iteration (one such list per class for three classes or more).
    instance_weights_ : ndarray of shape (n_instances,) or (n_classes, n_instances)
        Weight of each training instance as a positive.
    """

    _linear_design = staticmethod(conditioned_design)  # by whether the intercept is penalized
    _loss_weights = "C"  # the parameters that weigh the losses, for messages

    # What a method adds --------------------------------------------------------------------------

    def _fit_binary(self, task: Task) -> Run:
        raise NotImplementedError

    def _loss(self) -> Any:
        raise NotImplementedError

    def _loss_weight(self) -> float:
        """Return the factor of all losses of instances."""
        raise NotImplementedError

    def _prepare(self, design: Design, row_weight: Array) -> None:
        """Precompute what the problems of all classes and folds share, where that helps."""

    # Fitting -------------------------------------------------------------------------------------

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        row_weight = _of_rows(self._loss_weight() * weight, bags.offsets)
        design = self._design(bags, row_weight)
        self._prepare(design, row_weight)
        self.fit_on_design(design, bags, codes, weight)
        self._share(design, bags, weight)

    def _share(self, design: Design, bags: Bags, weight: Array) -> None:
        """Keep the kernel matrix of a fit for the folds of its calibration."""
        if isinstance(design, Gram):
            self._shared = _Shared(design, bags.offsets, weight)

    def fit_on_design(self, design: Design, bags: Bags, codes: Array, weight: Array) -> None:
        """Learn all classes on a design that may be shared with other fits.

        Parameters
        ----------
        design : Design
            The instances of ``bags`` as rows; it stays as it is.
        bags : Bags
            The training bags.
        codes : ndarray of int of shape (n_bags,)
            Class numbers.
        weight : ndarray of shape (n_bags,)
            Weights of the bags, class weights included.
        """
        fits = self._binary_fits(design, bags, codes, weight)
        self._keep(bags, [as_given(fit, design) for fit in fits])

    def _binary_fits(self, design: Design, bags: Bags, codes: Array, weight: Array) -> list[Run]:
        tasks = self._tasks(design, bags, codes, weight)
        calls = (partial(self._fit_binary, task) for task in tasks)
        return side_by_side(bags.X, calls, n_jobs=self.n_jobs, prefer="threads")

    def _tasks(self, design: Design, bags: Bags, codes: Array, weight: Array) -> Iterator[Task]:
        """Yield one task per class; what a design caches goes with its task."""
        # A bag without weight is no positive bag: its instances must not steer the assignments.
        truth = self._truth(codes) & (weight > 0)[:, None]
        factor, loss = self._loss_weight(), self._loss()
        row_weight = _of_rows(factor * weight, bags.offsets)
        for column in truth.T:
            yield Task(design.twin(), bags.offsets, column, row_weight, loss, factor, bags.priors)

    def _design(self, bags: Bags, row_weight: Array) -> Design:
        if self.kernel_approx is not None:
            return self._approximate_design(bags, row_weight)
        if self.kernel == "linear":
            return self._linear_design(bags.X)
        if self.kernel == "precomputed":
            return kernel_design(check_kernel_matrix(_columns(bags.X, _column_numbers(bags))))
        if isinstance(bags.X, DeviceRows) and not callable(self.kernel):
            return self._device_gram(bags.X, row_weight)
        self.kernel_, K = gram_matrix(
            here(bags.X),
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            weights=row_weight,
            random_state=check_random_state(self.random_state),
        )
        return kernel_design(K)

    def _device_gram(self, rows: Any, row_weight: Array) -> Design:
        from bagwise.designs.torch_gram import device_gram

        rng = check_random_state(self.random_state)
        gamma = settle_gamma(self.gamma, np.asarray(rows), row_weight, rng)
        self.kernel_ = Kernel(self.kernel, gamma, self.degree, self.coef0)
        return device_gram(self.kernel_, rows)

    # Calibration ---------------------------------------------------------------------------------

    def _out_of_fold(
        self, bags: Bags, codes: Array, weight: Array, splits: list[Any], used: Array
    ) -> Array:
        """Fit the folds on parts of one kernel matrix, where the model is made of nothing else.

        A width that was chosen on the instances is then the same in all folds.
        """
        shared, kind = getattr(self, "_shared", None), type(self)
        own_rows = kind._fit_classes is RowsClassifier._fit_classes
        if shared is None or not own_rows or kind._bag_scores is not BagClassifier._bag_scores:
            return super()._out_of_fold(bags, codes, weight, splits, used)
        shared = shared if used.all() else shared.part(used)
        given = self.get_params(deep=False).get("class_weight")

        def fold(train: Array, test: Array) -> Array:
            part, share = self._unfitted(), np.zeros(len(bags))
            part.classes_ = self.classes_
            of_class = class_weights(given, self.classes_, codes[train], weight[train])
            share[train] = weight[train] * of_class[codes[train]]
            scores = part._scores_of_all(shared, bags, codes, share)
            return part._assumption().bag_score(scores, bags.offsets)[test]

        jobs = Parallel(n_jobs=self.n_jobs, prefer="threads")
        return in_order(jobs(delayed(fold)(*split) for split in splits), splits)

    def _scores_of_all(self, shared: _Shared, bags: Bags, codes: Array, weight: Array) -> Array:
        """Learn from the bags with weight, and score all instances; one column per model.

        In a large design the other bags stay, without weight: its low-rank approximation serves
        every fold.
        """
        design = shared.design
        if isinstance(design, Iterative):
            fits = self._binary_fits(design, bags, codes, weight)
            self._keep_solutions(fits)
            return np.stack([fit.solution.scores for fit in fits], axis=1)
        used, part = np.flatnonzero(weight), shared.part(weight > 0, weight)
        self.fit_on_design(part.design, bags[used], codes[used], weight[used])
        coef = np.zeros((len(self.dual_coef_), design.n_rows))
        rows = np.flatnonzero(expand(weight > 0, bags.offsets))
        coef[:, rows[self.support_]] = self.dual_coef_
        return np.stack([design @ row for row in coef], axis=1) + self.intercept_

    # After the fit -------------------------------------------------------------------------------

    def _keep(self, bags: Bags, fits: list[Any]) -> None:
        """Turn solutions into fitted attributes."""
        coef = self._keep_solutions(fits)
        if self.kernel == "linear":
            self.coef_ = coef
        else:
            self._keep_support(bags, coef)
        self.instance_weights_ = stacked([fit.assignment for fit in fits])

    def _keep_solutions(self, fits: list[Any]) -> Array:
        """Keep everything but the coefficients and the weights of instances; warn; return coef."""
        solutions = [fit.solution for fit in fits]
        self.intercept_ = np.array([solution.intercept for solution in solutions])
        self.objective_ = np.array([solution.objective for solution in solutions])
        self.gap_ = np.array([solution.gap for solution in solutions])
        self.n_iter_ = max(len(fit.history) for fit in fits)
        self.history_ = [fit.history for fit in fits] if len(fits) > 1 else fits[0].history
        if fits[0].starts:
            self.starts_ = [fit.starts for fit in fits] if len(fits) > 1 else fits[0].starts
            self.stability_ = stacked([fit.stability for fit in fits])
        for fit in fits:
            self._warn(fit)
        return np.stack([solution.coef for solution in solutions])

    def _keep_support(self, bags: Bags, coef: Array) -> None:
        self.support_ = np.flatnonzero(np.any(coef != 0, axis=0))
        self.dual_coef_ = coef[:, self.support_]
        if self.kernel == "precomputed":
            self.support_columns_ = _column_numbers(bags)[self.support_]
        else:
            support = here(bags.X[self.support_])
            # Coefficients of landmarks are large and of both signs: they cancel in float64 only.
            self.support_vectors_ = support if self.kernel_approx is None else in_double(support)

    def _warn(self, fit: Any) -> None:
        if fit.converged and fit.solution.converged:
            return
        what, more = "the solver", ""
        if not fit.converged:
            name = next(each for each in _LIMITS if each in (known := self.get_params()))
            what, more = f"{name}={known[name]}", "raise it, "
        solution = fit.solution
        message = Message(
            f"{type(self).__name__} was stopped by {what} before it converged: the last convex "
            f"problem has objective {solution.objective:.6g} and duality gap {solution.gap:.2g}. "
            f"Remedies: {more}scale the features with ",
            SCALE,
            f", lower {self._loss_weights}.",
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=2)

    def _instance_scores(self, bags: Bags) -> Array:
        if self.kernel == "linear":
            return matrix_design(bags.X).scores_of_many(self.coef_) + self.intercept_
        rows = max(1, _BLOCK_VALUES // max(1, len(self.support_)))
        blocks = range(0, bags.n_instances, rows)

        def scored(first: int) -> Array:
            return self._kernel_rows(here(bags.X[first : first + rows])) @ self.dual_coef_.T

        jobs = Parallel(n_jobs=self.n_jobs, prefer="threads")  # no bit depends on their number
        parts = jobs(delayed(scored)(first) for first in blocks)
        return np.concatenate(parts).astype(np.float64) + self.intercept_

    def _slopes(self, X: Any, column: int) -> Array | None:
        if self.kernel == "linear":
            return np.broadcast_to(self.coef_[column], X.shape)
        if self.kernel != "rbf":
            return None
        return rbf_slopes(self.kernel_, X, self.support_vectors_, self.dual_coef_[column])

    def _kernel_rows(self, X: Any) -> Array:
        if self.kernel == "precomputed":
            return _columns(X, self.support_columns_)
        X = X if self.kernel_approx is None else in_double(X)
        return self.kernel_(X, self.support_vectors_)


class MarginClassifier(CParameter, LossParameter, RowsClassifier, ClassWeightParameter):
    """Classifier with one weight ``C`` of a hinge or squared hinge; rows take their bag's label."""

    def __bag_tags__(self) -> BagTags:
        """Say what this estimator can do; libsvm stops earlier than Newton."""
        return replace(super().__bag_tags__(), tolerance=1e-4 if self.loss == "hinge" else 1e-6)

    def _loss(self) -> Any:
        return get_loss(self.loss)

    def _loss_weight(self) -> float:
        return self.C

    def _fit_binary(self, task: Task) -> Run:
        return self._taken(task, solve_bag_labels(task))

    def _fit_warm(self, task: Task, last: Run | None) -> Run:
        if last is None or is_swept(task) or type(self)._fit_binary is not _BAG_LABELS:
            return self._fit_binary(task)
        problem = task.problem(1.0 * task.in_positive, rest_is_negative=False)
        return self._taken(task, solve(problem, last.solution.point))

    def _taken(self, task: Task, solution: Solution) -> Run:
        p = 1.0 * task.in_positive
        record = {"objective": solution.objective, "gap": solution.gap}
        self._report(record)
        return Run(solution, p, [record], True)


_BAG_LABELS = MarginClassifier._fit_binary  # rows take the labels of their bags


def as_given(fit: Run, design: Design) -> Run:
    """Express a solution in the features, or in the kernel values, as they were given."""
    coef, intercept = design.as_given(fit.solution.coef, fit.solution.intercept)
    return replace(fit, solution=replace(fit.solution, coef=coef, intercept=intercept))


def _of_rows(weight: Array, offsets: Array) -> Array:
    """Return the weights of the bags' rows; many equal ones take no memory."""
    if offsets[-1] >= memory.MANY_ROWS and np.all(weight == weight[0]):
        return np.broadcast_to(weight[0], int(offsets[-1]))
    return expand(weight, offsets)


def stacked(of_models: Any) -> Array:
    """Return one row per model, or the only one as it is."""
    return np.stack(of_models) if len(of_models) > 1 else of_models[0]


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
