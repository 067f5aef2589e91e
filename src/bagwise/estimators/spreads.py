"""Features on scales that no kernel of distances can compare."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.errors import SCALE, Message, ScaleWarning

_ROWS = 2000  # of the instances: enough for an order of magnitude
_FAR = 1e3  # ratio of spreads beyond which a distance sees the larger feature alone


def feature_spreads(bags: Bags) -> Array:
    """Return the standard deviation of every feature, on some of the instances of large bags."""
    rows = bags.X[:: -(-bags.n_instances // _ROWS)]
    if sp.issparse(rows):
        return np.sqrt(mean_variance_axis(rows.astype(np.float64), axis=0)[1])
    return np.asarray(rows, dtype=np.float64).std(axis=0)


def far_apart(spreads: Array) -> tuple[int, int] | None:
    """Return the features of smallest and largest spread where these differ by more than 1,000.

    Constant features say nothing, and rounding gives some of them a tiny spread.
    """
    varying = np.flatnonzero(spreads > 1e-12 * spreads.max(initial=0.0))
    if not len(varying):
        return None
    low, high = (varying[pick(spreads[varying])] for pick in (np.argmin, np.argmax))
    return (int(low), int(high)) if spreads[high] > _FAR * spreads[low] else None


def warn_of_spreads(bags: Bags) -> None:
    """Warn of features that a kernel of distances cannot see beside others."""
    found = far_apart(feature_spreads(bags))
    if found is None:
        return
    names = range(bags.n_features) if bags.feature_names is None else bags.feature_names
    low, high = (f"{names[j]!r}" if isinstance(names[j], str) else names[j] for j in found)
    text = (
        f"Feature {high} varies more than 1,000 times as much as feature {low}, which the kernel "
    )
    warnings.warn(
        ScaleWarning(Message(text, "cannot see beside it. Scale the features with ", SCALE, ".")),
        stacklevel=2,
    )
