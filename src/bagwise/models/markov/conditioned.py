"""What a network of "at least one" learns from known instances.

Given the labels of some instances, max_y f of what is left of a bag is that of a smaller bag. A
known instance is a bag of one, of its own label and of its bag's weight. Known negatives leave
their positive bag, and a positive bag with a known positive says nothing of its other instances:
whatever they are, it is positive. In negative bags all instances are negative anyway.
"""

from __future__ import annotations

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand, offsets_of, segment_max
from bagwise.bags.selection import select_attributes, take_rows


def split_known(
    bags: Bags, labels: Array, weight: Array, signs: Array
) -> tuple[Bags, Array, Array]:
    """Return bags of what is unknown and bags of one known instance, with labels and weights."""
    of_rows = expand(np.arange(len(bags)), bags.offsets)
    explained = segment_max(signs, bags.offsets) > 0
    kept = (signs == 0) & ~explained[of_rows]
    numbers, sizes = np.unique(of_rows[kept], return_counts=True)
    single = np.flatnonzero(signs)
    owners = np.concatenate([numbers, of_rows[single]])
    rows = np.concatenate([np.flatnonzero(kept), single])
    parts = Bags(
        take_rows(bags.X, rows),
        offsets_of(np.concatenate([sizes, np.ones(len(single), dtype=np.int64)])),
        **select_attributes(bags, owners, rows),
    )
    own = np.concatenate([labels[numbers], (signs[single] > 0).astype(labels.dtype)])
    return parts, own, weight[owners]
