"""The common ground of the methods that weigh instances: one design, one problem per class.

`RowsClassifier` builds the design once, shares it between the classes (one-vs-rest), and turns
solutions into fitted attributes. A method adds ``_fit_from(task, start)``, ``_loss()`` and
``_loss_weight()``. `MarginClassifier` adds the parameters ``C`` and ``loss`` and, as it stands,
gives every row the label of its bag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.designs import (
    Design,
    Gram,
    Nystroem,
    Pairs,
    conditioned_design,
    kernel_design,
    nystroem_design,
)
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.folds import (
    KernelShare,
    PassShare,
    fit_folds_by_passes,
)
from bagwise.estimators.input import check_known
from bagwise.estimators.params import KernelOptions, check_approximable, group, shared
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import (
    Task,
    as_given,
    compare_with_support,
    find_slopes,
    keep_solutions,
    keep_support,
    kernel_columns,
    score_instances,
    stack_models,
    take_columns,
    warn_of_doubt,
)
from bagwise.kernels import Kernel, check_kernel_matrix, gram_matrix
from bagwise.kernels.instance import settle_gamma
from bagwise.losses import LOSSES, Loss
from bagwise.procedures import Run
from bagwise.procedures.alternate import fit_bag_labels
from bagwise.procedures.run import Steps, finish, keep_lowest, run, together
from bagwise.rows import Newton, can_pass, make_rows
from bagwise.rowstores import here
from bagwise.rowstores.device import DeviceRows
from bagwise.solvers import solve
from bagwise.tolerances import NOTHING, in_threads

Start = np.random.RandomState | None  # the usual one, or drawn at random


class RowsClassifier(BagClassifier):
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
    kernel_error_ : float
        With approximated kernels: the trace of what is left out of the kernel matrix, relative to
        its own. ``objective_`` and ``gap_`` are those of the approximated problem.
    starts_ : list of dict
        With ``n_init`` > 1: objective, gap and iterations of every start (one such list per class
        for three classes or more). Starts that end far apart say that the minimum is one of many.
    """

    kernel: Any = shared("kernel")
    gamma: float | str = shared("gamma")
    degree: int = shared("degree")
    kernel_options: KernelOptions | None = group(
        KernelOptions, "Approximation and constant term of the kernel."
    )
    verbose: int = shared("verbose")
    callback: Callable[[dict[str, Any]], None] | None = shared("callback")

    _linear_design = staticmethod(conditioned_design)  # by whether the intercept is penalized
    _excused = NOTHING  # the largest relative gap of a solver that met its own tolerance
    _by_passes = False  # whether `_fit_steps` takes rows that are passed over
    _loss_weights = "C"  # the parameters that weigh the losses, for messages
    _shares_design = True  # whether a fit is one design of the instances, which folds may share

    # What a method adds --------------------------------------------------------------------------

    def _fit_from(self, task: Task, start: Start) -> Run:
        """Fit one class against the rest.

        ``start`` is None for the usual start, or a generator for one drawn at random.
        """
        raise NotImplementedError

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _loss_weight(self) -> float:
        """Return the factor of all losses of instances."""
        raise NotImplementedError

    def _prepare(self, design: Design, row_weight: Array) -> None:
        """Precompute what the problems of all classes and folds share, where that helps."""

    # Fitting -------------------------------------------------------------------------------------

    @property
    def _options(self) -> KernelOptions:
        return self.kernel_options or KernelOptions()

    def _fit_steps(self, task: Task, start: Start) -> Steps:
        """Fit one class against the rest, with passes over the rows as steps where it needs any."""
        yield from ()
        return self._fit_from(task, start)

    def _lowest_steps(self, fit_from: Callable[[Any], Steps]) -> Steps:
        """Run the usual start (None) and ``n_init`` - 1 random ones; keep the lowest."""
        n_init = self.get_params(deep=False).get("n_init", 1)
        if n_init == 1:
            return (yield from fit_from(None))
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        rng = np.random.RandomState(seed)  # not the stream of init="random"
        runs = []
        for number in range(n_init):
            runs.append((yield from fit_from(rng if number else None)))
        return keep_lowest(runs)

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        row_weight = expand(self._loss_weight() * weight, bags.offsets)
        design = self._design(bags, row_weight)
        self._prepare(design, row_weight)
        self._fit_on_design(design, bags, codes, weight)
        self._share(design, bags, weight)

    def _share(self, design: Any, bags: Bags, weight: Array) -> None:
        """Keep the kernel matrix, or the rows, of a fit for the folds of its calibration."""
        self._shared: KernelShare | PassShare
        if isinstance(design, Gram):
            self._shared = KernelShare(design, bags.offsets, weight)
        elif design.passed:
            self._shared = PassShare(design, bags)

    def _fit_on_design(self, design: Any, bags: Bags, codes: Array, weight: Array) -> None:
        """Learn all classes on a design of the bags' instances, which stays as it is."""
        fits = self._binary_fits(design, bags, codes, weight)
        self._keep(bags, [as_given(fit, design) for fit in fits])

    def _binary_fits(self, design: Any, bags: Bags, codes: Array, weight: Array) -> list[Run]:
        fits = self._class_steps(design, bags, codes, weight)
        if design.passed:
            return run(design, together(fits))
        return in_threads(finish, fits, self.n_jobs)

    def _class_steps(self, design: Any, bags: Bags, codes: Array, weight: Array) -> Iterator[Steps]:
        """Yield the steps of one fit per class."""
        for task in self._tasks(design, bags, codes, weight):
            yield self._lowest_steps(partial(self._fit_steps, task))

    def _tasks(self, design: Any, bags: Bags, codes: Array, weight: Array) -> Iterator[Task]:
        """Yield one task per class; what a design caches goes with its task."""
        # A bag without weight is no positive bag: its instances must not steer the assignments.
        truth = self._truth(codes) & (weight > 0)[:, None]
        factor, loss = self._loss_weight(), self._loss()
        for column, signs in zip(truth.T, self._known_signs(bags), strict=True):
            fixed = None if signs is None else check_known(bags, signs, column, weight > 0)
            twin, of_bags = design.twin(), factor * weight
            yield Task(twin, bags.offsets, column, of_bags, loss, factor, bags.priors, fixed)

    def _design(self, bags: Bags, row_weight: Array) -> Any:
        """Return the instances as rows that are passed over, or as a design of vectors."""
        linear = self.kernel == "linear" and self._options.approx is None
        if linear and self._by_passes and can_pass(bags.X, self._loss()):
            return make_rows(bags.X, bags.offsets)
        return self._vector_design(bags, row_weight)

    def _vector_design(self, bags: Bags, row_weight: Array) -> Design:
        rng = check_random_state(self.random_state)
        if self._options.approx is not None:
            check_approximable(self._options, self.kernel)
            X = here(bags.X)
            self.kernel_ = self._settle_kernel(X, row_weight, rng)
            return self._by_landmarks(Pairs(self.kernel_, X), row_weight, rng)
        if self.kernel == "linear":
            return self._linear_design(bags.X)
        if self.kernel == "precomputed":
            return kernel_design(check_kernel_matrix(take_columns(bags.X, kernel_columns(bags))))
        if isinstance(bags.X, DeviceRows) and not callable(self.kernel):
            from bagwise.designs.torch import device_gram

            self.kernel_ = self._settle_kernel(np.asarray(bags.X), row_weight, rng)
            return device_gram(self.kernel_, bags.X)
        self.kernel_, K = gram_matrix(
            here(bags.X),
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self._options.coef0,
            weights=row_weight,
            random_state=rng,
        )
        return kernel_design(K)

    def _settle_kernel(self, X: Any, row_weight: Array, rng: np.random.RandomState) -> Kernel:
        gamma = settle_gamma(self.gamma, X, row_weight, rng)
        if callable(self.kernel):
            return Kernel(self.kernel)
        return Kernel(self.kernel, gamma, self.degree, self._options.coef0)

    def _by_landmarks(self, pairs: Any, row_weight: Array, rng: np.random.RandomState) -> Nystroem:
        size, jobs = self._options.n_components, self.n_jobs
        design = nystroem_design(pairs, row_weight, size, rng, n_jobs=jobs)
        self.kernel_error_ = design.error
        return design

    # Calibration ---------------------------------------------------------------------------------

    def _out_of_fold(
        self, bags: Bags, codes: Array, weight: Array, splits: list[Any], used: Array
    ) -> Array:
        """Fit the folds on parts of one kernel matrix, where the model is made of nothing else."""
        if self._shares_design and hasattr(self, "_shared"):
            return self._shared.score_folds(self, bags, used, codes, weight, splits)
        return super()._out_of_fold(bags, codes, weight, splits, used)

    def _fit_folds(
        self, bags: Bags, y: Array, weight: Array, splits: list[Any]
    ) -> list[Any] | None:
        """Return a copy fitted to each training part, by shared passes; None where none are."""
        if not (self._by_passes and self._shares_design):
            return None
        return fit_folds_by_passes(self, bags, y, weight, splits)

    # After the fit -------------------------------------------------------------------------------

    def _keep(self, bags: Bags, fits: list[Any]) -> None:
        """Turn solutions into fitted attributes."""
        coef = self._keep_solutions(fits)
        if self.kernel == "linear":
            self.coef_ = coef
        else:
            self._keep_support(bags, coef)
        self.instance_weights_ = stack_models([fit.assignment for fit in fits])

    _keep_solutions = keep_solutions
    _keep_support = keep_support
    _warn = warn_of_doubt
    _instance_scores = score_instances
    _slopes = find_slopes
    _kernel_rows = compare_with_support


class MarginClassifier(RowsClassifier):
    """Classifier with one weight ``C`` of a hinge or squared hinge; rows take their bag's label."""

    C: float = shared("C")
    loss: str = shared("loss")
    class_weight: Any = shared("class_weight")

    # Whether the problems of a fit have the same rows, and differ in labels and pieces only.
    _prepares_kernel = False

    def __bag_tags__(self) -> BagTags:
        """Say what this estimator can do; libsvm stops earlier than Newton."""
        tolerance = 1e-4 if self.loss == "hinge" else 1e-6
        return replace(super().__bag_tags__(), tolerance=tolerance)

    def _prepare(self, design: Design, row_weight: Array) -> None:
        helps = self._prepares_kernel and self.loss == "squared_hinge"
        if helps and not (design.passed or design.prepared):
            design.prepare(2 * row_weight)  # for both labels of every row

    def _loss(self) -> Loss:
        return LOSSES[self.loss]

    def _loss_weight(self) -> float:
        return self.C

    _by_passes = True

    def _fit_steps(self, task: Task, start: Start) -> Steps:
        if task.rows is None:
            return (yield from super()._fit_steps(task, start))
        return (yield from fit_bag_labels(Newton(task.rows, task.label()), self._report))

    def _fit_from(self, task: Task, start: Start) -> Run:
        solution = solve(task.problem(task.bag_labels, rest_is_negative=False))
        self._report(record := {"objective": solution.objective, "gap": solution.gap})
        return Run(solution, task.bag_labels, [record], True)
