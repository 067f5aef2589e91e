"""`report`: from a fitted model and labeled bags to one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.catalog import paper_name_of
from bagwise.crossfit import decides_badly
from bagwise.crossfit.sites import score_unseen
from bagwise.estimators.discovery import is_calibrated
from bagwise.metrics import positive_class, unwrap_model
from bagwise.model_selection.by_site import SiteResult, list_sites
from bagwise.plot import annealing_path, score_histogram
from bagwise.plot._display import MOST_LISTED, new_axes
from bagwise.plot.curves import PRECISION, ROC, Curve, draw_calibration
from bagwise.plot.models import draw_sizes
from bagwise.reports.bagrows import BagRows
from bagwise.reports.facts import data_facts
from bagwise.reports.judgment import Judgment, OneAgainstOthers, compare_with_covariates, judge
from bagwise.reports.rendering import Report, json_text, render, reports, svg
from bagwise.reports.values import value_content
from bagwise.tolerances import COARSE


@reports(
    cv=(
        "int, splitter or None",
        "None: the model has not seen the bags, and scores them itself. Otherwise the results are "
        "those of copies fitted in folds, as they must be for training bags.",
    ),
    images=(
        "array of shape (n_instances, h, w[, 3]), sequence of paths, or callable",
        "A picture per instance; those of the highest instances are shown.",
    ),
    leave_sites_out="Whether copies are also fitted without each site of ``bags.sites``; all sites "
    "have results by folds in any case.",
    pos_label="Of several classes, the one that the page sets against the others; None: the last.",
    callback=(
        "callable",
        "Called while the page is made, with what is being done, how much of it is done, and of "
        "how much (0: not known).",
    ),
)
def report(
    model: Any,
    bags: Any,
    y: ArrayLike,
    *,
    cv: Any = None,
    images: Any = None,
    title: str | None = None,
    command: str | None = None,
    data_name: str | None = None,
    callback: Callable[[str, int, int], None] | None = None,
    pos_label: Any = None,
    leave_sites_out: bool = False,
) -> Report:
    """Make a page about a model: what it is, how good it is, and what it says of every bag.

    Examples
    --------
    >>> from bagwise import WitnessSVC, report
    >>> from bagwise.datasets import load_digits_bags
    >>> bags, y = load_digits_bags(n_bags=40)
    >>> model = WitnessSVC(kernel="linear").fit(bags[:20], y[:20])
    >>> page = report(model, bags[20:], y[20:], images=bags[20:].X.reshape(-1, 8, 8))
    >>> page.save(getfixture("tmp_path") / "report.html")
    """
    bags, y = check_bags(bags, finite=False), np.asarray(y)
    check_consistent_length(bags, y)
    named, tell = unwrap_model(model, bags[:1])[0], callback or (lambda *_: None)
    name, task = paper_name_of(named), getattr(named, "task", "classes")
    content: dict[str, Any] = {
        "task": task,
        "title": title or f"{name} on {data_name or f'{len(bags):,} bags'}",
        "command": command,
        "data_name": data_name,
        "n_bags": len(bags),
        "n_instances": bags.n_instances,
        "paper_name": name,
        "class_name": type(named).__name__,
        "certificate": certificate(named),
        "parameters": parameters(named, model),
    }
    if task == "classes":
        if len(named.classes_) > 2:
            label = named.classes_[-1] if pos_label is None else pos_label
            model = OneAgainstOthers(model, label)
        content |= _class_content(model, named, bags, y, cv, tell, leave_sites_out)
    else:
        content |= value_content(model, named, bags, y, cv, tell)
    if (trained := convergence(named)) is not None:
        content["figures"]["convergence"] = trained
    content["figures"] = {key: svg(figure) for key, figure in content["figures"].items()}
    rows = BagRows(model, bags, content["heads"], images).all(tell)
    rows = [rows[i] for i in content["order"]]
    content["columns"] = _columns(rows, content["names"])
    content["rows_json"] = json_text({"rows": rows, "positive": content["positive"]})
    page = "report.html" if task == "classes" else "values.html"
    counts = {"n_bags": len(bags), "n_folds": content["n_folds"]}
    return Report(render(page, content), counts | content["numbers"])


def _class_content(
    model: Any, named: Any, bags: Bags, y: Array, cv: Any, tell: Any, leave_sites_out: bool
) -> dict[str, Any]:
    """Return what the page of a model of classes shows beside what all pages do."""
    judgment = judge(model, bags, y, cv, tell)
    tell("Scoring instances", 0, 0)
    inner, seen = unwrap_model(model, bags)
    curves = [
        Curve.trace(kind, judgment.truth, judgment.scores, bags.groups) for kind in (ROC, PRECISION)
    ]
    figures = dict(_draw(inner, seen, y, judgment, curves))
    tell("Looking at the data", 0, 0)
    added = compare_with_covariates(named, bags, y, cv, judgment)
    roc, proportions = curves[0], judgment.proportions()
    auc = {"value": roc.value, "low": roc.interval[0], "high": roc.interval[1]}
    found = {"auc": auc, **proportions}
    numbers = {name: [x["value"], x["low"], x["high"]] for name, x in found.items()}
    if added is not None:
        numbers["beyond_covariates"] = [added.both, added.alone, added.more.p_value]
    return {
        "judgment": judgment,
        "n_folds": judgment.n_folds,
        "numbers": numbers,
        "proportions": proportions,
        "decisions": decides_badly({name: x["value"] for name, x in found.items()}),
        "auc": auc,
        "groups": judgment.of_groups(bags.groups),
        "facts": data_facts(bags, y, judgment.positive),
        "scores_instances": hasattr(named, "instance_decision_function"),
        "added": added,
        "figures": figures,
        "sites": _site_rows(model, bags, y, judgment, leave_sites_out),
        "leave_sites_out": leave_sites_out and judgment.n_folds,
        "guarantee": inner.discovery_guarantee() if is_calibrated(inner) else "",
        "heads": judgment.rows(),
        "order": range(len(bags)),
        "names": {},
        "positive": str(judgment.positive),
    }


def _site_rows(
    model: Any, bags: Bags, y: Array, judgment: Judgment, leave_out: bool
) -> list[SiteResult]:
    """Return the results of each site; where asked for, also by copies that did not see it."""
    if bags.sites is None:
        return []
    unseen = None
    if leave_out and judgment.n_folds:
        sign = positive_class(unwrap_model(model, bags[:1])[0])[1]
        unseen = sign * score_unseen(model, bags, y)
    classes = (judgment.negative, judgment.positive)
    return list_sites(bags, judgment.truth, classes, judgment.scores, unseen)[:MOST_LISTED]


def _draw(
    model: Any, seen: Bags, y: Any, judgment: Judgment, curves: list[Curve]
) -> Iterator[tuple[str, Any]]:
    """Yield the figures by name."""
    for name, curve in zip(("roc", "pr"), curves, strict=True):
        yield name, curve.draw()
    if judgment.probabilities is not None:
        yield "calibration", draw_calibration(judgment.truth, judgment.probabilities)
    yield "sizes", draw_sizes(seen.sizes, judgment.scores, judgment.truth)
    if hasattr(model, "instance_decision_function"):
        yield "instances", score_histogram(model, seen, y)


def _columns(rows: list[dict[str, Any]], names: dict[str, str]) -> list[tuple[str, str]]:
    usual = {"id": "bag", "size": "instances", "key": "key instance", "parts": "shares of parts"}
    every = ("id", "label", "score", "probability", "size", "group", "key", "parts", "discoveries")
    return [(key, (usual | names).get(key, key)) for key in every if key in rows[0]]


_SHOWS = ("callback", "verbose", "n_jobs")  # parameters that change no number


def certificate(model: Any) -> str:
    """Say what is proven about the solution, and what a reader should make of it."""
    gap, objective = (getattr(model, f"{name}_", None) for name in ("gap", "objective"))
    if gap is None or objective is None:
        return "This kind of model comes without a proof of how well its problem was solved."
    gap, objective = float(np.max(gap)), float(np.max(np.abs(objective)))
    relative = gap / objective if objective else gap
    if not np.isfinite(relative):
        return "The solver proved no bound on its error: treat the result with caution."
    within = (
        f"to within {relative:.1e} of" if relative > np.finfo(float).eps else "up to rounding at"
    )
    solved = (
        f"The last convex problem of the training is proven to be solved {within} its best "
        "possible objective"
    )
    if relative <= COARSE:
        return f"{solved}: training longer would not change the model."
    return f"{solved}. That is a lot: raise max_iter, or scale the features."


def parameters(model: Any, whole: Any) -> list[tuple[str, str]]:
    """Return the steps before a model, and the parameters that change its numbers, as texts."""
    before = [repr(step) for _, step in getattr(whole, "steps", [])[:-1]]
    known = sorted(model.get_params(deep=False).items())
    shown = [(name, repr(value)) for name, value in known if name not in _SHOWS]
    return [("steps before it", ", ".join(before)), *shown] if before else shown


def convergence(model: Any) -> Any:
    """Return a figure of the objective by iteration, or of the temperatures; None without."""
    history = getattr(model, "history_", None)
    if not history or not isinstance(history[0], dict):
        return None
    if "temperature" in history[0]:
        return annealing_path(model)
    values = [record["objective"] for record in history if "objective" in record]
    if len(values) < 2:
        return None
    ax = new_axes()
    ax.plot(np.arange(1, len(values) + 1), values, "o-")
    ax.set(xlabel="outer iteration", ylabel="objective")
    ax.locator_params(axis="x", integer=True)
    return ax.get_figure()
