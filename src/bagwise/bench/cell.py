"""One cell: a grid point of a model, fitted on one split of a data set and measured.

Beside the fit that is tested, copies are fitted on folds of the training bags. Their out-of-fold
scores serve nested selection, thresholds and probabilities, and never see a test bag.

Values that plain YAML cannot hold are written as small mappings or words, and resolved here:
``gamma: "median*4"`` (a factor on the training bags' own width), ``bag_graph: {graph: hyperlinks}``
(of the data set), ``feature_map: {map: intersection}``, ``bag_features: {method: MI-Kernel}``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from time import process_time
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bench.measures import SELECTED, measure_calibrated, measure_fit, measure_instances
from bagwise.bench.spec import BenchData, DataEntry, ModelEntry
from bagwise.bench.splits import Split, digest
from bagwise.catalog import make_estimator
from bagwise.crossfit import best_threshold, folds, out_of_fold_scores
from bagwise.kernels import settle_gamma
from bagwise.metrics import bag_measures
from bagwise.model_selection.clock import NEVER, Deadline
from bagwise.models.intersection import IntersectionMap

_NOT_DATA = ("grid", "rounds", "nested")  # of an entry
_MEDIAN, _MAPS = "median*", {"intersection": IntersectionMap}


@dataclass(frozen=True)
class Cell:
    """What is to be run."""

    data: DataEntry
    model: ModelEntry
    point: dict[str, Any]  # of the model's grid
    split: Split
    bags_sha256: str  # hash of the labeled bags that are split
    inner: int  # folds within the training bags; 0: none
    draw: int | None = None  # which draw of the data, where they are drawn anew

    @cached_property
    def id(self) -> str:
        """A hash of everything that the result depends on."""
        model = {"method": self.model.method, "params": _without_groups(self.model.params)}
        where = [self.bags_sha256, self.split.test, self.inner, self.draw]
        # Names of rows, grids and numbers of rounds are left out: what has run is kept with others.
        data = {name: each for name, each in vars(self.data).items() if name not in _NOT_DATA}
        data["thin"] = 0  # what version 0.2 could leave out; part of all ids
        return shorten(digest([data, model, _without_groups(self.point), where]))

    @property
    def name(self) -> str:
        """What fails alone: another grid point of the model may not."""
        return self.id

    @property
    def head(self) -> dict[str, Any]:
        """What the record says besides the result."""
        return {
            "cell": self.id,
            "data": self.data.name,
            "model": self.model.name,
            "point": self.point,
            "split": self.split.name,
        }


def shorten(name: str) -> str:
    """Return the letters of a cell's name that are kept: older records have more."""
    return name[:12]


def _without_groups(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters by their names within groups, which keep the ids of version 0.2."""
    return {name.rpartition("__")[2]: value for name, value in params.items()}


def judge(data: BenchData, cell: Cell, _: Deadline = NEVER) -> dict[str, Any]:
    """Fit and measure a cell; a benchmark has no time limit."""
    train, test = cell.split.train(len(data.bags)), np.asarray(cell.split.test)
    bags, y = data.bags[train], data.y[train]
    model = build(cell.model, cell.point, data, bags)
    inner, shift = None, 0.0
    if cell.inner:
        inner, shift = _calibrate_inside(model, cell, data, train)
    seconds = _fit(model, data, train)
    start = process_time()
    scores = model.decision_function(data.bags[test])
    metrics: dict[str, float | None] = {"predict_seconds": process_time() - start}
    metrics |= {"fit_seconds": seconds, **measure_fit(model, bags, y)}
    metrics |= bag_measures(data.y[test], scores, model.classes_)
    metrics |= measure_instances(model, data.bags[test], data.y[test])
    result: dict[str, Any] = {"n_test": len(test)}
    if inner is not None:
        metrics |= measure_calibrated(data.y[test], scores + shift, y, inner, model.classes_)
        result["inner"] = bag_measures(y, inner - shift, model.classes_, (SELECTED,))
    result["metrics"] = {
        name: value if value is not None and np.isfinite(value) else None
        for name, value in metrics.items()
    }
    return result


def _calibrate_inside(model: Any, cell: Cell, data: BenchData, train: Array) -> tuple[Array, float]:
    """Return the inner scores, and the threshold where the model asks for a calibrated one.

    The model then keeps that number: its own calibration would fit the same folds again.
    """
    y = data.y[train]
    classes = np.unique(y)
    asked = model.threshold == "calibrated" and model.pos_label is None
    if not asked or len(classes) > 2:
        return _inner_scores(model, cell, data, train), 0.0
    inner = _inner_scores(model.set_params(threshold=0.0), cell, data, train)
    shift = best_threshold(inner, y == classes[1], np.ones(len(y)))
    model.set_params(threshold=shift)
    return inner, shift


def _fit(model: Any, data: BenchData, train: Array) -> float:
    """Fit on some of the bags; return CPU seconds."""
    start = process_time()
    model.fit(data.bags[train], data.y[train], **_hide_others(model, data, train))
    return process_time() - start


def _hide_others(model: Any, data: BenchData, train: Array) -> dict[str, Bags]:
    """Return the other bags, for a model over a graph that sees them without labels."""
    graphs = (getattr(model, name, None) for name in ("bag_graph", "instance_graph"))
    if not any(graphs):
        return {}
    return {"unlabeled": data.bags[np.setdiff1d(np.arange(len(data.bags)), train)]}


def _inner_scores(model: Any, cell: Cell, data: BenchData, train: Array) -> Array:
    """Score every training bag by a copy fitted without it."""
    bags, y = data.bags[train], data.y[train]
    smallest = int(np.unique(y, return_counts=True)[1].min())
    splits = folds(bags, y, max(2, min(cell.inner, smallest)), 0)

    def fit(copy: Any, inside: Array, _: Array) -> None:
        _fit(copy, data, train[inside])

    return out_of_fold_scores(model, bags, y, None, splits, fit=fit)


# The estimator ------------------------------------------------------------------------------------


def build(entry: ModelEntry, point: dict[str, Any], data: BenchData, train: Bags) -> Any:
    """Return the estimator of a grid point, its values resolved on the training bags."""
    params = {**entry.params, **point}
    resolved = {name: _resolve(value, data, train) for name, value in params.items()}
    return make_estimator(entry.method, **resolved)


def _resolve(value: Any, data: BenchData, train: Bags) -> Any:
    if isinstance(value, str) and value.startswith(_MEDIAN):
        return _times_median(value, train)
    if isinstance(value, list):
        return [_resolve(one, data, train) for one in value]
    if not isinstance(value, dict):
        return value
    rest = dict(value)
    if "graph" in rest:
        return data.graphs[rest["graph"]]
    if "map" in rest:
        return make_pipeline(MinMaxScaler(clip=True), _MAPS[rest.pop("map")](**rest))
    if "method" in rest:
        inner = {key: _resolve(one, data, train) for key, one in rest.items()}
        return make_estimator(inner.pop("method"), **inner)
    return value


def _times_median(value: str, train: Bags) -> float:
    rng = np.random.RandomState(0)
    median = settle_gamma("median", train.X, np.ones(train.n_instances), rng)
    return float(value.removeprefix(_MEDIAN)) * median
