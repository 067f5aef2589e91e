"""What the data are: counts, sizes, and what may mislead (missing values, copies in groups)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.errors import list_names
from bagwise.estimators.input import MOST_CLASSES, read_task
from bagwise.io.findings import Findings, look_at


def data_facts(bags: Any, y: Array, positive: Any = None) -> list[tuple[str, str]]:
    """Return pairs of a name and a text about the bags."""
    bags = check_bags(bags, finite=False)
    facts = describe_findings(bags, look_at(bags, y), positive)
    if read_task(y) == "classes":
        return facts
    return [("Bags", f"{len(bags):,} ({describe_labels(y)})"), *facts[1:]]


def describe_labels(y: Array) -> str:
    """Return what labels are, in words, however many values they have."""
    if y.dtype.names is not None:
        return f"{int(y['event'].sum()):,} with an event, the last time is {y['time'].max():.4g}"
    if y.dtype.kind not in "fiu" or len(np.unique(y)) <= MOST_CLASSES:
        return list_names(f"{int(np.sum(y == each)):,} of {each}" for each in np.unique(y).tolist())
    return f"numbers from {y.min():.4g} to {y.max():.4g}, median {np.median(y):.4g}"


def describe_findings(bags: Bags, found: Findings, positive: Any = None) -> list[tuple[str, str]]:
    """Return pairs of a name and a text about what was found in bags."""
    low, middle, high = found.sizes
    names = [] if bags.feature_names is None else list(map(str, bags.feature_names))
    sparse = ", sparse" * sp.issparse(bags.X)
    facts = {
        "Bags": f"{found.n_bags:,}{_balance(found.labels, positive)}",
        "Instances": f"{found.n_instances:,} ({low:,} to {high:,} per bag, median {middle:,})",
        "Features": f"{found.n_features:,} ({bags.dtype}{sparse}){_list(names)}",
        "Missing values": f"{sum(found.missing.values()):,}{_list(found.missing)}",
        "Constant features": f"{len(found.constant):,}{_list(found.constant)}",
        "Scales": "very different: " + " and ".join(found.far) if found.far else "similar",
        "Instances in several bags": _copies(found),
    }
    if found.infinite:
        facts["Infinite values"] = f"{sum(found.infinite.values()):,}{_list(found.infinite)}"
    if found.n_groups:
        facts["Groups"] = f"{found.n_groups:,}; folds and intervals keep their bags together"
    return [*facts.items()]


def _balance(labels: dict[str, int], positive: Any) -> str:
    parts = [
        f"{count:,} of class {name}" + " (positive)" * (name == str(positive))
        for name, count in labels.items()
    ]
    return f" ({list_names(parts)})" if parts else ""


def _list(names: Iterable[str]) -> str:
    listed = list_names(names)
    return f": {listed}" if listed else ""


def _copies(found: Findings) -> str:
    if not found.shared:
        return "none"
    across, leak = found.shared_across_groups, ": results may be too good"
    in_groups = f", {across:,} of them in several groups{leak * (across > 0)}"
    return f"{found.shared:,}{in_groups * (found.n_groups > 0)}"
