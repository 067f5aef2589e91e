"""Folds on parts of one design, for calibrations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.crossfit import in_order
from bagwise.designs import Gram, Iterative
from bagwise.estimators.input import class_weights
from bagwise.estimators.task import as_given
from bagwise.procedures.run import run_all, together
from bagwise.rows import Rows
from bagwise.rowstores.base import is_mapped
from bagwise.tolerances import in_threads, one_blas_thread

if TYPE_CHECKING:
    from bagwise.estimators.rows import RowsClassifier


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
        self,
        model: RowsClassifier,
        bags: Bags,
        used: Array,
        codes: Array,
        weight: Array,
        splits: list[Any],
    ) -> Array:
        """Score bags by fits to parts of one kernel matrix that did not see them.

        ``used`` says which bags of the fit they are; codes, weights and folds are theirs. A width
        that was chosen on the instances is then the same in all folds.
        """
        given = model.get_params(deep=False).get("class_weight")
        shared = self if used.all() else self.part(used)

        def fold(split: tuple[Array, Array]) -> Array:
            train, test = split
            part, share = model._make_fresh(), np.zeros(len(bags))
            part.classes_ = model.classes_
            of_class = class_weights(given, model.classes_, codes[train], weight[train])
            share[train] = weight[train] * of_class[codes[train]]
            scores = _score_all(part, shared, bags, codes, share)
            return part._assumption().bag_score(scores, bags.offsets)[test]

        return in_order(in_threads(fold, splits, model.n_jobs), splits)


@dataclass(frozen=True)
class PassShare:
    """The rows of a fit, for the folds of its calibration."""

    rows: Rows
    bags: Bags

    def score_folds(
        self,
        model: RowsClassifier,
        bags: Bags,
        used: Array,
        codes: Array,
        weight: Array,
        splits: list[Any],
    ) -> Array:
        """Score bags by fits that did not see them: held-out bags weigh nothing.

        Arguments are those of `KernelShare.score_folds`.
        """
        numbers, of_all = np.flatnonzero(used), np.zeros(len(used), dtype=codes.dtype)
        of_all[used] = codes
        shares = [np.zeros(len(used)) for _ in splits]
        for share, (train, _) in zip(shares, splits, strict=True):
            share[numbers[train]] = weight[train]
        scores = []
        for part, (_, test) in zip(fit_by_passes(model, self, of_all, shares), splits, strict=True):
            held_out = self.bags[numbers[test]]
            instances = part._instance_scores(held_out)
            scores.append(part._assumption().bag_score(instances, held_out.offsets))
        return in_order(scores, splits)


def fit_by_passes(
    model: RowsClassifier, shared: PassShare, codes: Array, weights: list[Array]
) -> list[Any]:
    """Return copies of a model, one per vector of bag weights, whose fits share their passes."""
    given, parts, fits = model.get_params(deep=False).get("class_weight"), [], []
    for weight in weights:
        part, used = model._make_fresh()._become(model), weight > 0
        of_class = class_weights(given, model.classes_, codes[used], weight[used])
        weighted = weight * of_class[codes]
        parts.append(part)
        fits.append(together(part._class_steps(shared.rows, shared.bags, codes, weighted)))
    for part, runs in zip(parts, run_all(shared.rows, fits), strict=True):
        part._keep(shared.bags, [as_given(fit, shared.rows) for fit in runs])
    return parts


def fit_folds_by_passes(
    model: RowsClassifier, bags: Bags, y: Array, weight: Array, splits: list[Any]
) -> list[Any] | None:
    """Return copies of a model, one per training part, whose held-out bags weigh nothing.

    None where rows are in memory, whose copies are as fast and may be fitted by several processes,
    and for models that choose a threshold, which have folds of their own.
    """
    calibrates = model.threshold in ("calibrated", "balanced") or model.probability == "sigmoid"
    if calibrates or (isinstance(bags.X, np.ndarray) and not is_mapped(bags.X)):
        return None
    fresh = model._make_fresh()
    bags, codes, weight, _ = fresh._check_training(bags, y, weight)
    with one_blas_thread():
        rows = fresh._design(bags, expand(weight, bags.offsets))
        if not rows.passed:
            return None
        shares = [np.zeros(len(bags)) for _ in splits]
        for share, (train, _) in zip(shares, splits, strict=True):
            share[train] = weight[train]
        models = fit_by_passes(fresh, PassShare(rows, bags), codes, shares)
    for each in models:
        each._settle_threshold(bags, codes, weight, weight)
    return models


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
    model._fit_on_design(part.design, bags[used], codes[used], weight[used])
    coef = np.zeros((len(model.dual_coef_), design.n_rows))
    rows = np.flatnonzero(expand(weight > 0, bags.offsets))
    coef[:, rows[model.support_]] = model.dual_coef_
    return np.stack([design @ row for row in coef], axis=1) + model.intercept_
