"""The page about a model of numbers, grades or times: how far off it is, and of which bags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit import folds
from bagwise.crossfit.folds import number_folds
from bagwise.estimators.discovery import LEVEL
from bagwise.estimators.tags import configure
from bagwise.measures import NAMES, choose_landmarks, judge_predictions
from bagwise.metrics import unwrap_model
from bagwise.models.ordinal import number_grades
from bagwise.plot._display import FAINT, NEGATIVE, POSITIVE, new_axes
from bagwise.reports.facts import data_facts
from bagwise.reports.judgment import ask_copies, short
from bagwise.times import Times, check_times, kaplan_meier

_GROUPS = ("lowest third of the risks", "middle third", "highest third")


def value_content(
    model: Any, named: Any, bags: Bags, y: Array, cv: Any, tell: Callable[[str, int, int], None]
) -> dict[str, Any]:
    """Return what the page shows beside what all pages do; ``named`` is the model without steps."""
    times = named.task == "times"
    y = check_times(y).as_array() if times else y
    moments = _landmarks(y) if times else None
    predicted, survival, fold = _predict(model, bags, y, moments, cv, tell)
    metrics = judge_predictions(named, bags, y, predicted, survival, moments, fold)
    n_folds = 0 if fold is None else int(fold.max()) + 1
    figures = {
        "numbers": lambda: _draw_numbers(bags, y, predicted),
        "grades": lambda: _draw_grades(named, y, predicted),
        "times": lambda: _draw_times(y, predicted, survival),
    }[named.task]()
    folded = f"by {n_folds}-fold cross-validation, each bag by a copy that did not see it"
    return {
        "how": folded if n_folds else "on bags that it had not seen",
        "metrics": [(_name(name), *map(_shown, value)) for name, value in metrics.items()],
        "numbers": {name: list(value) for name, value in metrics.items()},
        "n_folds": n_folds,
        "figures": figures,
        "drawn": list(figures),
        "facts": data_facts(bags, y),
        "names": {"label": "true", "score": "risk" if times else "predicted"},
        "positive": None,
        **_rows(named, y, predicted),
    }


def _shown(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3g}"


def _name(metric: str) -> str:
    time = metric.removeprefix("calibration_")
    return NAMES[metric] if time == metric else f"events by {time} less predicted"


def _predict(
    model: Any, bags: Bags, y: Array, moments: Array | None, cv: Any, tell: Any
) -> tuple[Array, Any, Any]:
    """Return predictions, survival functions at some moments, and folds.

    With ``cv``, copies that did not see the bags predict; the folds are None otherwise.
    """

    def score(fitted: Any, held: Bags, _: Array) -> tuple[Array, Array]:
        inner, seen = unwrap_model(fitted, held)
        survival = np.empty(len(held)) if moments is None else inner._survival_at(seen, moments)
        return np.asarray(inner.predict(seen)), survival

    if cv is None:
        return *score(model, bags, y), None
    named, _ = unwrap_model(model, bags[:1])
    graded = named.task == "grades"
    splits = folds(bags, y, cv, 0, ordered=not graded)
    copy = configure(clone(model), order=list(named.classes_)) if graded else clone(model)
    parts = ask_copies(copy, bags, y, splits, score, tell)
    order = np.argsort(np.concatenate([test for _, test in splits]))
    predicted, survival = (np.concatenate(part)[order] for part in zip(*parts, strict=True))
    return predicted, survival, number_folds(splits)


def _landmarks(y: Array) -> Array:
    """Return ten times at which survival functions are compared: quantiles of those of events."""
    return np.unique(np.quantile(y["time"][y["event"]], np.linspace(0.1, 0.9, 10)))


# Figures ------------------------------------------------------------------------------------------


def _draw_numbers(bags: Bags, y: Array, predicted: Array) -> dict[str, Any]:
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
    shown = {"predicted against true": against, "residuals": residuals, "error by size": sizes}
    return {name: ax.get_figure() for name, ax in shown.items()}


def _draw_grades(named: Any, y: Array, predicted: Array) -> dict[str, Any]:
    """Draw the numbers of bags; colors are their shares of the true grade."""
    counts, shares = (
        confusion_matrix(y, predicted, labels=named.classes_, normalize=how)
        for how in (None, "true")
    )
    shown = ConfusionMatrixDisplay(shares, display_labels=named.classes_)
    shown.plot(ax=new_axes(), cmap="Blues", colorbar=False, im_kw={"vmin": 0, "vmax": 1})
    for text, count in zip(shown.text_.ravel(), counts.ravel(), strict=True):
        text.set_text(str(count))
    shown.ax_.set(xlabel="predicted grade", ylabel="true grade")
    return {"bags by true and predicted grade": shown.figure_}


def _draw_times(y: Array, risk: Array, survival: Array) -> dict[str, Any]:
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
    ax.legend(fontsize="small")
    shown = [f"{moments[m]:.3g}" for m in choose_landmarks(np.arange(len(moments)))]
    calibration.set(xlabel=f"predicted share of events by {', '.join(shown)}", ylabel="true share")
    figures = {"survival by risk": ax, "calibration by thirds of the risks": calibration}
    return {name: of.get_figure() for name, of in figures.items()}


def _count_at_risk(times: Times, group: Array, t: float) -> str:
    return "\n".join(str(int(np.sum(times[group == k].time >= t))) for k in range(3))


def _rows(named: Any, y: Array, predicted: Array) -> dict[str, Any]:
    """Return truth and prediction of every bag, and their order, the worst first."""
    heads: list[dict[str, Any]]
    if named.task == "grades":
        codes = [number_grades(each, named.classes_) for each in (y, predicted)]
        worst, pairs = np.abs(codes[0] - codes[1]), zip(y.tolist(), predicted.tolist(), strict=True)
        heads = [{"label": str(a), "score": str(b), "wrong": a != b} for a, b in pairs]
    elif named.task == "numbers":
        worst, pairs = np.abs(y - predicted), zip(y, predicted, strict=True)
        heads = [{"label": short(a), "score": short(b)} for a, b in pairs]
    else:
        worst, what = predicted, np.where(y["event"], "event", "censored")
        every = zip(what, y["time"], predicted, strict=True)
        heads = [{"label": f"{e} at {t:.4g}", "score": short(risk)} for e, t, risk in every]
    return {"heads": heads, "order": np.argsort(-worst, kind="stable")}
