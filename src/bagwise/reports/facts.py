"""What the data are: counts, sizes, and what may mislead (missing values, leaks between groups)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.fingerprint import row_codes
from bagwise.bags.ids import factorize
from bagwise.errors import list_names
from bagwise.reports.twins import near_duplicates
from bagwise.rowstores.blocks import row_blocks


def data_facts(bags: Bags, y: Array, positive: Any = None) -> list[tuple[str, str]]:
    """Return pairs of a name and a text about the bags."""
    sizes = bags.sizes
    facts = [
        ("Bags", f"{len(bags):,} ({_balance(y, positive)})"),
        (
            "Instances",
            f"{bags.n_instances:,} ({sizes.min():,} to {sizes.max():,} per bag, median "
            f"{int(np.median(sizes)):,})",
        ),
        ("Features", f"{bags.n_features:,} ({bags.dtype}{', sparse' * sp.issparse(bags.X)})"),
    ]
    if bags.groups is not None:
        n_groups = len(factorize(bags.groups)[1])
        facts.append(("Groups", f"{n_groups:,}; folds and intervals keep their bags together"))
    return facts + [*_feature_facts(bags), *_twins(bags), _near(bags)]


def _balance(y: Array, positive: Any) -> str:
    labels, counts = np.unique(y, return_counts=True)
    names = [f"{label} (positive)" if label == positive else str(label) for label in labels]
    return ", ".join(f"{n:,} of class {name}" for n, name in zip(counts, names, strict=True))


def _feature_facts(bags: Bags) -> list[tuple[str, str]]:
    low = np.full(bags.n_features, np.inf)
    high, missing = -low, 0
    for rows in row_blocks(bags.n_instances, 8 * bags.n_features):
        block = bags.X[rows]
        block = block.toarray() if sp.issparse(block) else np.asarray(block)
        missing += int(np.isnan(block).sum())
        low, high = np.fmin(low, np.nanmin(block, axis=0)), np.fmax(high, np.nanmax(block, axis=0))
    constant = np.flatnonzero(low == high)
    names = bags.feature_names
    shown = [str(j) if names is None else str(names[j]) for j in constant]
    return [
        ("Missing values", f"{missing:,}"),
        ("Constant features", f"{len(constant):,}" + (f": {list_names(shown)}" if shown else "")),
    ]


def _twins(bags: Bags) -> list[tuple[str, str]]:
    """Tell of bags that share instances, which leak from training to test bags."""
    if sp.issparse(bags.X):
        return []
    codes = row_codes(bags)
    bag = np.repeat(np.arange(len(bags)), bags.sizes)
    pairs = np.unique(np.column_stack([codes, bag]), axis=0)
    shared = np.bincount(pairs[:, 0])[pairs[:, 0]] > 1
    count = len(np.unique(pairs[shared, 1]))
    if not count:
        return [("Instances in several bags", "none")]
    text = f"{count:,} bags share an instance with another bag"
    if bags.groups is not None:
        groups = factorize(bags.groups)[0][pairs[shared, 1]]
        across = np.unique(np.column_stack([pairs[shared, 0], groups]), axis=0)[:, 0]
        leaks = int((np.bincount(across) > 1).sum())
        text += f"; {leaks:,} such instances lie in several groups" + (
            ": results may be too good" if leaks else ""
        )
    return [("Instances in several bags", text)]


def _near(bags: Bags) -> tuple[str, str]:
    """Tell of bags that are nearly the same."""
    pairs, below = near_duplicates(bags)
    across = "across groups" if bags.groups is not None else ""
    criterion = f"means closer than {100 * below:.2g} % of the median distance of two bags"
    if not len(pairs):
        return "Near-duplicate bags", f"none {across} ({criterion})".replace("  ", " ")
    names = [f"{bags.ids[i]} and {bags.ids[j]}" for i, j in pairs.tolist()]
    count = len(np.unique(pairs))
    text = f"{count:,} bags have a near-duplicate {across} ({criterion}), which makes results too "
    return "Near-duplicate bags", f"{text}good: {list_names(names)}".replace("  ", " ")
