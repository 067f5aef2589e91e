"""Several fits on one design: the folds of a calibration, and one model at many values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import roc_auc_score

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.crossfit import in_order
from bagwise.designs import Design, Gram, Iterative, Point
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.input import class_weights
from bagwise.estimators.tags import bag_tags
from bagwise.estimators.task import as_given
from bagwise.procedures import Run
from bagwise.solvers import Solution

if TYPE_CHECKING:
    from bagwise.estimators.rows import RowsClassifier

# What the kernel matrix depends on: it is the same along a path.
_FIXED = ("kernel", "gamma", "degree", "kernel_options")
CS = tuple(np.logspace(-2, 2, 9).tolist())  # two values per factor of ten


@dataclass(frozen=True)
class KernelShare:
    """The kernel matrix of a fit, for the folds of its calibration."""

    design: Gram
    offsets: Array
    weight: Array  # of the bags, which may have been prepared for

    def part(self, bags: Array, weight: Array | None = None) -> KernelShare:
        """Return some bags, with what was prepared unless they weigh something else there."""
        weight = self.weight if weight is None else weight
        same = np.array_equal(weight[bags], self.weight[bags])
        design = self.design.twin() if same else self.design.fresh()
        rows = np.flatnonzero(expand(bags, self.offsets))
        sizes = np.diff(self.offsets)[bags]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return KernelShare(design.subset(rows), offsets, weight[bags])


def score_folds(
    model: RowsClassifier,
    shared: KernelShare,
    bags: Bags,
    codes: Array,
    weight: Array,
    splits: list[Any],
) -> Array:
    """Score bags by fits to parts of one kernel matrix that did not see them.

    A width that was chosen on the instances is then the same in all folds.
    """
    given = model.get_params(deep=False).get("class_weight")

    def fold(train: Array, test: Array) -> Array:
        part, share = model._make_fresh(), np.zeros(len(bags))
        part.classes_ = model.classes_
        of_class = class_weights(given, model.classes_, codes[train], weight[train])
        share[train] = weight[train] * of_class[codes[train]]
        scores = _score_all(part, shared, bags, codes, share)
        return part._assumption().bag_score(scores, bags.offsets)[test]

    jobs = Parallel(n_jobs=model.n_jobs, prefer="threads")
    return in_order(jobs(delayed(fold)(*split) for split in splits), splits)


def _score_all(
    model: RowsClassifier, shared: KernelShare, bags: Bags, codes: Array, weight: Array
) -> Array:
    """Learn from the bags with weight, and score all instances; one column per model.

    In a large design the other bags stay, without weight: its low-rank approximation serves every
    fold.
    """
    design = shared.design
    if isinstance(design, Iterative):
        fits = model._binary_fits(design, bags, codes, weight)
        model._keep_solutions(fits)
        return np.stack([fit.solution.scores for fit in fits], axis=1)
    used, part = np.flatnonzero(weight), shared.part(weight > 0, weight)
    model.fit_on_design(part.design, bags[used], codes[used], weight[used])
    coef = np.zeros((len(model.dual_coef_), design.n_rows))
    rows = np.flatnonzero(expand(weight > 0, bags.offsets))
    coef[:, rows[model.support_]] = model.dual_coef_
    return np.stack([design @ row for row in coef], axis=1) + model.intercept_


def has_path(estimator: BagClassifier) -> bool:
    """Return whether a model is a fit over the instances as rows; otherwise say so."""
    if bag_tags(estimator).instance_rows:
        return True
    raise AttributeError(f"{type(estimator).__name__} has no path: it is fitted in another way.")


def models_at(model: BagClassifier, name: str, values: Sequence[float]) -> list[Any]:
    """Return an unfitted copy of a model per value of a parameter."""
    known = model.get_params()
    if name not in known or name.partition("__")[0] in _FIXED:
        wrong = "determines the kernel" if name in known else "is no parameter"
        raise ValueError(f"name={name!r} {wrong} of {type(model).__name__}.")
    if not len(values):
        raise ValueError("values is empty: a path needs at least one value.")
    models = [model._make_fresh().set_params(**{name: value}) for value in values]
    for each in models:
        each._validate_params()
    return models


def follow_path(
    fresh: RowsClassifier,
    models: list[Any],
    design: Design,
    bags: Bags,
    codes: Array,
    weight: Array,
) -> Iterator[tuple[Any, list[Run]]]:
    """Yield a fitted copy of each model and its runs in the coordinates of the design."""
    last: list[Run] = []
    for model in models:
        part = fresh._recast(type(fresh), **model.get_params(deep=False))
        tasks = list(part._tasks(design, bags, codes, weight))
        if last:
            last = [part._fit_from(task, run) for task, run in zip(tasks, last, strict=True)]
        else:
            last = [part._fit_binary(task) for task in tasks]
        part._keep(bags, [as_given(run, design) for run in last])
        yield part, last


def score_held_out(design: Design, rows: Array, test_rows: Array, point: Point | Solution) -> Array:
    """Score held-out rows of a design, without intercept, by a point of a subset of its rows."""
    if isinstance(design, Gram):
        return (design.K[np.ix_(test_rows, rows)] @ point.coef).astype(np.float64)
    return (design @ point.coef)[test_rows]


def rate_scores(model: Any, scores: Array, codes: Array, weight: Array) -> float:
    """Return the accuracy or AUC of held-out scores, as the ``scoring`` of a search says."""
    user = model._user_scores(scores)
    if model.scoring == "roc_auc":
        if user.ndim == 2:
            raise ValueError("scoring='roc_auc' is for two classes; use 'accuracy'.")
        return float(roc_auc_score(codes, user, sample_weight=weight))
    right = model._labels(user) == model.classes_[codes]
    return float(np.average(right, weights=weight))
