"""The papers that the methods come from, as ``papers.csv`` lists them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

_MEETINGS = ("NIPS", "ICML", "AISTATS", "ECML", "ECML PKDD", "IJCAI")
_THESIS = "master's thesis, "


def _kind_of(venue: str) -> tuple[str, str]:
    """Return the kind of a BibTeX entry, and the field that names the venue."""
    if venue.startswith(_THESIS):
        return "mastersthesis", "school"
    return ("inproceedings", "booktitle") if venue in _MEETINGS else ("article", "journal")


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

    def bibtex(self, key: str) -> str:
        """Return the entry for a BibTeX file."""
        names = self.authors.replace(" & ", ", ").split(", ")
        first = self.initials.split(", ") if self.initials else [""] * len(names)
        whole = (", ".join(filter(None, pair)) for pair in zip(names, first, strict=True))
        kind, place = _kind_of(self.venue)
        fields = {
            "author": " and ".join(whole),
            "title": f"{{{self.title}}}",
            place: self.venue.removeprefix(_THESIS),
            "year": self.year,
        }
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
        return f"@{kind}{{{key},\n{lines}\n}}"

    def __str__(self) -> str:
        return f'{self.authors}, "{self.title}", {self.venue} {self.year}'


def _read_papers() -> dict[str, Paper]:
    with Path(__file__).with_name("papers.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row.pop("key"), int(row.pop("year")), row) for row in csv.DictReader(file)]
    return {key: Paper(year=year, **texts) for key, year, texts in rows}


PAPERS = _read_papers()
