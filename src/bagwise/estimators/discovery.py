"""Instances against negatives: how unusual an instance would be in a bag without witnesses.

In a negative bag every instance is negative, so that the largest instance scores m_1, ..., m_n of
negative bags that the model has not seen say what such bags look like. An instance of score s has

    p = (1 + #{i : m_i >= s}) / (1 + n).

Another bag that is exchangeable with these n has an instance with p <= level with probability at
most ``level``, whatever the dependence of its instances: the rank of its own largest score is
uniform (Vovk, Gammerman & Shafer 2005). With ``bags.groups``, units are groups instead of bags.
With several classes there is one column per class, against the bags of the others.

- "exact": the n bags were held out, and one model scores all.
- "approximate": m_i is by a copy fitted without the fold of bag i, s by the model of all bags.
- "conservative" (``method="cross"``): s is by the copy of bag i too. The probability is at most
  2 level plus a term of order n^(-1/2) (Barber, Candes, Ramdas & Tibshirani 2021, Theorem 4), and
  in practice below ``level``.
"""

from __future__ import annotations

import warnings
from fractions import Fraction
from math import ceil
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.segments import segment_max
from bagwise.crossfit import fit_folds, folds, in_order
from bagwise.crossfit.folds import N_FOLDS, number_units
from bagwise.errors import NotCalibratedError
from bagwise.estimators.occlusion import occlusion_scores
from bagwise.estimators.tags import bag_tags, innermost, last_step

LEVEL = 0.1  # one negative bag in ten: nine reference bags suffice
_METHOD = ('{"direct", "cross"}', "Who scores the bags: the model, or copies fitted in folds.")
_KEPT = ("instance_reference_", "instance_folds_", "fold_models_")
_WORDS = ("negative bag", "discovery")
_NUMERALS = {1: "one", 10: "ten", 20: "twenty", 100: "a hundred"}


class Discoveries:
    """P-values of instances against negative bags, and the instances that stand out.

    Pipelines and searches inherit these methods; classifiers take them over one by one.
    """

    instance_decision_function: Any

    @answers(
        *("self", "The model, whose predictions do not change."),
        bags="The training bags, of equal weight here; not with ``reference``.",
        y="Labels of the training or the reference bags; None if the latter are all negative.",
        cv=("int, splitter or iterable of folds", "Folds; a number keeps groups together."),
        reference=("Bags", "Bags that the model has not seen; the negative ones are used."),
        keep_models='Keep the copies fitted in the folds, for ``method="cross"``.',
    )
    def calibrate_instances(
        self,
        bags: Any = None,
        y: Any = None,
        *,
        cv: Any = N_FOLDS,
        reference: Any = None,
        keep_models: bool = False,
    ) -> Self:
        """Remember the largest instance scores of negative bags that the model has not seen."""
        if (bags is None) == (reference is None):
            raise ValueError("Pass the training bags and y, or reference= with held-out bags.")
        _ = self.instance_decision_function  # where there is none, its error says why
        check_is_fitted(self)
        given = check_bags(reference if bags is None else bags, finite=False)
        negative = _find_negative(self, given, y, all_negative=bags is None)
        if bags is None:
            top, fold, models = _find_largest(self, given, negative), np.full(len(given), -1), ()
        else:
            top, fold, models = _cross_fit(self, given, np.asarray(y), cv)
        largest, fold = _reduce_to_units(top, fold, number_units(given))
        _check_number(largest, LEVEL)
        kept: tuple[Any, ...] = (largest, fold, list(models) if keep_models else [])
        vars(last_step(self)).update(zip(_KEPT, kept, strict=True))
        return self

    @answers(
        "ndarray of shape (n_instances,) or (n_instances, n_classes)",
        "Aligned with ``bags.X``, from 1 / (1 + number of reference bags) to 1.",
        method=_METHOD,
    )
    def instance_pvalues(self, bags: Any, *, method: str = "direct") -> Array:
        """Return the share of negative bags whose largest score reaches that of an instance."""
        bags, kept = check_bags(bags, finite=False), _recall(self, method)
        largest, models, fold = kept.instance_reference_, [self], 0 * kept.instance_folds_
        if method == "cross":
            models, fold = kept.fold_models_, kept.instance_folds_
        every = enumerate(comparable_scores(model, bags) for model in models)
        counts = sum(_count_reaching(scores, largest[fold == k]) for k, scores in every)
        p = (1 + counts) / (1 + _count_units(largest))
        return p[:, 0] if p.shape[1] == 1 else p

    @answers(
        "ndarray of bool of shape (n_instances,) or (n_instances, n_classes)",
        "Aligned with ``bags.X``.",
        level="Share of negative bags that may have any discovery.",
        method=_METHOD,
    )
    def discover(self, bags: Any, level: float = LEVEL, *, method: str = "direct") -> Array:
        """Return which instances few negative bags would contain: those with p <= level."""
        if not 0 < level < 1:
            raise ValueError(f"level={level!r}: expected a share of bags between 0 and 1.")
        _check_number(_recall(self, method).instance_reference_, level)
        return self.instance_pvalues(bags, method=method) <= level

    @answers(
        *("str", 'It begins with "exact", "approximate" or "conservative".'),
        level="As in ``discover``.",
        method=_METHOD,
        words="What a negative bag and a discovery are called.",
    )
    def discovery_guarantee(
        self, level: float = LEVEL, *, method: str = "direct", words: tuple[str, str] = _WORDS
    ) -> str:
        """Say how many negative bags have any discovery, and how sure that is."""
        kept, share = _recall(self, method), Fraction(level).limit_denominator(100)
        how = "conservative: usually fewer than"
        if (kept.instance_folds_ < 0).all():
            how = "exact: at most"
        elif method == "direct" or hasattr(kept, "_take_choices"):
            how = "approximate: about"
        count, total = (_NUMERALS.get(n, n) for n in (share.numerator, share.denominator))
        text = f"{how} {count} {words[0]} in {total} has any {words[1]}"
        influence = " (an unusual influence on the score, not always a witness)"
        return text if bag_tags(self).exact_instance_scores else text + influence


def comparable_scores(model: Any, bags: Bags) -> Array:
    """Return instance scores toward the positive class that no threshold moves, by model."""
    inner, seen = innermost(model, bags)
    if hasattr(inner, "_scores_before_threshold"):
        return inner._scores_before_threshold(seen)
    return np.asarray(occlusion_scores(inner, seen)).reshape(seen.n_instances, -1)


def forget_calibration(model: Any) -> None:
    """Remove what `calibrate_instances` kept, for a model that is fitted again."""
    for name in _KEPT:
        vars(last_step(model)).pop(name, None)


def is_calibrated(model: Any) -> bool:
    """Return whether a model has p-values of instances."""
    return hasattr(last_step(model), _KEPT[0])


def _cross_fit(model: Any, bags: Bags, y: Array, cv: Any) -> tuple[Array, Array, Any]:
    """Return the largest scores of bags by copies that did not see them, their folds, and these."""
    last = last_step(model)
    splits = folds(bags, y, cv, getattr(last, "random_state", None) or 0)  # the same every time

    def fit(copy: Any, train: Array, _: Array) -> None:
        _fit_copy(copy, last, bags[train], y[train])

    def judge(copy: Any, held_out: Bags, labels: Array) -> tuple[Array, Any]:
        return _find_largest(copy, held_out, _find_negative(model, held_out, labels)), copy

    n_jobs = getattr(last, "n_jobs", None)
    parts = fit_folds(_copy_plain(model), bags, y, None, splits, judge, fit=fit, n_jobs=n_jobs)
    tops, models = zip(*parts, strict=True)
    numbers = [np.full(len(test), k) for k, (_, test) in enumerate(splits)]
    return in_order(tops, splits), in_order(numbers, splits), models


def _copy_plain(model: Any) -> Any:
    """Return an unfitted copy that makes no folds of its own."""
    copy = clone(getattr(model, "best_estimator_", model))
    last, positive = last_step(copy), _positive(model) if len(model.classes_) == 2 else None
    if hasattr(last, "_scores_before_threshold"):
        last.set_params(threshold=0.0, probability=False, pos_label=positive)
    return copy


def _fit_copy(copy: Any, fitted: Any, bags: Bags, y: Array) -> None:
    """Fit a copy to the bags of a fold; an automatic model keeps its choice of members."""
    if not hasattr(fitted, "_take_choices"):
        copy.fit(bags, y)
        return
    if isinstance(copy, Pipeline):
        before = copy[:-1]
        bags = before.fit_transform(bags, y)
        copy.steps[:-1] = before.steps
    last_step(copy)._take_choices(fitted, bags, y)


def _find_largest(model: Any, bags: Bags, negative: Array) -> Array:
    """Return the largest scores of bags; NaN where a bag is not negative for the column."""
    top, some = np.full(negative.shape, np.nan), negative.any(axis=1)
    if some.any():
        top[some] = segment_max(comparable_scores(model, bags[some]), bags[some].offsets)
    return np.where(negative, top, np.nan)


def _reduce_to_units(top: Array, fold: Array, unit: Array) -> tuple[Array, Array]:
    """Return the largest score of every unit that has a negative bag, and its fold."""
    known = ~np.isnan(top).all(axis=1)
    _, first, unit = np.unique(unit[known], return_index=True, return_inverse=True)
    largest, of_unit = np.full((len(first), top.shape[1]), np.nan), fold[known][first]
    np.fmax.at(largest, unit, top[known])
    if not np.array_equal(of_unit[unit], fold[known]):
        raise ValueError("The folds of cv split a group: its bags must be held out together.")
    return largest, of_unit


def _find_negative(model: Any, bags: Bags, y: Any, all_negative: bool = False) -> Array:
    """Return which bags are negative for each column of scores."""
    classes = model.classes_
    if y is None:
        if all_negative and len(classes) == 2:
            return np.ones((len(bags), 1), dtype=bool)
        raise ValueError("Pass y: the labels say which bags are negative.")
    check_consistent_length(bags, y)
    if unknown := np.setdiff1d(y, classes).tolist():
        raise ValueError(f"y contains {unknown[0]!r}; the model knows {classes.tolist()}.")
    return np.asarray(y)[:, None] != (classes if len(classes) > 2 else [_positive(model)])


def _positive(model: Any) -> Any:
    """Return the positive one of two classes."""
    named = getattr(last_step(model), "pos_label", None)
    return model.classes_[1] if named is None else named


def _recall(model: Any, method: str) -> Any:
    """Return the step that keeps the reference, if it serves the method."""
    last = last_step(model)
    if method not in ("direct", "cross"):
        raise ValueError(f"method={method!r}: expected 'direct' or 'cross'.")
    if not is_calibrated(model):
        raise NotCalibratedError(
            f"The instances of this {type(last).__name__} are not calibrated. Call "
            "calibrate_instances(bags, y) with the training bags, or calibrate_instances("
            "reference=bags) with negative bags that the model has not seen."
        )
    if method == "cross" and not last.fold_models_:
        raise NotCalibratedError("method='cross' needs calibrate_instances(..., keep_models=True).")
    return last


def _count_reaching(scores: Array, largest: Array) -> Array:
    """Return how many units have a largest score that reaches each score, column by column."""
    counts = np.empty(scores.shape, dtype=np.int64)
    for k, column in enumerate(largest.T):
        known = np.sort(column[~np.isnan(column)])
        counts[:, k] = len(known) - np.searchsorted(known, scores[:, k], side="left")
    return counts


def _count_units(largest: Array) -> Array:
    return np.sum(~np.isnan(largest), axis=0)


def _check_number(largest: Array, level: float) -> None:
    """Refuse an empty reference; warn where the smallest possible p-value is above the level."""
    fewest = int(_count_units(largest).min())
    if not fewest:
        raise ValueError("No reference bag is negative, or a class has bags of no other class.")
    if 1 / (1 + fewest) > level:
        few = f"There are {fewest} negative reference bags (or groups); a discovery at {level=:g}"
        need = f"needs {ceil(1 / level) - 1}: bring more, or raise the level."
        warnings.warn(f"{few} {need}", UserWarning, stacklevel=3)
