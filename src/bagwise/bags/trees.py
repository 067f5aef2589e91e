"""Trees within bags: ``parents`` holds positions within the bag, -1 for a root."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.ids import name_of
from bagwise.bags.segments import bag_index, bag_of_row, expand

if TYPE_CHECKING:
    from bagwise.bags.bags import Bags


def check_parents(parents: Any, offsets: Array, ids: Any) -> None:
    """Check that every parent is in the bag, and that no instance is above itself."""
    if parents is None:
        return
    first, sizes = expand(offsets[:-1], offsets), expand(np.diff(offsets), offsets)
    outside = np.flatnonzero((parents < -1) | (parents >= sizes))
    if len(outside):
        row = int(outside[0])
        problem = f"the parent {parents[row]} of its instance {row - first[row]} is not in the bag"
        remedy = f"give a position from 0 to {sizes[row] - 1}, or -1 for a root."
        raise ValueError(f"{name_of(ids, bag_of_row(row, offsets))}: {problem}: {remedy}")
    # Steps up, doubled until they are longer than any branch; above a root there is one more row.
    n_rows = len(parents)
    above = np.append(np.where(parents < 0, n_rows, first + parents), n_rows)
    for _ in range(int(sizes.max(initial=0)).bit_length()):
        above = above[above]
    if np.any(above < n_rows):
        row = int(above[above < n_rows][0])
        problem = f"its instance {row - first[row]} is above itself: its parents are a cycle"
        remedy = "give one instance of it the parent -1."
        raise ValueError(f"{name_of(ids, bag_of_row(row, offsets))}: {problem}: {remedy}")


def parents_without(bags: Bags, instances: Array, rows: Array, offsets: Array) -> Array:
    """Return the parents in bags that lose an instance each; rows and offsets are what is left.

    Its children go to its own parent, as neighbors in a chain become neighbors.
    """
    first = bags.offsets[bag_index(bags.offsets)[instances]]
    gone, heir = (expand(of, offsets) for of in (instances - first, bags.parents[instances]))
    kept = np.where(bags.parents[rows] == gone, heir, bags.parents[rows])
    return kept - (kept > gone)


def spanning_parents(bags: Bags, by: str) -> Array:
    """Return the parents of minimum spanning trees over the features or the coordinates of bags."""
    from bagwise.bags import _trees

    if by == "coords" and bags.coords is None:
        raise ValueError(
            "The bags have no coordinates: give them with bags.replace(coords=...), one (x, y) per "
            "instance, or choose by='features'."
        )
    parents = np.empty(bags.n_instances, dtype=np.int64)
    for i, (first, last) in enumerate(pairwise(bags.offsets.tolist())):
        points = bags.coords[first:last] if by == "coords" else bags[i]
        points = points.toarray() if sp.issparse(points) else points
        points = np.array(points, dtype=np.float64, order="C")  # writeable: one compiled version
        parents[first:last] = _trees.spanning_tree(points)
    return parents
