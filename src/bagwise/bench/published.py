"""The papers' printed numbers, each with its source, table and protocol (``published.yaml``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bagwise.errors import suggestion

Number = tuple[float, float | None]


@dataclass(frozen=True)
class PublishedTable:
    """A table or figure of a paper."""

    name: str  # its key
    source: str  # the paper
    table: str  # where in it
    protocol: str  # how it was measured
    spread: str = ""  # what the numbers after +- are
    remarks: str = ""  # what to know before comparing
    # metric -> model -> data set -> (number, spread or None), as printed
    values: dict[str, dict[str, dict[str, Number]]] = field(default_factory=dict)

    def number(self, metric: str, model: str, data: str) -> Number | None:
        """Return a printed number, None where there is none."""
        return self.values.get(metric, {}).get(model, {}).get(data)


@cache
def read_published() -> dict[str, PublishedTable]:
    """Return all tables of published numbers by name."""
    import yaml

    content = yaml.safe_load(Path(__file__).with_name("published.yaml").read_text())
    return {name: _table(name, entry) for name, entry in content.items()}


def find_published(name: str) -> PublishedTable:
    """Return one table of published numbers.

    Examples
    --------
    >>> from bagwise.bench.published import find_published
    >>> find_published("gehler2007-table1").number("error", "T=10C, p* (ALP-SVM)", "tiger")
    (14.0, None)
    """
    tables = read_published()
    if name not in tables:
        raise ValueError(f"published: there is no table {name!r}. {suggestion(name, tables)}")
    return tables[name]


def _table(name: str, entry: dict[str, Any]) -> PublishedTable:
    values = {
        metric: {model: _row(row, part["columns"]) for model, row in part["rows"].items()}
        for metric, part in entry.pop("values").items()
    }
    return PublishedTable(name, values=values, **entry)


def _row(row: list[Any], columns: list[str]) -> dict[str, Number]:
    numbers = zip(columns, row, strict=True)
    return {data: _number(value) for data, value in numbers if value is not None}


def _number(value: Any) -> Number:
    return (float(value[0]), float(value[1])) if isinstance(value, list) else (float(value), None)
