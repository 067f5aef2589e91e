"""Trees within bags: ``parents`` holds positions within the bag, -1 for a root."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.ids import is_missing, name_of
from bagwise.bags.segments import bag_index, bag_of_row, expand

if TYPE_CHECKING:
    from bagwise.bags.bags import Bags


_ROOTS = ("", "-1")  # among texts


def as_parents(bags: Bags) -> Any:
    """Return the parents of instances as checked positions; they may be given as ids."""
    parents = bags.parents
    if parents is None:
        return None
    if parents.dtype.kind not in "iuUO":
        what = "integers (positions within the bag, -1 for a root), or texts (ids of instances)"
        raise ValueError(f"parents must be {what}, got dtype {parents.dtype}.")
    if parents.dtype.kind in "UO":
        parents = _positions(bags)
        parents.flags.writeable = False
    parents = parents.astype(np.int64, copy=False)
    _check_parents(parents, bags.offsets, bags.ids)
    return parents


def _positions(bags: Bags) -> Array:
    """Look up the ids of parents among the instances of their bags."""
    parents, names = bags.parents.tolist(), bags.instance_ids.tolist()
    found = np.full(len(parents), -1, dtype=np.int64)
    for bag, (first, last) in enumerate(pairwise(bags.offsets.tolist())):
        places = {name: place for place, name in enumerate(names[first:last])}
        problem = "two instances have the same id" if len(places) < last - first else ""
        for row in range(first, last):
            parent = parents[row]
            if is_missing(parent) or parent in _ROOTS:
                continue
            if not isinstance(parent, str):
                problem = f"the parent {parent!r} is in a column with others that are not numbers"
            elif parent not in places:
                problem = f"the parent {parent!r} of its instance {names[row]!r} is not in the bag"
            else:
                found[row] = places[parent]
        if problem:
            remedy = "name instance_ids of the bag and '-1' for a root, or give positions and -1."
            raise ValueError(f"{name_of(bags.ids, bag)}: {problem}: {remedy}")
    return found


def _check_parents(parents: Array, offsets: Array, ids: Any) -> None:
    """Check that every parent is in the bag, and that no instance is above itself."""
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
