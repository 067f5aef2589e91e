"""``bagwise models``: the methods, by the names of their papers."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

from bagwise.cli.output import Json, plain_table, show, show_json


def models(as_json: Json = False) -> None:
    """List the models: paper name, class, purpose and paper.

    In Python: `bagwise.WitnessSVC(C=10)`, or by the paper's name
    `bagwise.by_paper_name("MI-SVM", C=10)`.
    """
    from bagwise.catalog import METHODS

    if as_json:
        show_json([_record(method) for method in METHODS])
        return
    table = plain_table("paper name", "in Python", "purpose", "paper", show_lines=True)
    table.columns[0].no_wrap = True
    for method in METHODS:
        texts = (method.name, method.code, method.purpose, method.paper.short)
        table.add_row(*(escape(text) for text in texts))
    show(table)


def _record(method: Any) -> dict[str, Any]:
    return {
        "name": method.name,
        "class": method.class_name,
        "options": method.options,
        "purpose": method.purpose,
        "can": method.can,
        "paper": str(method.paper),
    }
