"""Write what the code knows into the pages: docs/api.md, and the README's table of methods.

python docs/make_pages.py
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from pathlib import Path
from typing import Any

API = Path(__file__).with_name("api.md")
README = Path(__file__).parents[1] / "README.md"
METHODS_HEAD = """| paper's name | in Python | what it is for | paper |
|---|---|---|---|
"""
SECTIONS = {
    "bagwise": "Bags and estimators",
    "bagwise.preprocessing": "Preprocessing",
    "bagwise.cardinality": "Count potentials of Markov networks",
    "bagwise.model_selection": "Model selection",
    "bagwise.metrics": "Metrics",
    "bagwise.datasets": "Data sets",
    "bagwise.io": "Files",
    "bagwise.plot": "Figures",
    "bagwise.testing": "Checks for new estimators",
}
HEAD = """# API

Made by `python docs/make_pages.py`. Parameters, attributes and examples of each name are in its
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


def api_page() -> str:
    """Return the whole page of public names."""
    return HEAD + contract() + "\n" + "".join(map(section, SECTIONS))


def methods_table() -> str:
    """Return the rows of the table of methods."""
    from bagwise.papers import METHODS

    rows = [(m.name, f"`{m.code}`", m.purpose, m.paper.short) for m in METHODS]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def readme_page() -> str:
    """Return the README with the table of methods renewed."""
    before, head, rest = README.read_text().partition(METHODS_HEAD)
    _, gap, after = rest.partition("\n\n")
    return before + head + methods_table() + gap[1:] + after


if __name__ == "__main__":
    API.write_text(api_page())
    README.write_text(readme_page())
