"""Which column of a table is what, where nobody said it: guesses to suggest, never to act on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_MOST_LABELS = 20  # distinct values: more are names, not classes
_FEWEST_BAGS = 3
_FEWEST_ROWS = 1.5  # per bag on average: fewer are rows with names of their own


@dataclass(frozen=True)
class Roles:
    """Columns that look like bag ids, labels and groups; texts that are none of these.

    Examples
    --------
    >>> import pandas as pd
    >>> from bagwise.io.roles import guess_roles
    >>> frame = pd.DataFrame({"slide": list("aabbccddeeff"), "patient": list("ppppqqqqrrrr")})
    >>> roles = guess_roles(frame.assign(dx=[0, 0, 1, 1] * 3, area=range(12)))
    >>> roles.bag, roles.label, roles.groups
    ('slide', 'dx', 'patient')
    """

    bag: str | None = None
    label: str | None = None
    groups: str | None = None
    texts: list[str] = field(default_factory=list)


def read_table(
    path: Path, format: str, n_rows: int | None = None, *, decimal: str | None = None
) -> Any:
    """Return a table as a pandas data frame, texts as they are."""
    import pandas as pd

    if format == "csv":
        from bagwise.io._tabletext import MISSING, sniff

        text = sniff(path)
        options: dict[str, Any] = {"sep": text.delimiter, "nrows": n_rows, "low_memory": False}
        options |= {"na_values": sorted(MISSING), "keep_default_na": False}
        options["decimal"] = decimal or "."
        return pd.read_csv(path, header=0 if text.header_lines else None, **options)
    if format == "h5ad":
        from bagwise.io.h5ad import read_obs

        return read_obs(path)
    if format == "excel":
        return pd.read_excel(path, nrows=n_rows)
    frame = pd.read_parquet(path) if format == "parquet" else pd.read_feather(path)
    return frame if n_rows is None else frame.head(n_rows)


def has_decimal_commas(frame: Any) -> bool:
    """Whether a column of texts holds numbers with decimal commas."""
    texts = [frame[c].dropna().astype(str).head(100) for c in frame.columns if _is_text(frame[c])]
    return any(len(t) and t.str.fullmatch(r"[-+]?\d+,\d+([eE][-+]?\d+)?").all() for t in texts)


def guess_roles(frame: Any, bag: str | None = None) -> Roles:
    """Guess the roles of columns; ``bag`` is known already, or guessed too."""
    named = [c for c in frame.columns if _names_things(frame[c])]
    counts = {c: frame[c].nunique() for c in named}
    if bag is None:
        bag = _guess_bag(frame, named, counts)
    texts = [c for c in named if _is_text(frame[c]) and c != bag]
    if bag is None or bag not in frame.columns:
        return Roles(None, texts=texts)
    constant = [c for c in named if c != bag and is_constant(frame, bag, c)]
    n_bags = frame[bag].nunique()
    few = [c for c in constant if 2 <= counts[c] <= min(_MOST_LABELS, n_bags - 1)]
    label = min(few, key=lambda c: (_rank(c, _LABELS), counts[c]), default=None)
    fewest = counts.get(str(label), 1)
    grouped = [c for c in constant if c != label and fewest < counts[c] < n_bags]
    groups = max(grouped, key=lambda c: (-_rank(c, _GROUPS), counts[c]), default=None)
    rest = [c for c in texts if c not in (label, groups)]
    return Roles(bag, label, groups, rest)


_BAGS = ("bag", "slide", "molecule", "image", "case", "page", "document", "id")
_LABELS = ("label", "class", "diagnosis", "target", "dx", "outcome", "status", "y")
_GROUPS = ("patient", "group", "donor", "subject", "case", "site")


def _rank(name: str, usual: tuple[str, ...]) -> int:
    """Return how usual a name is for a role; 0 is best."""
    return next((i for i, word in enumerate(usual) if word in str(name).lower()), len(usual))


def _is_text(column: Any) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return not (is_numeric_dtype(column) or is_bool_dtype(column))


def _names_things(column: Any) -> bool:
    """Whether a column may hold names or classes: texts, whole numbers, truth values."""
    from pandas.api.types import is_float_dtype

    return not is_float_dtype(column)


def is_constant(frame: Any, bag: str, column: str) -> bool:
    """Whether a column has one value in each bag."""
    return bool((frame.groupby(bag, sort=False)[column].nunique(dropna=False) == 1).all())


def _guess_bag(frame: Any, named: list[str], counts: dict[str, int]) -> str | None:
    """Return the finest column whose values repeat and within which another column is constant."""
    several = [c for c in named if _FEWEST_BAGS <= counts[c] <= len(frame) / _FEWEST_ROWS]
    several = [c for c in several if any(is_constant(frame, c, o) for o in named if o != c)]
    return min(several, key=lambda c: (-counts[c], _rank(c, _BAGS)), default=None)
