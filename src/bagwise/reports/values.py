"""The page about a model of numbers, grades or times: how far off it is, and of which bags."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit import fit_folds, folds
from bagwise.crossfit.folds import number_folds
from bagwise.estimators.discovery import LEVEL
from bagwise.estimators.explanation import instance_names
from bagwise.measures import NAMES, choose_landmarks, judge_predictions
from bagwise.metrics import unwrap_model
from bagwise.models.ordinal import number_grades
from bagwise.plot._display import FAINT, NEGATIVE, POSITIVE, new_axes
from bagwise.reports.rendering import svg
from bagwise.times import Times, check_times, kaplan_meier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GROUPS = ("lowest third of the risks", "middle third", "highest third")


def value_content(
    model: Any, bags: Bags, y: Array, cv: Any, tell: Callable[[str, int, int], None]
) -> dict[str, Any]:
    """Return what the template shows: metrics, figures, and one row per bag."""
    inner, _ = unwrap_model(model, bags[:1])
    y = check_times(y).as_array() if inner.task == "times" else y
    predicted, survival, fold = _predict(model, inner.task, bags, y, cv, tell)
    moments = _landmarks(y) if inner.task == "times" else None
    metrics = judge_predictions(inner, bags, y, predicted, survival, moments, fold)
    n_folds = 0 if fold is None else int(fold.max()) + 1
    intervals = {name: list(value) for name, value in metrics.items()}
    axes: dict[str, Axes] = {
        "numbers": lambda: _draw_numbers(bags, y, predicted),
        "grades": lambda: _draw_grades(inner, y, predicted),
        "times": lambda: _draw_times(y, predicted, survival),
    }[inner.task]()
    folded = f"by {n_folds}-fold cross-validation, each bag by a copy that did not see it"
    return {
        "task": inner.task,
        "how": folded if n_folds else "on bags that it had not seen",
        "metrics": [(_name(name), *(f"{v:.3g}" for v in value)) for name, value in metrics.items()],
        "figures": {name: svg(ax.get_figure()) for name, ax in axes.items()},
        "rows": _rows(model, inner, bags, y, predicted),
        "numbers": {"n_bags": len(bags), "n_folds": n_folds} | intervals,
    }


def _name(metric: str) -> str:
    time = metric.removeprefix("calibration_")
    return NAMES[metric] if time == metric else f"events by {time} less predicted"


def _predict(
    model: Any, task: str, bags: Bags, y: Array, cv: Any, tell: Callable[[str, int, int], None]
) -> tuple[Array, Any, Any]:
    """Return predictions, survival functions of times, and folds.

    With ``cv``, copies that did not see the bags predict; the folds are None otherwise.
    """
    moments = _landmarks(y) if task == "times" else None

    def judge(fitted: Any, held: Bags, _: Array) -> tuple[Array, Array]:
        inner, seen = unwrap_model(fitted, held)
        survival = np.empty(len(held)) if moments is None else inner._survival_at(seen, moments)
        return np.asarray(inner.predict(seen)), survival

    if cv is None:
        return *judge(model, bags, y), None
    splits = folds(bags, y, cv, 0, ordered=task != "grades")
    tell("Fitting folds", 0, len(splits))
    parts = fit_folds(clone(model), bags, y, None, splits, judge)
    predicted, survival = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(np.concatenate([test for _, test in splits]))
    return predicted[order], survival[order], number_folds(splits)


def _landmarks(y: Array) -> Array:
    """Return ten times at which survival functions are compared: quantiles of those of events."""
    return np.unique(np.quantile(y["time"][y["event"]], np.linspace(0.1, 0.9, 10)))


# Figures ------------------------------------------------------------------------------------------


def _draw_numbers(bags: Bags, y: Array, predicted: Array) -> dict[str, Axes]:
    errors = y - predicted
    band = float(np.quantile(np.abs(errors), 1 - LEVEL))
    ends = np.array([min(y.min(), predicted.min()), max(y.max(), predicted.max())])
    against, residuals, sizes = (new_axes() for _ in range(3))
    against.fill_between(ends, ends - band, ends + band, color=FAINT, alpha=0.4, lw=0)
    against.plot(ends, ends, color=FAINT)
    against.plot(predicted, y, ".", color=NEGATIVE)
    against.set(xlabel="predicted", ylabel="true")
    residuals.axhline(0, color=FAINT)
    residuals.plot(predicted, errors, ".", color=NEGATIVE)
    residuals.set(xlabel="predicted", ylabel="true minus predicted")
    sizes.plot(bags.sizes, np.abs(errors), ".", color=NEGATIVE)
    sizes.set(xlabel="instances in the bag", ylabel="absolute error")
    return {"predicted against true": against, "residuals": residuals, "error by size": sizes}


def _draw_grades(inner: Any, y: Array, predicted: Array) -> dict[str, Axes]:
    grades = inner.classes_.tolist()
    counts = np.array([[np.sum((y == a) & (predicted == b)) for b in grades] for a in grades])
    ax = new_axes()
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (i, j), count in np.ndenumerate(counts):
        color = "w" if shares[i, j] > 0.6 else "k"
        ax.text(j, i, str(count), ha="center", va="center", color=color)
    ticks = range(len(grades))
    ax.set_xticks(ticks, map(str, grades))
    ax.set_yticks(ticks, map(str, grades))
    ax.set(xlabel="predicted grade", ylabel="true grade")
    return {"bags by true and predicted grade": ax}


def _draw_times(y: Array, risk: Array, survival: Array) -> dict[str, Axes]:
    """Draw Kaplan-Meier's curves of three groups of risk, and predicted against true events."""
    times, ax, calibration = check_times(y), new_axes(), new_axes()
    group = np.searchsorted(np.quantile(risk, [1 / 3, 2 / 3]), risk)
    moments = _landmarks(y)
    calibration.plot([0, 1], [0, 1], color=FAINT)
    for k, (name, color) in enumerate(zip(_GROUPS, (NEGATIVE, "#8c6d31", POSITIVE), strict=True)):
        part: Times = times[group == k]
        steps = kaplan_meier(part)
        at, values = np.append(0.0, steps.times), np.append(1.0, steps.values)
        half = 1.96 * np.append(0.0, np.sqrt(steps.variances))
        low, high = values * np.exp(-half), np.minimum(1.0, values * np.exp(half))
        ax.step(at, values, where="post", color=color, label=f"{name} ({len(part)} bags)")
        ax.fill_between(at, low, high, step="post", color=color, alpha=0.15, lw=0)
        for m in choose_landmarks(np.arange(len(moments))):
            place = int(np.searchsorted(at, moments[m], side="right")) - 1
            chance = 1 - float(survival[group == k, m].mean())
            calibration.plot([chance] * 2, [1 - low[place], 1 - high[place]], color=color)
            calibration.plot(chance, 1 - values[place], "o", color=color)
    ticks = [t for t in ax.get_xticks() if 0 <= t <= times.time.max()]
    ax.set_xticks(ticks, [f"{t:.3g}\n{_count_at_risk(times, group, t)}" for t in ticks])
    ax.set(ylabel="without event", ylim=(0, 1.02))
    ax.set_xlabel("time, and bags at risk: lowest, middle, highest third")
    ax.legend(fontsize="small", loc="upper right")
    shown = [f"{moments[m]:.3g}" for m in choose_landmarks(np.arange(len(moments)))]
    calibration.set(xlabel=f"predicted share of events by {', '.join(shown)}", ylabel="true share")
    return {"survival by risk": ax, "calibration by thirds of the risks": calibration}


def _count_at_risk(times: Times, group: Array, t: float) -> str:
    return "\n".join(str(int(np.sum(times[group == k].time >= t))) for k in range(3))


def _rows(model: Any, inner: Any, bags: Bags, y: Array, predicted: Array) -> list[list[str]]:
    """Return the id, truth, prediction, size and key instance of every bag, the worst first."""
    keys = bags.flat(model.key_instances(bags)) if hasattr(model, "key_instances") else None
    named = instance_names(bags)
    if inner.task == "times":
        order = np.argsort(-predicted, kind="stable")
        truth = [f"{'event' if t['event'] else 'censored'} at {t['time']:.4g}" for t in y]
    elif inner.task == "numbers":
        order, truth = np.argsort(-np.abs(y - predicted), kind="stable"), [f"{v:.4g}" for v in y]
    else:
        numbers = (number_grades(each, inner.classes_) for each in (y, predicted))
        order = np.argsort(-np.abs(np.subtract(*numbers)), kind="stable")
        truth = [str(value) for value in y.tolist()]
    shown = [str(v) if inner.task == "grades" else f"{v:.4g}" for v in predicted.tolist()]
    return [
        [str(bags.ids[i]), truth[i], shown[i], str(bags.sizes[i]),
            "" if keys is None else str(named[keys[i]])]
        for i in order
    ]  # fmt: skip
