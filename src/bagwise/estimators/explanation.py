"""Which instances made a bag's score, and which features made the instances': a data frame.

Features are named where the score of an instance x is linear in them, or has derivatives (the rbf
kernel): the contribution of feature j is slope_j (x_j - mean_j), the mean being that of all
instances given. For linear models, contributions sum to the difference between the score of x and
that of the mean. Sparse features are compared with 0. Elsewhere no features are named: occluding
every feature of every instance would cost n_features times as much as the scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.merging import split_rows
from bagwise.bags.segments import bag_index, expand, segment_argmax, segment_sum
from bagwise.estimators.tags import bag_tags
from bagwise.rowstores.base import count_rows

if TYPE_CHECKING:
    import pandas as pd

N_FEATURES = 3  # named per instance: what fits on a line
MOST_FEATURES = 5  # that a report and `bagwise explain` name per instance: what fits on a line
_BY_SLOPE = "slope of the instance's score times the difference from the mean instance"


def explanation(model: Any, bags: Bags, n_features: int = N_FEATURES) -> pd.DataFrame:
    """Return one row per instance, as `BagScores.explain` describes."""
    import pandas as pd

    labels = model.predict(bags)
    column = columns_of(model, labels)[bag_index(bags.offsets)]
    scores = model.instance_decision_function(bags)
    scores = toward_positive(model, scores) if scores.ndim == 1 else _pick(scores, column)
    features, how = name_features(model, bags, np.arange(bags.n_instances), column, n_features)
    frame = pd.DataFrame(
        {
            "bag": expand(bags.ids, bags.offsets),
            "instance": instance_names(bags),
            **part_columns(bags, scores),
            "label": expand(labels, bags.offsets),
            "score": scores,
            "share": _shares(scores, bags.offsets),
            "features": features,
        }
    )
    frame.attrs["features"] = how
    return frame


def instance_names(bags: Bags) -> Array:
    """Return the ids of instances, or their positions in the bag where none were given."""
    if bags.has_instance_ids:
        return bags.instance_ids
    return np.arange(bags.n_instances) - expand(bags.offsets[:-1], bags.offsets)


def part_columns(bags: Bags, scores: Array) -> dict[str, Array]:
    """Return the part of each instance, its bag's key part and the part's share; {} without parts.

    The key part has the highest instance. The share is the part's of the positive scores of the
    bag.
    """
    if bags.parts is None:
        return {}
    order, offsets, _ = split_rows(bags)
    share = np.empty(bags.n_instances)
    shares = _shares(scores, bags.offsets)[order]
    share[order] = expand(segment_sum(shares, offsets), offsets)
    key = bags.parts[bags.offsets[:-1] + segment_argmax(scores, bags.offsets)]
    return {"part": bags.parts, "key_part": expand(key, bags.offsets), "part_share": share}


def toward_positive(model: Any, scores: Array) -> Array:
    """Turn scores of two classes toward the positive one."""
    named = getattr(model, "pos_label", None)
    return -scores if named is not None and named == model.classes_[0] else scores


def columns_of(model: Any, labels: Array) -> Array:
    """Return the model of each bag: of several classes, that of its label."""
    if len(getattr(model, "classes_", (0, 1))) == 2:
        return np.zeros(len(labels), dtype=np.int64)
    return np.searchsorted(model.classes_, labels)


def _pick(values: Array, column: Array) -> Array:
    return values[np.arange(len(values)), column]


def _shares(scores: Array, offsets: Array) -> Array:
    """Return each instance's part of the positive scores of its bag."""
    positive = np.maximum(scores, 0.0)
    total = expand(segment_sum(positive, offsets), offsets)
    return np.divide(positive, total, out=np.zeros(len(scores)), where=total > 0)


def name_features(
    model: Any, bags: Bags, rows: Array, column: Array, n_features: int = MOST_FEATURES
) -> tuple[Array, str]:
    """Return the features named for some instances, and how they were found.

    ``column`` is the model of each of these instances, as of `columns_of`.
    """
    texts = np.full(len(rows), "", dtype=object)
    if not bag_tags(model).exact_instance_scores:
        return texts, "none: the model scores whole bags, not features of instances"
    given = bags.feature_names
    names = [f"x{j}" for j in range(bags.n_features)] if given is None else list(given)
    dense = not sp.issparse(bags.X)
    mean: Any = bags.X.mean(axis=0, dtype=np.float64) if dense else None
    step = count_rows(8 * bags.n_features)
    for k in np.unique(column):
        of_model = np.flatnonzero(column == k)
        for some in (of_model[i : i + step] for i in range(0, len(of_model), step)):
            X = bags.X[rows[some]] if mean is None else np.asarray(bags.X[rows[some]])
            slopes = model._slopes(X, int(k))
            if slopes is None:
                kind = type(model).__name__
                return texts, f"none: scores of {kind} with these parameters have no slopes"
            texts[some] = _name_largest(_contributions(slopes, X, mean), names, n_features)
    return texts, _BY_SLOPE


def _contributions(slopes: Array, X: Any, mean: Array | None) -> Array:
    return X.multiply(slopes).toarray() if mean is None else slopes * (X - mean)


def _name_largest(values: Array, names: list[str], n_features: int) -> list[str]:
    """Name the largest contributions of every row, by size; those of zero are not named."""
    order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :n_features]
    return [
        ", ".join(f"{names[j]} {row[j]:+.3g}" for j in best if row[j] != 0)
        for row, best in zip(values, order, strict=True)
    ]
