"""`check_bags`: converts every accepted form of input to `Bags`."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.arrays import FLOATS, as_array, in_range, verify_bags
from bagwise.bags.bags import Bags
from bagwise.bags.forms import is_plain_table
from bagwise.bags.ids import name_of
from bagwise.bags.segments import bag_of_row
from bagwise.bags.stored import verify
from bagwise.errors import Message, SingleInstanceWarning, Step
from bagwise.rowstores.base import is_mapped, map_ranges, row_blocks


def check_bags(bags: Any, *, finite: bool | Literal["allow-nan"] = True) -> Bags:
    """Convert any accepted form of multiple-instance data to `Bags`.

    Parameters
    ----------
    bags : Bags, list or object array of 2-D arrays, 3-D array, 2-D array or data frame
        A 3-D array holds bags of equal size; every row of a plain 2-D array (dense, sparse or data
        frame) is a bag of one instance.
    finite : bool or "allow-nan", default=True
        Whether to refuse NaN and infinity, or infinity alone; the error names the bag, the
        instance and the feature.

    Returns
    -------
    Bags
        The bags; the same object if the input is `Bags` already.

    Examples
    --------
    >>> from bagwise import check_bags
    >>> check_bags([np.zeros((2, 3)), np.ones((4, 3))])
    Bags(2 bags, 6 instances, 3 features, 2-4 instances per bag, float64)
    """
    if not isinstance(bags, Bags):
        bags = _as_bags(bags)
    if len(bags) == 0:
        raise ValueError("There are no bags: 0 sample(s) were given, at least 1 is required.")
    if bags.n_features == 0:
        raise ValueError("The instances have 0 feature(s), a minimum of 1 is required.")
    check_finite(bags, finite == "allow-nan") if finite else verify_bags(bags)
    return bags


def warn_of_single_instances(n_bags: int) -> None:
    """Warn that every row of a plain table becomes a bag."""
    warnings.warn(
        f"Every row of this table is taken as a bag of one instance ({n_bags} bags). If several "
        "rows belong to one bag, use Bags.from_frame(frame, bag=..., label=...) or "
        "Bags.from_groups(X, bag_ids, y); a single bag is [X], a list of one array.",
        SingleInstanceWarning,
        stacklevel=3,
    )


def _as_bags(data: Any) -> Bags:
    if is_plain_table(data):
        from sklearn.utils import check_array  # takes half a second, and only this form needs it

        data = as_array(data, "The table") if isinstance(data, list | tuple) else data
        data = in_range(data) if sp.issparse(data) else data
        X = check_array(data, accept_sparse="csr", dtype=list(FLOATS), ensure_all_finite=False)
        warn_of_single_instances(X.shape[0])
        return Bags(X, np.arange(X.shape[0] + 1))
    if getattr(data, "ndim", 1) == 3:
        return Bags.from_padded(data)
    return Bags.from_list(list(data))


def check_finite(bags: Bags, allow_nan: bool = False) -> None:
    """Refuse NaN and infinity, block by block; the error names bag, instance and feature."""
    if getattr(bags.X, "is_finite", False):
        return
    values = bags.X.data if sp.issparse(bags.X) else bags.X
    width = 1 if values.ndim == 1 else max(1, values.shape[1])
    ranges = row_blocks(len(values), 8 * width)
    map_ranges(bags.X, ranges, partial(_check_block, bags, values, allow_nan))


def _check_block(bags: Bags, values: Any, allow_nan: bool, rows: slice) -> None:
    block = np.asarray(values[rows])
    if is_mapped(block):
        verify(block)
    # A finite sum proves that all entries are finite, in one pass.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(block.sum(dtype=np.float64)):
            return
    bad = np.argwhere(np.isinf(block) if allow_nan else ~np.isfinite(block))
    if len(bad):
        _raise_not_finite(bags, rows.start + bad[0][0], bad[0], block)


def _raise_not_finite(bags: Bags, position: int, entry: Array, block: Array) -> None:
    if sp.issparse(bags.X):
        row = bag_of_row(position, bags.X.indptr)
        column = int(bags.X.indices[position])
    else:
        row, column = int(position), int(entry[1])
    bag = bag_of_row(row, bags.offsets)
    name = column if bags.feature_names is None else repr(str(bags.feature_names[column]))
    place = f"in its instance {row - bags.offsets[bag]}, feature {name}."
    if np.isinf(block[tuple(entry)]):
        remedy = "Correct the value, or leave out the instance or the feature."
        raise ValueError(f"{name_of(bags.ids, bag)} contains infinity {place} {remedy}")
    start = f"{name_of(bags.ids, bag)} contains NaN {place} Impute or drop it first, for example"
    raise ValueError(Message(start, " with ", Step("impute", "PerInstance(SimpleImputer())"), "."))
