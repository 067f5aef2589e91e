"""One cell: a grid point of a model, fitted on one split of a data set and measured.

Beside the fit that is tested, copies are fitted on folds of the training bags. Their out-of-fold
scores give what nested selection, thresholds and probabilities need, and never see a test bag.
"""

from __future__ import annotations

import traceback
import warnings
from dataclasses import asdict, dataclass
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bagwise.bags import Bags
from bagwise.benchmark.building import build
from bagwise.benchmark.data import BenchData
from bagwise.benchmark.measures import (
    SELECTABLE,
    bag_measures,
    calibrated_measures,
    fit_measures,
    instance_measures,
)
from bagwise.benchmark.protocol import Split, digest
from bagwise.benchmark.sharing import can_share, grams_here
from bagwise.benchmark.spec import DataEntry, ModelEntry
from bagwise.crossfit import best_threshold, folds

__all__ = ["Cell", "run_cell"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Cell:
    """What is to be run.

    Parameters
    ----------
    data : DataEntry
        The data set.
    model : ModelEntry
        The model.
    point : dict
        The grid point.
    split : Split
        The split.
    folds_sha256 : str
        Hash of the set of splits it is from.
    inner : int
        Folds within the training bags.
    draw : int or None
        Which draw of the data, where they are drawn anew.
    """

    data: DataEntry
    model: ModelEntry
    point: dict[str, Any]
    split: Split
    folds_sha256: str
    inner: int
    draw: int | None = None

    @property
    def id(self) -> str:
        """What tells it from all other cells: a hash of all that its result depends on."""
        model = {"method": self.model.method, "params": self.model.params}
        where = [self.folds_sha256, self.split.name, self.inner, self.draw]
        # Names of rows and grids are left out: renaming a model or a longer grid loses no result.
        data = {key: value for key, value in asdict(self.data).items() if key != "grid"}
        content = [data, model, self.point, where]
        return digest(content)[:16]

    @property
    def head(self) -> dict[str, Any]:
        """What its record says besides the result."""
        return {
            "cell": self.id,
            "data": self.data.name,
            "model": self.model.name,
            "point": self.point,
            "split": self.split.name,
        }


def run_cell(cell: Cell, data: BenchData) -> dict[str, Any]:
    """Fit and measure; an error becomes part of the record.

    Parameters
    ----------
    cell : Cell
        What to run.
    data : BenchData
        Its data.

    Returns
    -------
    dict
        The record: what was run, and "metrics" or "error".
    """
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            result = _measured(cell, data)
        told = sorted({warning.category.__name__ for warning in heard})
        return {**cell.head, **result, **({"warnings": told} if told else {})}
    except Exception as error:  # noqa: BLE001 (one failing cell must not end a long run)
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error}"
        return {**cell.head, "error": text, "at": f"{where.name}, line {where.lineno}"}


def _measured(cell: Cell, data: BenchData) -> dict[str, Any]:
    train = cell.split.train(len(data.bags))
    test = np.asarray(cell.split.test)
    bags, y = data.bags[train], data.y[train]
    model = build(cell.model, cell.point, data, bags)
    calibrated = cell.inner > 0 and model.threshold == "calibrated" and model.pos_label is None
    if calibrated:  # by the inner folds, which are fitted anyway
        model.set_params(threshold=0.0)
    inner = _inner_scores(model, cell, data, train) if cell.inner else None
    seconds = _fit(model, data, train, _bags_key(cell, data))
    if calibrated and inner is not None:
        model.threshold_ = _thresholds(inner, y, model.classes_)
    start = process_time()
    scores = model.decision_function(data.bags[test])
    metrics: dict[str, float | None] = {"predict_seconds": process_time() - start}
    metrics |= {"fit_seconds": seconds, **fit_measures(model, bags, y)}
    metrics |= bag_measures(data.y[test], scores, model.classes_)
    metrics |= instance_measures(model, data.bags[test], data.y[test])
    result: dict[str, Any] = {"n_test": len(test)}
    if inner is not None:
        shift = model.threshold_ if calibrated else np.zeros(1)
        shift = shift[0] if inner.ndim == 1 else shift
        metrics |= calibrated_measures(data.y[test], scores + shift, y, inner, model.classes_)
        result["inner"] = bag_measures(y, inner - shift, model.classes_, SELECTABLE)
    result["metrics"] = {name: _finite(value) for name, value in metrics.items()}
    if len(test) == 1:
        result["pooled"] = [_plain(data.y[test][0]), np.ravel(scores).tolist()]
        result["classes"] = [_plain(label) for label in model.classes_]
    return result


def _thresholds(inner: Array, y: Array, classes: Array) -> Array:
    columns = inner.reshape(len(y), -1)
    of = classes[1:] if inner.ndim == 1 else classes
    ones = np.ones(len(y))
    found = [best_threshold(columns[:, k], y == label, ones) for k, label in enumerate(of)]
    return np.array(found)


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _fit(model: Any, data: BenchData, train: Array, key: tuple[Any, ...]) -> float:
    """Fit on some of the bags; return CPU seconds."""
    if can_share(model):
        return grams_here().fit(model, data.bags[train], data.y[train], key)
    start = process_time()
    model.fit(data.bags[train], data.y[train], **_hidden(model, data, train))
    return process_time() - start


def _bags_key(cell: Cell, data: BenchData) -> tuple[Any, ...]:
    """Return what names the training bags: a worker may serve several benchmarks."""
    return data.key, cell.folds_sha256, cell.split.name


def _hidden(model: Any, data: BenchData, train: Array) -> dict[str, Bags]:
    """Return the other bags, for a model over a graph that sees them without labels."""
    graphs = (getattr(model, name, None) for name in ("bag_graph", "instance_graph"))
    if all(graph is None for graph in graphs):
        return {}
    return {"unlabeled": data.bags[np.setdiff1d(np.arange(len(data.bags)), train)]}


def _inner_scores(model: Any, cell: Cell, data: BenchData, train: Array) -> Array:
    """Score every training bag by a copy fitted without it."""
    bags, y = data.bags[train], data.y[train]
    members = np.unique(y, return_counts=True)[1].min()
    count = max(2, min(cell.inner, int(members)))
    parts, tests = [], []
    for number, (inside, outside) in enumerate(folds(bags, y, count, 0)):
        copy = clone(model)
        _fit(copy, data, train[inside], (*_bags_key(cell, data), count, number))
        parts.append(copy.decision_function(bags[outside]))
        tests.append(outside)
    scores = np.empty((len(y), *parts[0].shape[1:]))
    scores[np.concatenate(tests)] = np.concatenate(parts)
    return scores
