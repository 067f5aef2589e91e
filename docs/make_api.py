"""Write docs/api.md: every public name with the first sentence of its docstring.

python docs/make_api.py
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("api.md")
SECTIONS = {
    "bagwise": "Bags and estimators",
    "bagwise.preprocessing": "Preprocessing",
    "bagwise.model_selection": "Model selection",
    "bagwise.metrics": "Metrics",
    "bagwise.datasets": "Data sets",
    "bagwise.io": "Files",
    "bagwise.plot": "Figures",
    "bagwise.testing": "Checks for new estimators",
}
HEAD = """# API

Made by `python docs/make_api.py`. Parameters, attributes and examples of each name are in its
docstring: `help(bagwise.WitnessSVC)`.

## What every estimator has

| method | gives |
|---|---|
"""


def first_sentence(thing: Any) -> str:
    """Return the summary line of a docstring, safe inside a table."""
    summary = (inspect.getdoc(thing) or "").partition("\n")[0]
    return summary.replace("``", "`").replace("|", "\\|")


def contract() -> str:
    """Return the table of the methods that all estimators share."""
    from bagwise.base import BagClassifier

    methods = ("fit", "predict", "decision_function", "predict_proba")
    of_instances = ("instance_decision_function", "predict_instances", "key_instances")
    rows = [
        f"| `{name}` | {first_sentence(inspect.getattr_static(BagClassifier, name))} |"
        for name in (*methods, *of_instances)
    ]
    return "\n".join(rows)


def section(module_name: str) -> str:
    """Return one module's heading and table; nothing where it is not there."""
    if importlib.util.find_spec(module_name) is None:
        return ""
    module = importlib.import_module(module_name)
    names = sorted(module.__all__, key=str.casefold)
    rows = [f"| `{name}` | {first_sentence(getattr(module, name))} |" for name in names]
    table = "\n".join(["| name | what it is |", "|---|---|", *rows])
    return f"\n## {SECTIONS[module_name]}: `{module_name}`\n\n{table}\n"


def page() -> str:
    """Return the whole page."""
    return HEAD + contract() + "\n" + "".join(map(section, SECTIONS))


if __name__ == "__main__":
    PAGE.write_text(page())
