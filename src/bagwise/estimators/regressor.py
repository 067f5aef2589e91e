"""`BagRegressor`: the contract of models that predict one number per bag.

An estimator adds ``_fit_labels(bags, y, weight)`` and ``_instance_scores(bags)`` or
``_bag_scores(bags)``, one column, as classifiers do (`bagwise.estimators.scoring`): key instances,
occlusion and explanations follow.

`RowsRegressor` is ridge regression (or support vector regression, with ``epsilon``) over rows,

    min 1/2|w|^2 + C sum_k max(0, |f(x_k) - y_k| - epsilon)^2,   f(x) = w.phi(x) + b,

or the same without the square (``loss="epsilon_insensitive"``, Vapnik's), where a row is an
instance whose bag has one; models of bags say what their rows are.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.ids import name_of
from bagwise.bags.segments import expand
from bagwise.designs import Design, conditioned_design, kernel_design
from bagwise.errors import TaskWarning
from bagwise.estimators.input import are_classes_in_disguise, check_target
from bagwise.estimators.params import KernelOptions, Words, param, positive, shared
from bagwise.estimators.scoring import BagScores
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import (
    as_given,
    compare_with_support,
    find_slopes,
    keep_solutions,
    keep_support,
    score_instances,
    warn_of_doubt,
)
from bagwise.kernels import gram_matrix
from bagwise.losses import Hinge, SquaredHinge
from bagwise.problems import Problem
from bagwise.procedures import Run
from bagwise.rowstores import here
from bagwise.solvers import Solution, solve
from bagwise.tolerances import NOTHING


class BagRegressor(RegressorMixin, BagScores):
    """Base of the models that predict a number per bag."""

    task = "numbers"

    def _read_labels(self, bags: Bags, y: Any, weight: Array) -> Array:
        y = check_numbers(self, bags, y)
        _warn_of_classes(y)
        return y


def check_numbers(model: Any, bags: Bags, y: Any) -> Array:
    """Return one finite number per bag; labels of another kind name the models for them."""
    y = check_target(model, bags, y)
    try:
        y = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        text = next(each for each in y.tolist() if not isinstance(each, int | float))
        raise ValueError(
            f"y contains {text!r}, and {type(model).__name__} predicts numbers: take a classifier "
            "such as AutoBagClassifier for classes, OrdinalBagClassifier for grades."
        ) from error
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        what = "NaN" if np.isnan(y[bad[0]]) else "infinity"
        where = f"that of {name_of(bags.ids, int(bad[0]))} is {y[bad[0]]}"
        raise ValueError(f"Input y contains {what}: {where}. Leave out bags without a number.")
    _check_squares(bags, y)
    return y


def _check_squares(bags: Bags, y: Array) -> None:
    """Refuse numbers whose squared errors are no float64."""
    largest, spread = int(np.argmax(np.abs(y))), y.max() / 2 - y.min() / 2
    with np.errstate(over="ignore", under="ignore"):
        fits = np.isfinite(len(y) * y[largest] ** 2)
        fits &= spread == 0 or spread**2 >= np.finfo(float).tiny
    if not fits:
        where = f"that of {name_of(bags.ids, largest)} is {y[largest]:.3g}"
        raise ValueError(f"Squares of the numbers in y are no float64: {where}. Scale y.")


def _warn_of_classes(y: Array) -> None:
    """Warn of numbers that look like classes or grades."""
    if are_classes_in_disguise(y):
        shown = ", ".join(f"{value:g}" for value in np.unique(y))
        text = f"y has only the values {shown}: if these are classes, take a classifier, if they "
        warnings.warn(text + "are grades, OrdinalBagClassifier.", TaskWarning, stacklevel=4)


class RowsRegressor(BagRegressor):
    """Ridge or support vector regression over rows, linear or with a kernel.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weight vector, with ``kernel="linear"``.
    dual_coef_ : ndarray of shape (1, n_support)
        Dual coefficients of the support vectors, with other kernels.
    support_ : ndarray of int of shape (n_support,)
        Row numbers of the support vectors among the training rows.
    support_vectors_ : ndarray of shape (n_support, n_features)
        The support vectors.
    intercept_ : ndarray of shape (1,)
        Intercept.
    objective_ : ndarray of shape (1,)
        The objective reached.
    gap_ : ndarray of shape (1,)
        Certificate: the last convex problem is proven to be solved within this distance of its
        optimal objective. A gap that is not small beside ``objective_`` comes with a warning.
    n_iter_ : int
        Number of outer iterations.
    history_ : list of dict
        One record per outer iteration.
    """

    C: float = shared("C")
    loss: str = param(
        "squared_epsilon_insensitive",
        Words("squared_epsilon_insensitive", "epsilon_insensitive"),
        "What errors beyond ``epsilon`` cost: their square, or themselves, which outliers move "
        "less.",
    )
    epsilon: float = param(
        0.0, positive(zero=True), "Errors up to this size cost nothing; 0 is ridge regression."
    )
    kernel: Any = shared(
        "kernel",
        constraint=[Words("linear", "rbf", "poly"), callable],
        doc="Kernel between rows. A callable takes two matrices.",
    )
    gamma: float | str = shared("gamma")
    degree: int = shared("degree")

    _options = KernelOptions()  # none are parameters here
    _excused, _loss_weights = NOTHING, "C"

    def __bag_tags__(self) -> BagTags:
        """A row is scored as a whole; models of instances say more."""
        return BagTags(instance_scores="occlusion", bag_score=None, instance_weights=False)

    def _fit_labels(self, bags: Bags, y: Array, weight: Array) -> None:
        weight = self.C * weight
        design = self._design(here(bags.X), expand(weight, bags.offsets))
        fit = as_given(self._fit_rows(design, bags.offsets, y, weight), design)
        coef = self._keep_solutions([fit])
        if self.kernel == "linear":
            self.coef_ = coef
        else:
            self._keep_support(bags, coef)

    def _design(self, X: Any, row_weight: Array) -> Design:
        if self.kernel == "linear":
            return conditioned_design(X)
        options: dict[str, Any] = {"gamma": self.gamma, "degree": self.degree, "coef0": 0.0}
        seed = check_random_state(self.random_state)
        self.kernel_, K = gram_matrix(
            X, self.kernel, weights=row_weight, random_state=seed, **options
        )
        return kernel_design(K)

    def _fit_rows(self, design: Design, offsets: Array, y: Array, weight: Array) -> Run:
        """Fit rows, one per bag; ``weight`` contains C."""
        solution = self._solve(design, weight, weight, y)
        return Run(solution, None, [{"objective": solution.objective, "gap": solution.gap}], True)

    def _solve(
        self, design: Design, low: Array, high: Array, y: Array, last: Solution | None = None
    ) -> Solution:
        """Solve the problem with weights of predicting too little and too much, one per row."""
        loss = Hinge() if self.loss == "epsilon_insensitive" else SquaredHinge()
        problem = Problem(design, low, high, loss, np.full(len(y), -self.epsilon), y)
        if last is None:
            return solve(problem, None if design.proves_itself else design.start())
        return solve(problem, last.point)

    _keep_solutions = keep_solutions
    _keep_support = keep_support
    _warn = warn_of_doubt
    _instance_scores = score_instances
    _slopes = find_slopes
    _kernel_rows = compare_with_support
