"""Bags for tests, and how to compare them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise import Bags
from bagwise.bags.arrays import PER_BAG, PER_INSTANCE

__all__ = ["assert_is_selection", "assert_same_bags", "dense", "full_bags"]


def dense(X: Any) -> Any:
    """Return instances as a plain array."""
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def full_bags(sizes: Any, store: Any = np.asarray, dtype: Any = np.float64) -> Bags:
    """Make bags with every attribute, whose values tell which bag and row they belong to."""
    n, n_bags = int(np.sum(sizes)), len(sizes)
    X = np.arange(1.0, 2 * n + 1).reshape(n, 2).astype(dtype)
    return Bags(
        store(X),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        ids=[f"bag{i}" for i in range(n_bags)],
        groups=np.arange(n_bags) // 2,
        sites=[f"site{i // 4}" for i in range(n_bags)],
        bag_features=np.arange(3.0 * n_bags).reshape(n_bags, 3),
        priors=np.linspace(0, 1, n_bags),
        instance_ids=np.arange(n) * 10,
        instance_labels=np.arange(n) % 2,
        parts=[f"part{i // 2}" for i in range(n)],
        coords=np.arange(2.0 * n).reshape(n, 2),
        patch_size=np.full(len(sizes), 256.0),
        feature_names=["f", "g"],
        known_labels=np.where(np.arange(n) % 3, np.arange(n) % 2, np.nan),
    )


def assert_is_selection(part: Bags, bags: Bags, chosen: Any) -> None:
    """Check a selection, attribute by attribute, against the bags chosen one after another."""
    rows = [r for i in chosen for r in range(bags.offsets[i], bags.offsets[i + 1])]
    np.testing.assert_array_equal(dense(part.X), dense(bags.X)[rows])
    np.testing.assert_array_equal(part.sizes, bags.sizes[chosen])
    for name in PER_BAG:
        np.testing.assert_array_equal(getattr(part, name), getattr(bags, name)[chosen])
    for name in PER_INSTANCE:
        np.testing.assert_array_equal(getattr(part, name), getattr(bags, name)[rows])
    np.testing.assert_array_equal(part.feature_names, bags.feature_names)
    assert part.has_ids is bags.has_ids
    assert part.has_instance_ids is bags.has_instance_ids
    assert (part.dtype, sp.issparse(part.X)) == (bags.dtype, sp.issparse(bags.X))


def assert_same_bags(
    one: Any, other: Any, *, storage: bool = True, attributes: bool = True
) -> None:
    """Compare two pairs (bags, labels); the storage is data type and sparsity."""
    (a, y), (b, z) = one, other
    assert y.dtype.kind == z.dtype.kind
    np.testing.assert_array_equal(y, z)
    np.testing.assert_array_equal(a.offsets, b.offsets)
    np.testing.assert_array_equal(a.ids, b.ids)
    assert a.ids.dtype.kind == b.ids.dtype.kind
    np.testing.assert_array_equal(dense(a.X), dense(b.X))
    if storage:
        assert sp.issparse(a.X) == sp.issparse(b.X)
        assert a.dtype == b.dtype
    for name in ("groups", "sites", "priors", "bag_features", *PER_INSTANCE) if attributes else ():
        left, right = getattr(a, name), getattr(b, name)
        assert (left is None) == (right is None), name
        if left is not None:
            np.testing.assert_array_equal(left, right, err_msg=name)


def grouped(kind, **options):
    """Build an estimator; parameters of its groups are given by their own names."""
    paths = {path.rpartition("__")[2]: path for path in kind().get_params()}
    return kind().set_params(**{paths[name]: value for name, value in options.items()})
