"""From figures and values to one page without other files."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

from bagwise._documented import documenting
from bagwise.io._files import write_text

reports = documenting(
    {
        "model": ("BagClassifier, Pipeline or search", "Fitted."),
        "bags": ("Bags, or anything check_bags takes", "Labeled bags."),
        "y": ("array-like of shape (n_bags,)", "Their labels."),
        "title": "Title of the page.",
        "command": "The command line that makes the page again, to be shown on it.",
        "data_name": "What the data are called.",
    },
    returns="Report\n    Its ``save`` writes the file: no network, no other files, printable.",
)
_TEMPLATES = Path(__file__).parent / "templates"
_PACKAGES = ("bagwise", "numpy", "scipy", "scikit-learn", "numba")  # what computes the numbers


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


def svg(figure: Any) -> str:
    """Return a figure as SVG for a page: without its XML head, texts as texts."""
    from matplotlib import rc_context

    buffer = BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "bagwise"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    text = buffer.getvalue().decode()
    return text[text.index("<svg") :]


def json_text(value: Any) -> str:
    """Return JSON that no text in it can end early."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def render(name: str, content: dict[str, Any]) -> str:
    """Fill a template; all texts are escaped, and a missing value is an error."""
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
    versions = [("Python", platform.python_version()), *((p, version(p)) for p in _PACKAGES)]
    made = {"versions": versions, "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")}
    return environment.get_template(name).render(content | made)
