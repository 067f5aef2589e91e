"""Columns of equal length as a table on the screen or a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

__all__ = ["check_suffix", "record_table", "write_records"]

_SUFFIXES = (".csv", ".tsv", ".json", ".parquet")
_SHOWN = 200


def check_suffix(path: Path | None) -> Path | None:
    """Refuse a file that could not be written, before the work and not after it."""
    if path is None:
        return None
    if path.suffix.lower() not in _SUFFIXES:
        raise typer.BadParameter(f"{path} must end in {', '.join(_SUFFIXES)}.")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {path.parent}: make it first.")
    return path


def write_records(path: Path, columns: dict[str, Any]) -> None:
    """Write columns; numbers so that reading gives the same bits."""
    lists = {name: np.asarray(values).tolist() for name, values in columns.items()}
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        return pq.write_table(pa.table(lists), path)
    rows = zip(*lists.values(), strict=True)
    if suffix == ".json":
        records = [dict(zip(lists, row, strict=True)) for row in rows]
        path.write_text(json.dumps(records, indent=2), encoding="utf-8")
        return None
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t" if suffix == ".tsv" else ",", lineterminator="\n")
        writer.writerow(lists)
        writer.writerows(rows)
    return None


def record_table(columns: dict[str, Any]) -> Table:
    """Return the first rows as a table."""
    lists = {name: np.asarray(values).tolist() for name, values in columns.items()}
    n_rows = len(next(iter(lists.values())))
    more = f"{n_rows - _SHOWN} more rows; --out writes all of them" if n_rows > _SHOWN else None
    table = Table(caption=more, caption_justify="left")
    for name, values in lists.items():
        numeric = bool(values) and isinstance(values[0], float)
        table.add_column(escape(name), justify="right" if numeric else "left", overflow="fold")
    for row in list(zip(*lists.values(), strict=True))[:_SHOWN]:
        table.add_row(*(escape(_shown(value)) for value in row))
    return table


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
