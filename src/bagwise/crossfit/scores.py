"""Out-of-fold scores of any bag estimator, and what is made of them: thresholds, probabilities.

The model that is kept sees all bags; the scores come from copies that did not see the bag they
score. Where these carry no information, the AUC of n_pos positive and n_neg negative bags has mean
1/2 and variance (n_pos + n_neg + 1) / (12 n_pos n_neg) (Mann & Whitney 1947): scores that are worse
than chance are warned of.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.base import clone, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.errors import SCALE, BelowChanceWarning, Message, Parameter


def fit_folds(
    estimator: Any,
    bags: Bags,
    y: Array,
    sample_weight: Array | None,
    splits: list[tuple[Array, Array]],
    judge: Callable[[Any, Bags, Array], Any],
    *,
    fit: Callable[[Any, Array, Array], Any] | None = None,
    around: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda fold: fold,
    **parallel: Any,
) -> Iterable[Any]:
    """Fit a copy of the estimator per fold, and judge each copy on the bags it did not see.

    Yields what ``judge(model, bags, y)`` returns for each fold, in order. ``fit(model, train,
    test)`` takes the place of a plain fit where more than the training bags belongs in it;
    ``around`` wraps the function of one fold, for example to record its warnings; ``parallel`` goes
    to joblib.
    """

    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    share = getattr(estimator, "_fit_folds", None) if fit is None else None
    fitted = None if share is None else share(bags, y, weight, splits)
    if fitted is not None:
        ready = iter(fitted)  # they shared their passes over rows that are not in memory
        tell = around(lambda _, test: judge(next(ready), bags[test], y[test]))
        return [tell(*split) for split in splits]

    def fold(train: Array, test: Array) -> Any:
        model = clone(estimator)
        if fit is None:
            fit_weighted(model, bags[train], y[train], weight[train])
        else:
            fit(model, train, test)
        return judge(model, bags[test], y[test])

    one = around(fold)
    return Parallel(**parallel)(delayed(one)(*split) for split in splits)


_FAR_OUT = 3.0  # interquartile ranges beyond the quartiles (Tukey 1977)
_NO_SLOPE = 1e-6  # on scores of unit spread: the probability would be the same for all bags


def out_of_fold_scores(
    estimator: Any,
    bags: Bags,
    y: Array,
    sample_weight: Array | None,
    splits: list[tuple[Array, Array]],
    n_jobs: int | None = None,
    fit: Callable[[Any, Array, Array], Any] | None = None,
) -> Array:
    """Score every bag by a copy of the estimator that was fitted without it.

    Arguments as in `fit_folds`; scores as `bag_scores` returns them.
    """

    def judge(model: Any, held_out: Bags, _: Array) -> Array:
        return bag_scores(model, held_out)

    weight = sample_weight
    parts = list(fit_folds(estimator, bags, y, weight, splits, judge, fit=fit, n_jobs=n_jobs))
    return in_order(parts, splits)


def in_order(parts: Sequence[Array], splits: list[tuple[Array, Array]]) -> Array:
    """Return the values of held-out bags, one part per fold, in the order of the bags."""
    values = np.empty((sum(map(len, parts)), *parts[0].shape[1:]))
    for (_, test), part in zip(splits, parts, strict=True):
        values[test] = part
    return values


def fit_weighted(estimator: Any, bags: Bags, y: Array, sample_weight: Array) -> Any:
    """Fit any estimator of bags, which need not know weights where all are one."""
    if np.all(sample_weight == 1):
        return estimator.fit(bags, y)
    name = _weight_parameter(estimator)
    if name is None:
        raise ValueError(
            f"{estimator!r} takes no sample_weight in fit, and the bags have weights (of their own "
            "or by class_weight): choose an estimator whose fit takes sample_weight, or leave the "
            "weights away."
        )
    return estimator.fit(bags, y, **{name: sample_weight})


def _weight_parameter(estimator: Any) -> str | None:
    """Return what fit calls the weights; pipelines and searches hand them on to a part."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = _weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        return _weight_parameter(estimator.estimator)
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def bag_scores(model: Any, bags: Bags) -> Array:
    """Return decision values, or probabilities where a model has nothing else.

    Of numbers, numbered grades and times these are the predictions. Shape (n_bags,) for two
    classes, (n_bags, n_classes) for more.
    """
    task = getattr(getattr(model, "_final_estimator", model), "task", "classes")
    if is_regressor(model) or task != "classes":
        return np.asarray(model.predict(bags), dtype=np.float64)
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(bags))
    chances = np.asarray(model.predict_proba(bags))
    return chances[:, 1] if chances.shape[1] == 2 else chances


def best_threshold(scores: Array, positive: Array, weight: Array) -> float:
    """Return the threshold of highest weighted accuracy.

    Candidates are the midpoints between neighboring scores; of equally good ones the nearest to
    0 is taken.
    """
    values = np.unique(scores)
    if len(values) < 2:
        return 0.0
    candidates = (values[1:] + values[:-1]) / 2
    order = np.argsort(scores, kind="stable")
    at = np.searchsorted(scores[order], candidates)
    lost = np.concatenate([[0.0], np.cumsum((weight * positive)[order])])[at]
    won = np.concatenate([[0.0], np.cumsum((weight * ~positive)[order])])[at]
    gain = won - lost
    best = candidates[gain >= gain.max() - 1e-12 * weight.sum()]
    return float(best[np.argmin(np.abs(best))])


def choose_thresholds(scores: Array, truth: Array, weight: Array, rule: str) -> Array:
    """Return the best threshold of each column of out-of-fold scores.

    ``rule`` is "calibrated" (highest weighted accuracy) or "balanced" (highest balanced accuracy).
    """
    chosen = []
    for column, positive in zip(scores.T, truth.T, strict=True):
        total = np.where(positive, weight[positive].sum(), weight[~positive].sum())
        each = weight / total if rule == "balanced" else weight
        chosen.append(best_threshold(column, positive, each))
    return np.array(chosen)


def settle_sigmoids(scores: Array, truth: Array, weight: Array) -> tuple[float, Array]:
    """Return slope and midpoints as `fit_sigmoids`; scores that do not rise get the base rates.

    Nothing better is known of a bag then than how frequent the classes are: a warning says so.
    """
    slope, midpoints = fit_sigmoids(scores, truth, weight)
    if not is_flat(slope, scores):
        return slope, midpoints
    warnings.warn(
        "The out-of-fold scores of the training bags do not rise with the label: the probabilities "
        "are the frequencies of the classes. Try another model, and check which label is the "
        "positive one.",
        UserWarning,
        stacklevel=2,
    )
    share = np.clip(weight @ truth / weight.sum(), 1e-3, 1 - 1e-3)  # finite log-odds
    slope = 1e-3 / max(1.0, float(np.abs(scores).max()))  # moves probabilities by .1 % at most
    return slope, scores.mean(axis=0) - logit(share) / slope


def is_flat(slope: float, scores: Array) -> bool:
    """Return whether a sigmoid of this slope says nothing of the scores, or the contrary."""
    return slope * deviation(scores) <= _NO_SLOPE


def deviation(scores: Array) -> float:
    """Return the standard deviation, also of scores whose squares overflow or vanish."""
    exponent = int(np.frexp(np.abs(scores).max())[1])
    return float(np.ldexp(np.ldexp(scores, -exponent).std(), exponent))


def fit_sigmoids(
    scores: Array, truth: Array, weight: Array, midpoints: Array | None = None
) -> tuple[float, Array]:
    """Fit P(k) = 1 / (1 + exp(-slope (score_k - midpoint_k))) to out-of-fold scores (Platt).

    All models share one slope, so that the highest probability belongs to the highest score.
    Targets are (n+ + 1) / (n+ + 2) and 1 / (n- + 2) instead of 1 and 0, so that separable scores
    give finite slopes.

    ``scores`` and ``truth`` have one column per model. Returns the slope, which may be negative,
    and the midpoints, which are fitted unless given. A bag whose score is far out would decide
    about the slope alone: its score counts as that of the fence.
    """
    n_bags, n_models = scores.shape
    scores = np.clip(scores, *find_fences(scores, weight))
    shifted = scores if midpoints is None else scores - midpoints
    spread = deviation(shifted) or 1.0
    features = (shifted / spread).T.reshape(-1, 1)  # model after model
    if midpoints is None:
        features = np.hstack([features, np.kron(np.eye(n_models), np.ones((n_bags, 1)))])
    n_pos, n_neg = weight @ truth, weight @ ~truth
    target = np.where(truth, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
    weights = np.stack([weight[:, None] * target, weight[:, None] * (1 - target)])
    logistic = LogisticRegression(C=1e6, tol=1e-8, max_iter=1000, fit_intercept=False)
    logistic.fit(
        np.tile(features, (2, 1)),
        np.repeat([1, 0], n_bags * n_models),
        sample_weight=weights.transpose(0, 2, 1).ravel(),
    )
    slope, *offsets = logistic.coef_[0]
    if midpoints is None:
        midpoints = -np.array(offsets) / (slope or 1.0) * spread
    return float(slope / spread), midpoints


def find_fences(scores: Array, weight: Array) -> Array:
    """Return the lowest and the highest score of each column that is not far out, (2, columns)."""
    low, high = np.quantile(scores, [0.25, 0.75], axis=0, weights=weight, method="inverted_cdf")
    fence = np.where(high > low, _FAR_OUT * (high - low), np.inf)
    return np.stack([low - fence, high + fence])


def sigmoid_probabilities(scores: Array, slope: float, log_odds: Any = 0.0) -> Array:
    """Return the probability of each model's positive class at thresholded scores.

    ``log_odds`` are those at the threshold. Where they are 0, the probability is above 1/2 exactly
    where the score is positive: rounding must not part the two.
    """
    chances = expit(slope * scores + log_odds)
    if np.any(log_odds):
        return chances
    above = np.nextafter(0.5, 1.0)
    return np.where(scores > 0, np.maximum(chances, above), np.minimum(chances, 0.5))


LEVEL = 0.05  # of data sets without anything to find raise an alarm, which is no harm
_SHORTFALL = 0.1  # of the balanced accuracy; less is within the noise of a few dozen bags


def lowest_by_chance(n_pos: float, n_neg: float) -> float:
    """Return the AUC that scores without information fall below once in twenty times.

    Examples
    --------
    >>> from bagwise.crossfit import lowest_by_chance
    >>> round(lowest_by_chance(50, 50), 3), round(lowest_by_chance(5, 5), 3)
    (0.405, 0.185)
    """
    deviation = np.sqrt((n_pos + n_neg + 1) / (12 * n_pos * n_neg)) if n_pos and n_neg else np.inf
    return float(0.5 + norm.ppf(LEVEL) * deviation)


def below_chance(auc: float, n_pos: int, n_neg: int) -> Message | None:
    """Return what to say of an AUC on unseen bags that is significantly below 1/2, else None."""
    if not auc < lowest_by_chance(n_pos, n_neg):
        return None
    return Message(
        f"The AUC on bags that the model has not seen is {auc:.2f}, significantly below 0.5. "
        "Either the other class may be the positive one (",
        Parameter("pos_label"),
        "), or the model sees no signal: try another scale of the features (",
        SCALE,
        ") or another kernel width (",
        Parameter("gamma"),
        ").",
    )


def warn_if_below_chance(scores: Array, truth: Array) -> None:
    """Warn of out-of-fold scores of two classes that rank bags significantly worse than chance.

    ``scores`` and ``truth`` have one column per model; several classes are not judged.
    """
    n_pos = int(truth.sum())
    n_neg = len(truth) - n_pos
    if truth.shape[1] == 1 and n_pos and n_neg:
        text = below_chance(float(roc_auc_score(truth[:, 0], scores[:, 0])), n_pos, n_neg)
        if text is not None:
            warnings.warn(BelowChanceWarning(text), stacklevel=2)


def decision_rates(scores: Array, positive: Array) -> dict[str, float]:
    """Return AUC, sensitivity and specificity of scores whose threshold is 0, of two classes."""
    return {
        "auc": float(roc_auc_score(positive, scores)),
        "sensitivity": float(np.mean(scores[positive] > 0)),
        "specificity": float(np.mean(scores[~positive] <= 0)),
    }


def decides_badly(rates: dict[str, float]) -> Message | None:
    """Return what to say of a model that ranks bags well and calls many wrong, else None.

    Normal scores of equal spread with this AUC have a threshold with a balanced accuracy of
    Phi(Phi^-1(AUC) / sqrt 2): far less is the threshold's fault.
    """
    attainable = norm.cdf(norm.ppf(rates["auc"]) / np.sqrt(2))
    balanced = (rates["sensitivity"] + rates["specificity"]) / 2
    if not balanced < attainable - _SHORTFALL:
        return None
    return Message(
        "The model ranks bags well and decides badly: its AUC is {auc:.2f}, but at its threshold "
        "the sensitivity is {sensitivity:.2f} and the specificity {specificity:.2f}. "
        "".format(**rates),
        Parameter("threshold", "'balanced'"),
        " chooses another one on out-of-fold scores.",
    )
