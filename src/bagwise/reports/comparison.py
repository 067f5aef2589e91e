"""`report_comparison`: the ranking of models with intervals, and what the bags can tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise.errors import Message, Parameter
from bagwise.measures import NAMES
from bagwise.model_selection.intervals import PARTS
from bagwise.plot import compared_models, compared_times
from bagwise.reports.facts import data_facts
from bagwise.reports.rendering import Report, render, reports, svg

if TYPE_CHECKING:
    from bagwise.model_selection import Comparison

_METRICS = {name: NAMES.get(name, name.replace("_", " ")) for name in PARTS}
_POINTS = {
    "exact": "yes",
    "mixed": "partly by leaving them out",
    "occlusion": "by leaving them out",
    "": "no",
}


@reports(
    comparison="As `bagwise.model_selection.compare` returns it, with a result of some model.",
    bags="The bags, for a section about the data.",
    build="The command line that builds the recommended model, to be shown on it.",
    unseen="The metric of each model on sites that were left out one by one.",
)
def report_comparison(
    comparison: Comparison,
    bags: Any = None,
    *,
    title: str | None = None,
    command: str | None = None,
    build: str | None = None,
    data_name: str | None = None,
    unseen: dict[str, float | None] | None = None,
) -> Report:
    """Make a page about compared models: ranking, ties, and time against accuracy.

    Examples
    --------
    >>> from bagwise import InstanceSVC, WitnessSVC, report_comparison
    >>> from bagwise.datasets import make_gaussian_bags
    >>> from bagwise.model_selection import compare
    >>> bags, y = make_gaussian_bags(n_bags=40, shift=4.0, random_state=0)
    >>> models = {"SIL": InstanceSVC(), "MI-SVM": WitnessSVC(kernel="linear")}
    >>> page = report_comparison(compare(bags, y, models, cv=3, n_repeats=1), bags)
    >>> page.save(getfixture("tmp_path") / "comparison.html")
    """
    if not comparison.results:
        raise ValueError("No model has a result: there is nothing to report.")
    n_bags = len(comparison.sample.y)
    figures = {"models": compared_models(comparison), "time": compared_times(comparison)}
    content = _content(comparison, unseen or {}) | {
        "title": title or f"Models compared on {data_name or f'{n_bags:,} bags'}",
        "figures": {name: svg(figure) for name, figure in figures.items()},
        "facts": [] if bags is None else data_facts(bags, comparison.sample.y, comparison.positive),
        "data_name": data_name,
        "command": command,
        "build": build,
    }
    return Report(render("comparison.html", content), _numbers(comparison))


def _content(found: Comparison, unseen: dict[str, float | None]) -> dict[str, Any]:
    main, two = found.protocol.metric, found.positive is not None
    records = [record for record in found.to_records() if not record["failure"]]
    negative = [label for label in found.sample.classes.tolist() if label != found.positive]
    others = [metric for metric in found.sample.metrics if metric != main]
    columns = {"model": "model", "group": "group", "value": f"{_METRICS[main]}, %"}
    columns |= {"interval": "95 % interval", "behind": "behind", "p": "p-value"}
    columns |= {"unseen": "unseen sites, %"} if unseen else {}
    columns |= {metric: f"{_METRICS[metric]}, %" for metric in others}
    columns |= {"points": "points at instances", "seconds": "CPU s per fold"}
    columns |= {"repeats": "repeats", "chosen": "usual parameters"}
    return {
        "metric": _METRICS[main],
        "positive": found.positive,
        "negative": negative[0] if two else None,
        "n_bags": len(found.sample.y),
        "n_groups": 0 if found.sample.groups is None else found.sample.n_units,
        "rows": [_row(record, main, others) | _unseen(record, unseen) for record in records],
        "columns": [*columns.items()],
        "tied": found.groups[0],
        "more_bags": found.more_bags,
        "recommended": found.recommendation,
        "why": describe_choice(found),
        "of_classes": len(found.sample.classes) > 0,
        "majority": [(_METRICS[m], _percent(found.majority[m])) for m in (main, *others)],
        "differences": _differences(found),
        "warnings": find_warnings(found),
        "protocol": _protocol(found),
        "others": _others(found),
    }


def _row(record: dict[str, Any], main: str, others: list[str]) -> dict[str, Any]:
    chosen = ", ".join(f"{name}={value:g}" for name, value in record["chosen"].items())
    scaled = "" if record["scale"] == "raw" else f"scale={record['scale']}"
    return {
        "model": record["model"],
        "group": record["group"],
        "value": _percent(record[main]),
        "interval": " to ".join(_percent(record[f"{main}_{end}"]) for end in ("low", "high")),
        "behind": f"{100 * record['behind']:.1f}",
        "p": _p_value(record["p_value"]),
        **{metric: _percent(record[metric]) for metric in others},
        "points": _POINTS[record["instance_scores"]],
        "seconds": f"{record['seconds']:.3g}",
        "repeats": record["repeats"],
        "chosen": ", ".join(text for text in (chosen, scaled) if text),
    }


def _unseen(record: dict[str, Any], unseen: dict[str, float | None]) -> dict[str, str]:
    value = unseen.get(record["model"])
    return {"unseen": _percent(np.nan if value is None else value)}


def _percent(value: float) -> str:
    return "-" if np.isnan(value) else f"{100 * value:.1f}"


def _p_value(value: float) -> str:
    return "below 0.001" if value < 0.001 else f"{value:.3f}"


def describe_choice(found: Comparison) -> str:
    """Say why the recommended model is recommended."""
    points = found.results[found.recommendation].instance_scores
    best = "the simplest of the best" if len(found.groups[0]) > 1 else "the best"
    return f"{best} that points at instances" if points else best


def _differences(found: Comparison) -> list[dict[str, Any]]:
    """Return a row per model: how far it is ahead of each model, and whether the bags show it."""
    names, corrected = list(found.results), found.p_values(corrected=True).to_numpy()
    rows = []
    for i, one in enumerate(names):
        cells: list[dict[str, Any]] = []
        for j, other in enumerate(names):
            if i == j:
                cells.append({"text": "", "shown": False, "p": ""})
                continue
            value, shown = found.difference(one, other).value, bool(corrected[i, j] < 0.05)
            text = f"{100 * value:+.1f}".replace("-", "−") + "*" * shown
            p = _p_value(corrected[i, j])
            cells.append({"text": text, "shown": shown, "ahead": value > 0, "p": p})
        rows.append({"model": one, "cells": cells})
    return rows


def find_warnings(found: Comparison) -> list[str]:
    """Return what a reader of the ranking must know."""
    main, best = found.protocol.metric, next(iter(found.results.values()))
    texts = []
    if best.estimates[main].low <= found.majority[main]:
        majority = "always predicting the majority" if len(found.sample.classes) else "chance"
        texts.append(f"No model is shown to be better than {majority}.")
    name, rates = found.recommendation, found.results[found.recommendation].estimates
    if found.results[name].decides_badly:
        found_of = "sensitivity {sensitivity.value:.0%}, specificity {specificity.value:.0%}"
        text = "ranks bags well and decides badly at the thresholds of the inner folds"
        texts.append(f"{name} {text}: {found_of.format(**rates)}.")
    if names := ", ".join(found.reversed_models):
        text = "the AUC is far below 50 %. The other class may be the positive one"
        texts.append(Message(f"{names}: {text} (", Parameter("pos_label", "LABEL"), ")."))
    if found.unfinished:
        names = ", ".join(found.unfinished)
        texts.append(f"The comparison ended before these models were judged: {names}.")
    return texts


def _protocol(found: Comparison) -> list[tuple[str, str]]:
    rules = found.protocol
    return [
        ("Judged by", f"nested cross-validation with {rules.cv} outer folds"),
        ("Repeats", f"{found.n_repeats} at most, each with other folds"),
        ("Chosen inside", f"parameters and threshold, by {rules.inner_cv} folds of training bags"),
        ("Ranked by", _METRICS[rules.metric]),
        ("Features", f"{rules.scale or 'raw'}" + (", imputed" if rules.impute else "")),
        ("Seed", str(rules.random_state)),
        ("Intervals", "95 %, from the variance between bags (groups), corrected for folds that "
         "share training bags"),
    ]  # fmt: skip


def _others(found: Comparison) -> list[tuple[str, str]]:
    failed = [(name, f"failed: {why}") for name, why in found.failures.items()]
    by_reason: dict[str, list[str]] = {}
    for name, n_folds in found.unfinished.items():
        by_reason.setdefault(f"not finished, {n_folds} folds judged", []).append(name)
    for name, why in found.left_out.items():
        by_reason.setdefault(f"left out: {why}", []).append(name)
    rest = [(", ".join(names), why) for why, names in by_reason.items()]
    warned = [
        (name, f"{len(one.warned)} warnings, the first: {one.warned[0]}")
        for name, one in found.results.items()
        if one.warned
    ]
    return failed + rest + warned


def _numbers(found: Comparison) -> dict[str, Any]:
    metric = found.protocol.metric
    return {
        "n_bags": len(found.sample.y),
        "groups": [list(group) for group in found.groups],
        "recommendation": found.recommendation,
        metric: {n: [e.value, e.low, e.high] for n, one in found.results.items()
                 for e in [one.estimates[metric]]},
    }  # fmt: skip
