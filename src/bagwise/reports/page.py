"""`report`: from a fitted model and labeled bags to one HTML file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length

from bagwise.bags import Bags, check_bags
from bagwise.catalog import paper_name_of
from bagwise.io._source import write_text
from bagwise.metrics import opened
from bagwise.plot import BagSizeDisplay, InstanceScoreDisplay
from bagwise.reports.bagrows import BagRows
from bagwise.reports.facts import data_facts
from bagwise.reports.judgment import Judgment, judge
from bagwise.reports.training import certificate, convergence, parameters, versions

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Report:
    """A report as HTML; notebooks show it, `save` writes it.

    Parameters
    ----------
    html : str
        The whole page.
    numbers : dict
        Number of bags, number of folds (0: held-out bags), and AUC, sensitivity, specificity and
        accuracy with the ends of their 95 % intervals.

    Examples
    --------
    >>> from bagwise.reports import Report
    >>> Report("<html></html>", {}).save(getfixture("tmp_path") / "report.html")
    """

    html: str
    numbers: dict[str, Any]

    def save(self, path: str | Path) -> None:
        """Write the page to a file that any browser opens.

        Parameters
        ----------
        path : str or Path
            The file.
        """
        with write_text(Path(path)) as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        from html import escape

        frame = 'style="width:100%;height:640px;border:0"'
        return f'<iframe srcdoc="{escape(self.html, quote=True)}" {frame}></iframe>'


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
) -> Report:
    """Make a page about a model: what it is, how good it is, and what it says of every bag.

    Parameters
    ----------
    model : BagClassifier, Pipeline or search
        Fitted; two classes.
    bags : Bags, or anything check_bags takes
        Labeled bags.
    y : array-like of shape (n_bags,)
        Their labels.
    cv : int, splitter or None, default=None
        None: the model has not seen the bags, and scores them itself. Otherwise the results are
        those of copies fitted in folds, as they must be for training bags.
    images : array of shape (n_instances, h, w[, 3]), sequence of paths, or callable, default=None
        A picture per instance; those of the highest instances are shown.
    title : str, default=None
        Title of the page.
    command : str, default=None
        The command line that makes the page again, to be shown on it.
    data_name : str, default=None
        What the data are called.

    Returns
    -------
    Report
        Its ``save`` writes the file: no network, no other files, printable.

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
    judgment = judge(model, bags, y, cv)
    inner, seen = opened(model, bags)
    figures = {name: _svg(shown.figure_) for name, shown in judgment.figures(bags.groups).items()}
    figures |= _model_figures(inner, seen, y)
    rows = BagRows(model, bags, judgment, images).all()
    content = _content(inner, bags, judgment) | {
        "title": title or f"{paper_name_of(inner)} on {data_name or f'{len(bags):,} bags'}",
        "data_name": data_name,
        "figures": figures,
        "command": command,
        "rows_json": _json({"rows": rows, "positive": str(judgment.positive)}),
        "columns": _columns(rows),
    }
    return Report(_render("report.html", content), _numbers(content))


def _numbers(content: dict[str, Any]) -> dict[str, Any]:
    rates = {"auc": content["auc"], **content["proportions"]}
    counts = {"n_bags": content["n_bags"], "n_folds": content["judgment"].n_folds}
    return counts | {name: [x["value"], x["low"], x["high"]] for name, x in rates.items()}


def _content(model: Any, bags: Bags, judgment: Judgment) -> dict[str, Any]:
    roc = judgment.figures(bags.groups)["roc"]
    return {
        "judgment": judgment,
        "proportions": judgment.proportions(),
        "auc": {"value": roc.value, "low": roc.interval[0], "high": roc.interval[1]},
        "groups": judgment.of_groups(bags.groups),
        "facts": data_facts(bags, judgment.truth),
        "n_bags": len(bags),
        "paper_name": paper_name_of(model),
        "class_name": type(model).__name__,
        "certificate": certificate(model),
        "parameters": parameters(model),
        "versions": versions(),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "scores_instances": hasattr(model, "instance_decision_function"),
    }


def _model_figures(model: Any, seen: Bags, y: Any) -> dict[str, str]:
    shown = {"sizes": BagSizeDisplay.from_estimator(model, seen, y).figure_}
    if hasattr(model, "instance_decision_function"):
        shown["instances"] = InstanceScoreDisplay.from_estimator(model, seen, y).figure_
    trained = convergence(model)
    if trained is not None:
        shown["convergence"] = trained
    return {name: _svg(figure) for name, figure in shown.items()}


def _columns(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    every = {
        "id": "bag",
        "label": "label",
        "score": "score",
        "probability": "probability",
        "size": "instances",
        "group": "group",
        "key": "key instance",
    }
    return [(key, name) for key, name in every.items() if key in rows[0]]


def _svg(figure: Any) -> str:
    """Return a figure as SVG for a page: without its XML head, texts as texts."""
    from matplotlib import rc_context

    buffer = BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "bagwise"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue().decode()
    return text[text.index("<svg") :]


def _json(value: Any) -> str:
    """Return JSON that no text in it can end early."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _render(name: str, content: dict[str, Any]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = lambda value: f"{100 * value:.0f} %"
    environment.filters["thousands"] = lambda value: f"{value:,}"
    return environment.get_template(name).render(content)
