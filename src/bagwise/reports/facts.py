"""What the data are: counts, sizes, and what may mislead (missing values, leaks between groups).

Bags that are nearly the same leak from training to test bags if they are in two groups. A bag
stands for its mean, each feature divided by its standard deviation between bags. Two bags are
near-duplicates if the distance of their means is below r times the median distance of two bags,

    r = min(.01, (.01 / N)^(1/D)),    N = n (n - 1) / 2 pairs,

with D = (sum_k v_k)^2 / sum_k v_k^2 the number of dimensions that means vary in (v_k: variances
along principal axes). In D dimensions about N r^D pairs are this close by chance: so there is at
most a chance of one in a hundred that any is.

Means are projected onto a few axes, where distances are never larger. A k-d tree finds the pairs
that are close there, and their true distances decide: n log n, not n^2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.ids import factorize
from bagwise.bags.segments import bag_index
from bagwise.errors import list_names
from bagwise.estimators.labels import MOST_CLASSES, read_task
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
    if found.n_groups:
        facts["Groups"] = f"{found.n_groups:,}; folds and intervals keep their bags together"
    return [*facts.items(), _near(bags)]


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


_CLOSE = 0.01  # of the median distance (copies that were scanned again), and chance of an error
_N_NEIGHBORS = 16  # looked at per bag: bounds the work where hundreds are alike
_N_SAMPLE = 500  # bags from which the median distance and the dimension are estimated


class Twins(NamedTuple):
    """Pairs of near-duplicates, the closest first, and below which fraction of the median."""

    pairs: Array  # (n_pairs, 2): numbers of bags
    below: float


def near_duplicates(bags: Bags) -> Twins:
    """Find bags of different groups (any bags, without groups) that are nearly the same."""
    Z = _scale_means(bags)
    if len(bags) < 3 or not Z.shape[1]:
        return Twins(np.empty((0, 2), dtype=int), _CLOSE)
    distance, dimension = _usual(Z)
    n_pairs = len(bags) * (len(bags) - 1) / 2
    below = min(_CLOSE, (_CLOSE / n_pairs) ** (1 / dimension))
    pairs = _candidates(Z, below * distance)
    if bags.groups is not None:
        group = factorize(bags.groups)[0]
        pairs = pairs[group[pairs[:, 0]] != group[pairs[:, 1]]]
    apart = _norms(Z[pairs[:, 0]] - Z[pairs[:, 1]])
    order = np.argsort(apart, kind="stable")
    return Twins(pairs[order[apart[order] <= below * distance]], below)


def _scale_means(bags: Bags) -> Any:
    """Return a mean per bag in units of the spread between bags, without constant features."""
    if sp.issparse(bags.X):
        ones = np.repeat(1.0 / bags.sizes, bags.sizes)
        average = sp.csr_array((ones, (bag_index(bags.offsets), np.arange(bags.n_instances))))
        means = average @ bags.X
        square = means.multiply(means).mean(axis=0) - means.mean(axis=0) ** 2
        spread = np.sqrt(np.maximum(np.asarray(square).ravel(), 0.0))
        kept = np.flatnonzero(spread > 0)
        return sp.csr_array(means[:, kept] @ sp.diags_array(1 / spread[kept]))
    means = np.array([_mean(bag) for bag in bags])
    spread = np.nanstd(means, axis=0)
    kept = spread > 0
    return np.nan_to_num(means[:, kept] / spread[kept])


def _mean(rows: Array) -> Array:
    known = ~np.isnan(rows)
    counts = np.maximum(known.sum(axis=0), 1)
    return np.sum(rows, axis=0, dtype=np.float64, where=known) / counts


def _usual(Z: Any) -> tuple[float, float]:
    """Return the median distance of two bags, and the number of dimensions that they vary in."""
    n = Z.shape[0]
    sample = np.arange(n)
    if n > _N_SAMPLE:
        sample = np.random.default_rng(0).choice(n, _N_SAMPLE, replace=False)
    rows = Z[sample]
    gram = rows @ rows.T
    gram = np.asarray(gram.toarray() if sp.issparse(gram) else gram)
    squares = np.diag(gram)
    apart = squares[:, None] + squares - 2 * gram
    distance = np.sqrt(max(np.median(apart[np.triu_indices(len(sample), 1)]), 0.0))
    centered = gram - gram.mean(axis=0)
    centered -= centered.mean(axis=1)[:, None]
    return float(distance), float(np.trace(centered) ** 2 / np.sum(centered**2))


def _candidates(Z: Any, radius: float) -> Array:
    """Return pairs that are within the radius on a few orthogonal axes."""
    n_axes = min(Z.shape[0].bit_length(), Z.shape[1])  # a tree over n points has log2(n) levels
    axes = np.random.default_rng(0).standard_normal((Z.shape[1], n_axes))
    places = np.asarray(Z @ np.linalg.qr(axes)[0])
    k = min(_N_NEIGHBORS, len(places))
    # Slightly more than the radius: bags at a distance of zero must be found where it is zero.
    found = cKDTree(places).query(places, k=k, distance_upper_bound=radius + 1e-9)[1]
    first = np.repeat(np.arange(len(places)), k)
    pairs = np.column_stack([first, found.ravel()])
    pairs = pairs[(pairs[:, 1] < len(places)) & (pairs[:, 0] != pairs[:, 1])]
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _norms(rows: Any) -> Array:
    squares = rows.multiply(rows).sum(axis=1) if sp.issparse(rows) else (rows**2).sum(axis=1)
    return np.sqrt(np.asarray(squares).ravel())
