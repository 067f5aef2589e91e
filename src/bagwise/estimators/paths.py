"""`Paths`: one model at many values of a parameter, each fit starting where the last one ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.utils.metaestimators import available_if

from bagwise._threads import one_blas_thread
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.designs import Design, Gram
from bagwise.estimators.task import Task
from bagwise.procedures import Run

# What the kernel matrix depends on: it is the same along a path.
_FIXED = ("kernel", "gamma", "degree", "coef0", "kernel_approx", "n_components", "landmarks")
CS = tuple(np.logspace(-2, 2, 9).tolist())  # two values per factor of ten


def _follows_rows(estimator: Any) -> bool:
    from bagwise.estimators.rows import RowsClassifier

    if type(estimator)._fit_classes is RowsClassifier._fit_classes:
        return True
    raise AttributeError(f"{type(estimator).__name__} has no path: it is fitted in another way.")


class Paths:
    """Paths of models over weighted rows."""

    def _fit_warm(self: Any, task: Task, last: Run | None) -> Run:
        """Fit from the run of a neighbor on the path, where the method can; otherwise as usual."""
        return self._fit_binary(task)

    @available_if(_follows_rows)
    def path(
        self: Any,
        bags: Any,
        y: Any,
        *,
        name: str = "C",
        values: Sequence[float] = CS,
        sample_weight: Any = None,
    ) -> list[Any]:
        """Fit the model at many values of a parameter, each from where the last one ended.

        The kernel matrix is computed once, and a fit begins with the assignment and the classifier
        of its neighbor. Order the values from small to large: a small C has the fewest local
        minima. The models are not those of separate fits, which begin anew.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The training bags.
        y : array-like of shape (n_bags,)
            One label per bag.
        name : str, default="C"
            The parameter; any number that the kernel does not depend on, such as
            "positive_fraction".
        values : sequence of float, default=(0.01, ..., 100)
            Its values, in the order of the path; nine by default, two per factor of ten.
        sample_weight : array-like of shape (n_bags,), default=None
            One weight per bag.

        Returns
        -------
        list
            Fitted models, one per value.

        Examples
        --------
        >>> from bagwise import WitnessSVC
        >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
        >>> models = WitnessSVC(kernel="linear").path(bags, [1, 0, 1, 0], values=[0.1, 1, 10])
        >>> [model.C for model in models]
        [0.1, 1, 10]
        """
        models = self._at_values(name, values)
        fresh = self._unfitted()
        bags, codes, of_bags, weight = fresh._validated(bags, y, sample_weight)
        with one_blas_thread():
            design = fresh._design(bags, expand(weight, bags.offsets))
            steps = fresh._along(models, design, bags, codes, weight)
            for model, (part, _) in zip(models, steps, strict=True):
                part._share(design, bags, weight)
                part._settle_threshold(bags, codes, of_bags, weight)
                model._become(part)
        return models

    def _at_values(self: Any, name: str, values: Sequence[float]) -> list[Any]:
        """Return an unfitted model per value."""
        known = self.get_params(deep=False)
        if name not in known or name in _FIXED:
            wrong = "determines the kernel" if name in known else "is no parameter"
            raise ValueError(f"name={name!r} {wrong} of {type(self).__name__}.")
        if not len(values):
            raise ValueError("values is empty: a path needs at least one value.")
        models = [type(self)(**{**known, name: value}) for value in values]
        for model in models:
            model._validate_params()
        return models

    def _along(
        self: Any, models: list[Any], design: Design, bags: Bags, codes: Array, weight: Array
    ) -> Iterator[tuple[Any, list[Run]]]:
        """Yield a fitted copy of each model and its runs in the coordinates of the design."""
        from bagwise.estimators.rows import as_given

        last: list[Any] = []
        for model in models:
            part = self._recast(type(self), **model.get_params(deep=False))
            tasks = list(part._tasks(design, bags, codes, weight))
            last = last or [None] * len(tasks)
            last = [part._fit_warm(task, run) for task, run in zip(tasks, last, strict=True)]
            part._keep(bags, [as_given(run, design) for run in last])
            yield part, last


def rows_of(bags: Bags, selected: Array) -> Array:
    """Return the row numbers of some bags."""
    member = np.zeros(len(bags), dtype=bool)
    member[selected] = True
    return np.flatnonzero(expand(member, bags.offsets))


def held_out_scores(design: Design, rows: Array, test_rows: Array, point: Any) -> Array:
    """Score held-out rows of a design, without intercept, by a point of a subset of its rows."""
    if isinstance(design, Gram):
        return (design.K[np.ix_(test_rows, rows)] @ point.coef).astype(np.float64)
    return (design @ point.coef)[test_rows]


def rated(model: Any, scores: Array, codes: Array, weight: Array) -> float:
    """Return the accuracy or AUC of held-out scores, as the ``scoring`` of a search says."""
    user = model._user_scores(scores)
    if model.scoring == "roc_auc":
        if user.ndim == 2:
            raise ValueError("scoring='roc_auc' is for two classes; use 'accuracy'.")
        return float(roc_auc_score(codes, user, sample_weight=weight))
    right = model._labels(user) == model.classes_[codes]
    return float(np.average(right, weights=weight))
