"""What to know before a model sees bags: what they hold, and which column of a table is what.

The roles of columns are guesses, to suggest and never to act on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.arrays import feature_names
from bagwise.bags.leaks import FEWEST, Leak, count_shared, find_leaks, row_codes
from bagwise.bags.segments import bag_of_row
from bagwise.estimators.input import MOST_CLASSES, far_apart, feature_spreads, read_task
from bagwise.io._assemble import INDEX, MISSING, refuse_duplicates
from bagwise.io._files import rows_per_block
from bagwise.io._flatten import dense_blocks
from bagwise.io.h5ad import read_obs
from bagwise.io.tables import is_number, sniff

_FEWEST_ROWS = 1.5  # per bag on average: fewer are rows with names of their own
_BAGS = ("bag", "slide", "molecule", "image", "case", "page", "document", "id")
_LABELS = ("label", "class", "diagnosis", "target", "dx", "outcome", "status", "y")
_THOUSANDS = r"[-+]?[1-9]\d{0,2}(,\d{3})+"  # or decimal commas: nobody knows
_WITH_COMMAS = r"[-+]?\d+(\.\d{3})*(,\d+)?([eE][-+]?\d+)?"
_GROUPS = ("patient", "group", "donor", "subject", "case", "site")


@dataclass(frozen=True)
class Findings:
    """Counts that say what a table holds and what it needs."""

    n_bags: int
    n_instances: int
    n_features: int
    sizes: tuple[int, int, int]  # of the smallest, the median and the largest bag
    labels: dict[str, int]  # number of bags per label; empty without labels
    n_groups: int  # 0 without groups
    missing: dict[str, int]  # number of missing values by feature, where there are any
    infinite: dict[str, int]  # and of infinite ones
    constant: list[str]  # features with a single value
    far: tuple[str, str] | None  # features of very different spread, the smallest and the largest
    counters: list[str]  # features that only number the instances of each bag
    shared: int  # instances that appear, with equal features, in more than one bag
    shared_across_groups: int  # those of them that appear in more than one group
    leaks: list[Leak]  # what may give labels away


@np.errstate(invalid="ignore")  # of infinite values, which are counted
def look_at(bags: Bags, y: Any = None) -> Findings:
    """Count what matters before a model is fitted."""
    known = [str(name) for name in feature_names(bags)]
    missing, infinite, low, high = _columns(bags)
    varying = np.where(np.isfinite(low), high - low, 0.0)
    far = far_apart(varying if (missing + infinite).any() else feature_spreads(bags))
    labels = () if y is None else zip(*np.unique(y, return_counts=True), strict=True)
    groups = None if bags.groups is None else np.unique(bags.groups, return_inverse=True)[1]
    copies = row_codes(bags)
    return Findings(
        *(len(bags), bags.n_instances, bags.n_features),
        sizes=(int(bags.sizes.min()), int(np.median(bags.sizes)), int(bags.sizes.max())),
        labels={str(label): int(count) for label, count in labels},
        n_groups=0 if groups is None else len(set(groups.tolist())),
        missing={known[j]: int(missing[j]) for j in np.flatnonzero(missing)},
        infinite={known[j]: int(infinite[j]) for j in np.flatnonzero(infinite)},
        constant=[known[j] for j in np.flatnonzero(varying == 0)],
        far=None if far is None else (known[far[0]], known[far[1]]),
        counters=[known[j] for j in _counters(bags)],
        shared=count_shared(copies, np.arange(len(bags)), bags),
        shared_across_groups=0 if groups is None else count_shared(copies, groups, bags),
        leaks=find_leaks(bags, y if y is not None and read_task(y) == "classes" else None),
    )


def _columns(bags: Bags) -> tuple[Array, Array, Array, Array]:
    """Return per feature the number of missing and of infinite values, and the range of others."""
    d = bags.n_features
    (missing, infinite), low, high = np.zeros((2, d), int), np.full(d, np.inf), np.full(d, -np.inf)
    for _, rows in dense_blocks(bags):
        block = np.array(rows, dtype=np.float64)
        missing += np.isnan(block).sum(axis=0)
        infinite += np.isinf(block).sum(axis=0)
        block[np.isinf(block)] = np.nan
        low, high = np.fmin(low, np.fmin.reduce(block)), np.fmax(high, np.fmax.reduce(block))
    return missing, infinite, low, high


def _counters(bags: Bags) -> list[int]:
    """Return the features that are 0, 1, 2, ... or 1, 2, 3, ... in every bag, in any order."""
    first = bags[: bag_of_row(rows_per_block(bags.n_features), bags.offsets) + 1]  # of a block
    if sp.issparse(first.X) or first.sizes.max() < 2:
        return []
    X = np.array(first.X, dtype=np.float64)
    sizes, starts = first.sizes[:, None], first.offsets[:-1]
    low = np.minimum.reduceat(X, starts)
    X -= low[0]
    sums, squares = np.add.reduceat(X, starts), np.add.reduceat(X**2, starts)
    numbers = (low == low[0]) & (sums == sizes * (sizes - 1) / 2)
    numbers &= squares == sizes * (sizes - 1) * (2 * sizes - 1) / 6
    return np.flatnonzero(numbers.all(axis=0) & np.isin(low[0], (0, 1))).tolist()


# Roles of columns --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Roles:
    """Columns that look like bag ids, labels and groups; texts that are none of these."""

    bag: str | None = None
    label: str | None = None
    groups: str | None = None
    texts: list[str] = field(default_factory=list)
    instance: str | None = None  # a text that differs on all rows, or their number


def read_table(
    path: Path, format: str, n_rows: int | None = None, *, decimal: Any = None, texts: Any = ()
) -> Any:
    """Return a table as a pandas data frame; CSV and Excel leave the columns ``texts`` as texts."""
    import pandas as pd

    options: dict[str, Any] = {"nrows": n_rows, "converters": dict.fromkeys(texts, str)}
    if format == "csv":
        text = sniff(path)
        options |= {"sep": text.delimiter, "low_memory": False, "decimal": decimal or "."}
        options |= {"na_values": sorted(MISSING), "keep_default_na": False}
        frame = pd.read_csv(path, header=0 if text.header_lines else None, **options)
        if text.header_lines:
            refuse_duplicates(path, text.names)
            frame.columns = text.names
        return frame
    if format == "h5ad":
        return read_obs(path)
    if format == "excel":  # pandas makes up names, which other readers do not know
        frame = pd.read_excel(path, **options)
        return frame.rename(columns=lambda name: re.sub(r"^Unnamed: \d+$", "", str(name)))
    frame = pd.read_parquet(path) if format == "parquet" else pd.read_feather(path)
    return frame if n_rows is None else frame.head(n_rows)


def has_decimal_commas(frame: Any) -> bool:
    """Whether a column of texts holds numbers with decimal commas, and none has decimal points."""
    if (frame.select_dtypes("float") % 1 > 0).any(axis=None):
        return False
    texts = [frame[c].dropna().astype(str).head(100) for c in frame.columns if _is_text(frame[c])]
    texts = [t for t in texts if t.str.fullmatch(_WITH_COMMAS).all()]
    return any((t.str.contains(",") & ~t.str.fullmatch(_THOUSANDS)).any() for t in texts)


def find_numbers(frame: Any, texts: list[str], decimal: str | None = None) -> dict[str, str]:
    """Return columns of texts that are mostly numbers, with one that is none, if there is any."""
    import pandas as pd

    found: dict[str, str] = {}
    for name in [name for name in texts if _is_text(frame[name])]:
        column = frame[name].dropna().astype(str)
        bare = pd.to_numeric(column.str.replace(r"[<>~%,\s]", "", regex=True), errors="coerce")
        if bare.notna().mean() > 1 / 2:
            strange = (text for text in column if not is_number(text, decimal or "."))
            found[name] = next(strange, column.iloc[0])
    return found


def guess_roles(frame: Any, bag: str | None = None) -> Roles:
    """Guess the roles of columns; ``bag`` is known already, or guessed too."""
    from pandas.api.types import is_float_dtype

    frame = frame.drop(columns=[c for c in frame.columns if c in INDEX and c != bag])
    named = [c for c in frame.columns if not is_float_dtype(frame[c])]  # names or classes
    counts = {c: frame[c].nunique() for c in named}
    numbers = [c for c in frame.columns if c not in named and _rank(c, _LABELS) < len(_LABELS)]
    if bag is None:
        bag = _guess_bag(frame, named, counts, [*named, *numbers])
    texts = [c for c in named if _is_text(frame[c]) and c != bag]
    if bag is None or bag not in frame.columns:
        return Roles(None, texts=texts)
    constant = [c for c in named if c != bag and is_constant(frame, bag, c)]
    n_bags = frame[bag].nunique()
    few = [c for c in constant if 2 <= counts[c] <= min(MOST_CLASSES, n_bags - 1)]
    label = min(few, key=lambda c: (_rank(c, _LABELS), counts[c]), default=None)
    if label is None:  # a number that is measured of each bag
        label = next((c for c in numbers if is_constant(frame, bag, c)), None)
    fewest = counts.get(str(label), 1)
    grouped = [c for c in constant if c != label and fewest < counts[c] < n_bags]
    # Numbers of another name, such as ages, are facts about bags.
    grouped = [c for c in grouped if _is_text(frame[c]) or _rank(c, _GROUPS) < len(_GROUPS)]
    groups = max(grouped, key=lambda c: (-_rank(c, _GROUPS), counts[c]), default=None)
    rest = [c for c in texts if c not in (label, groups)]
    names = [c for c in rest if counts[c] == len(frame) and not find_numbers(frame, [c])]
    own = next(iter([*names, *(c for c in named if _numbers_rows(frame[c]))]), None)
    return Roles(bag, label, groups, [c for c in rest if c != own], own)


def _numbers_rows(column: Any) -> bool:
    """Whether a column holds as many consecutive integers as it has rows, in any order."""
    from pandas.api.types import is_integer_dtype

    if not (is_integer_dtype(column) and column.is_unique):
        return False
    return bool(column.max() - column.min() == len(column) - 1)


def _rank(name: str, usual: tuple[str, ...]) -> int:
    """Return how usual a name is for a role; 0 is best."""
    return next((i for i, word in enumerate(usual) if word in str(name).lower()), len(usual))


def _is_text(column: Any) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return not (is_numeric_dtype(column) or is_bool_dtype(column))


def is_constant(frame: Any, bag: str, column: str) -> bool:
    """Whether a column has one value in each bag."""
    return bool((frame.groupby(bag, sort=False)[column].nunique(dropna=False) == 1).all())


def _guess_bag(
    frame: Any, named: list[str], counts: dict[str, int], others: list[str]
) -> str | None:
    """Return the finest column whose values repeat and within which another column is constant.

    Where there is none, a text of a usual name.
    """
    several = [c for c in named if FEWEST <= counts[c] <= len(frame) / _FEWEST_ROWS]
    fixed = [c for c in several if any(is_constant(frame, c, o) for o in others if o != c)]
    usual = [c for c in several if _is_text(frame[c]) and _rank(c, _BAGS) < len(_BAGS)]
    several = fixed or usual
    return min(several, key=lambda c: (-counts[c], _rank(c, _BAGS)), default=None)
