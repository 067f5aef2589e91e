"""Generate docs/api.md and docs/methods.md.

python docs/make_pages.py
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from pathlib import Path
from typing import Any

API = Path(__file__).with_name("api.md")
METHODS = Path(__file__).with_name("methods.md")
METHODS_HEAD = """# All methods

[Choose a model](choose.md) says where to begin, and every class has a page of its own with its
objective, its cost, and when to use it. The *witness* of a positive bag is the instance that makes
it positive. `bagwise models` prints this table, and `bagwise.by_paper_name("MI-SVM", C=10)` builds
one of its rows. (`python docs/make_pages.py` writes this page.)

| paper's name | in Python | what it is for | paper |
|---|---|---|---|
"""
SECTIONS = {
    "bagwise": "Bags and estimators",
    "bagwise.preprocessing": "Preprocessing",
    "bagwise.assumptions": "Assumptions and count potentials",
    "bagwise.model_selection": "Model selection and comparison",
    "bagwise.metrics": "Metrics",
    "bagwise.datasets": "Data sets",
    "bagwise.io": "Files",
    "bagwise.inspection": "What a model depends on",
    "bagwise.plot": "Figures",
    "bagwise.testing": "Checks for new estimators",
}
HEAD = """# API

The docstring of each name has its parameters, attributes and examples: `help(bagwise.WitnessSVC)`.
(`python docs/make_pages.py` writes this page.)

A bag is a set of instances (feature vectors) with one label. The key instance of a bag is the
instance most responsible for its score.

## Methods of every estimator

| method | what it does |
|---|---|
"""


def first_sentence(thing: Any) -> str:
    """Return the summary line of a docstring, safe inside a table; the words of a tuple."""
    if type(thing) is tuple:
        return ", ".join(f'"{word}"' for word in thing) + "."
    summary = (inspect.getdoc(thing) or "").partition("\n")[0]
    return summary.replace("``", "`").replace("|", "\\|")


def contract() -> str:
    """Return the table of the methods that all estimators share."""
    from bagwise.estimators.base import BagClassifier

    methods = ("fit", "predict", "decision_function", "predict_proba")
    of_instances = ("instance_decision_function", "key_instances", "predict_instances", "explain")
    rows = [
        f"| `{name}` | {first_sentence(inspect.getattr_static(BagClassifier, name))} |"
        for name in (*methods, *of_instances)
    ]
    return "\n".join(rows)


def section(module_name: str) -> str:
    """Return the heading and the table of one module; nothing if it does not exist."""
    if importlib.util.find_spec(module_name) is None:
        return ""
    module = importlib.import_module(module_name)
    names = sorted(module.__all__, key=str.casefold)
    rows = [f"| `{name}` | {first_sentence(getattr(module, name))} |" for name in names]
    table = "\n".join(["| name | what it is |", "|---|---|", *rows])
    return f"\n## {SECTIONS[module_name]}: `{module_name}`\n\n{table}\n"


def api_page() -> str:
    """Return the whole page of public names."""
    return HEAD + contract() + "\n" + "".join(map(section, SECTIONS))


def methods_page() -> str:
    """Return the page with the table of methods."""
    from bagwise.catalog import METHODS as LISTED

    rows = [(m.name, f"`{m.code}`", m.purpose, m.paper.short) for m in LISTED]
    return METHODS_HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    API.write_text(api_page())
    METHODS.write_text(methods_page())
