"""The papers that the methods come from, as ``papers.csv`` lists them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Paper:
    """A paper: authors, year, venue, title, and the authors' initials in the same order."""

    authors: str
    year: int
    venue: str
    title: str
    initials: str = ""

    @property
    def short(self) -> str:
        """Authors and year, as the project cites it."""
        return f"{self.authors} {self.year}"

    def __str__(self) -> str:
        return f'{self.authors}, "{self.title}", {self.venue} {self.year}'


def _read_papers() -> dict[str, Paper]:
    with Path(__file__).with_name("papers.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row.pop("key"), int(row.pop("year")), row) for row in csv.DictReader(file)]
    return {key: Paper(year=year, **texts) for key, year, texts in rows}


PAPERS = _read_papers()
