"""From an entry of a benchmark to an estimator for one training set.

Values that plain YAML cannot hold are written as small mappings or words, and resolved here:
``gamma: "median*4"`` (a factor on the training bags' own width), ``bag_graph: {graph: hyperlinks}``
(of the data set), ``feature_map: {map: intersection}``, ``bag_features: {method: MI-Kernel}``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from bagwise.bags import Bags
from bagwise.bench.data import BenchData
from bagwise.bench.spec import ModelEntry, SpecError
from bagwise.catalog import make_estimator
from bagwise.kernels import settle_gamma
from bagwise.kernels.intersection import IntersectionMap

_MEDIAN = "median*"


def build(entry: ModelEntry, point: dict[str, Any], data: BenchData, train: Bags) -> Any:
    """Return the estimator of a grid point, its values resolved on the training bags."""
    params = {**entry.params, **point}
    resolved = {name: _resolve(value, name, data, train) for name, value in params.items()}
    return make_estimator(entry.method, **resolved)


def _resolve(value: Any, name: str, data: BenchData, train: Bags) -> Any:
    if isinstance(value, str) and value.startswith(_MEDIAN):
        return _times_median(value, train)
    if isinstance(value, list):
        return [_resolve(one, name, data, train) for one in value]
    if not isinstance(value, dict):
        return value
    rest = dict(value)
    if "graph" in rest:
        return _look_up(rest["graph"], data.graphs, "The data set has no graph")
    if "map" in rest:
        make = _look_up(
            rest.pop("map"), {"intersection": IntersectionMap}, f"{name}: there is no map"
        )
        return make_pipeline(MinMaxScaler(clip=True), make(**rest))
    if "method" in rest:
        inner = {key: _resolve(one, key, data, train) for key, one in rest.items()}
        return make_estimator(inner.pop("method"), **inner)
    return value


def _times_median(value: str, train: Bags) -> float:
    factor = value.removeprefix(_MEDIAN)
    try:
        number = float(factor)
    except ValueError as error:
        raise SpecError(f"gamma {value!r}: {factor!r} is not a number.") from error
    rng = np.random.RandomState(0)
    return number * settle_gamma("median", train.X, np.ones(train.n_instances), rng)


def _look_up(name: str, known: dict[str, Any], problem: str) -> Any:
    if name not in known:
        raise SpecError(f"{problem} {name!r}; there are: {', '.join(known) or 'none'}.")
    return known[name]
