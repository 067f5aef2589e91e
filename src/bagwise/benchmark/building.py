"""From an entry of a benchmark to an estimator for one training set.

Values that plain YAML cannot hold are written as small mappings or words, and settled here:
``gamma: "median*4"`` (a factor on the training bags' own width), ``bag_graph: {graph: hyperlinks}``
(of the data set), ``feature_map: {map: intersection}``, ``bag_features: {method: MI-Kernel}``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from bagwise.bags import Bags
from bagwise.base import BagClassifier
from bagwise.benchmark.data import BenchData
from bagwise.benchmark.naming import make_estimator
from bagwise.benchmark.spec import ModelEntry, SpecError
from bagwise.intersection import IntersectionMap
from bagwise.kernels import settle_gamma

__all__ = ["build"]

_MEDIAN = "median*"


def build(entry: ModelEntry, point: dict[str, Any], data: BenchData, train: Bags) -> BagClassifier:
    """Return the estimator of a grid point, its values settled on the training bags."""
    params = {
        name: _settled(value, name, data, train)
        for name, value in {**entry.params, **point}.items()
    }
    return make_estimator(entry.method, **params)


def _settled(value: Any, name: str, data: BenchData, train: Bags) -> Any:
    if isinstance(value, str) and value.startswith(_MEDIAN):
        return _times_median(value, train)
    if isinstance(value, list):
        return [_settled(one, name, data, train) for one in value]
    if not isinstance(value, dict):
        return value
    rest = dict(value)
    if "graph" in rest:
        return _graph(rest["graph"], data)
    if "map" in rest:
        return _map(rest.pop("map"), rest, name)
    if "method" in rest:
        inner = {key: _settled(one, key, data, train) for key, one in rest.items()}
        return make_estimator(inner.pop("method"), **inner)
    return value


def _times_median(value: str, train: Bags) -> float:
    factor = value.removeprefix(_MEDIAN)
    try:
        number = float(factor)
    except ValueError as error:
        raise SpecError(f"gamma {value!r}: {factor!r} is no number.") from error
    rng = np.random.RandomState(0)
    return number * settle_gamma("median", train.X, np.ones(train.n_instances), rng)


def _graph(name: str, data: BenchData) -> Any:
    if name not in data.graphs:
        there = ", ".join(data.graphs) or "none"
        raise SpecError(f"The data set has no graph {name!r}; there are: {there}.")
    return data.graphs[name]


_MAPS: dict[str, Callable[..., Any]] = {
    "intersection": lambda **o: make_pipeline(MinMaxScaler(clip=True), IntersectionMap(**o)),
    "nystroem": lambda **o: make_pipeline(MinMaxScaler(), Nystroem(random_state=0, **o)),
    "standard": lambda **o: StandardScaler(**o),
}


def _map(kind: str, options: dict[str, Any], name: str) -> Any:
    if kind not in _MAPS:
        raise SpecError(f"{name}: there is no map {kind!r}; there are {', '.join(_MAPS)}.")
    return _MAPS[kind](**options)
