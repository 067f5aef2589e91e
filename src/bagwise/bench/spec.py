"""What a benchmark is: data sets x models x grids x protocol x metrics.

Presets are YAML files of this package; a folder of results holds the one that it was run by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bench.splits import Protocol
from bagwise.datasets import fetch, load_digits_bags, load_webkb, make_gaussian_bags, make_toy2d
from bagwise.graphs import Graph

_PRESETS = Path(__file__).with_name("presets")


@dataclass(frozen=True)
class DataEntry:
    """A data set of a benchmark."""

    name: str  # its column in the tables
    source: str = "fetch"  # "fetch" (by name, as `bagwise.datasets.fetch`) or a generator
    options: dict[str, Any] = field(default_factory=dict)  # for the loader
    grid: dict[str, list[Any]] = field(default_factory=dict)  # what models' grids keep here
    rounds: int = 0  # that are run here, where fewer than the protocol's; 0 runs all
    nested: int = 0  # of them with inner folds; 0 means all


@dataclass(frozen=True)
class ModelEntry:
    """A model of a benchmark, and its grid."""

    name: str  # its row in the tables; published numbers are found by it
    method: str  # the paper's name, or the class
    params: dict[str, Any] = field(default_factory=dict)  # of every fit
    grid: dict[str, list[Any]] = field(default_factory=dict)  # candidates by parameter
    rounds: int = 0  # as for data
    nested: int = 0

    def points(self, data: DataEntry) -> list[dict[str, Any]]:
        """Return the grid's points on a data set; the first parameter varies slowest."""
        # Not ParameterGrid, which sorts names: of equally good points the first one is chosen.
        kept = [
            [value for value in values if value in data.grid.get(name, values)]
            for name, values in self.grid.items()
        ]
        return [dict(zip(self.grid, values, strict=True)) for values in product(*kept)]


@dataclass(frozen=True)
class Spec:
    """A benchmark."""

    name: str
    title: str
    data: Sequence[DataEntry]
    models: Sequence[ModelEntry]
    protocol: Protocol
    metrics: Sequence[str] = ("accuracy", "auc")  # one table each, in order
    published: str = ""  # key of the published numbers; empty where there are none
    notes: str = ""  # where this departs from the paper


# Reading ------------------------------------------------------------------------------------------


def presets() -> list[str]:
    """Return the names of the benchmarks that come with the package."""
    return sorted(path.stem for path in _PRESETS.glob("*.yaml"))


def load_spec(preset: str) -> Spec:
    """Return the preset of that name.

    Examples
    --------
    >>> from bagwise.bench.spec import load_spec
    >>> load_spec("gehler2007-table1").protocol.folds
    10
    """
    return read_spec(_PRESETS / f"{preset}.yaml")


def read_spec(path: Path) -> Spec:
    """Return the benchmark in a file: a preset, or what a folder of results was run by."""
    import yaml

    return parse_spec(yaml.safe_load(path.read_text(encoding="utf-8")))


def parse_spec(content: dict[str, Any]) -> Spec:
    """Return the benchmark of a YAML file's content.

    Examples
    --------
    >>> from bagwise.bench.spec import parse_spec
    >>> spec = parse_spec({"name": "one", "data": ["musk1"], "models": [{"method": "MI-SVM"}]})
    >>> spec.models[0].name, spec.protocol.folds
    ('MI-SVM', 10)
    """
    data = [{"name": each} if isinstance(each, str) else dict(each) for each in content["data"]]
    for each in data:
        each.pop("thin", None)  # of version 0.2, as "quick" and "select"
    known = {k: value for k, value in content.items() if k not in ("quick", "select")}
    parsed = {
        "title": content["name"],
        **known,
        "data": [DataEntry(**each) for each in data],
        "models": [ModelEntry(**{"name": each["method"], **each}) for each in content["models"]],
        "protocol": Protocol(**content.get("protocol", {})),
        "notes": content.get("notes", "").strip(),
    }
    return Spec(**parsed)


# Data ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BenchData:
    """Bags, labels, and the graphs that models may ask for by name."""

    bags: Bags
    y: Array
    graphs: dict[str, Graph] = field(default_factory=dict)


def load_data(entry: DataEntry, protocol: Protocol, draw: int | None = None) -> BenchData:
    """Load a data set; ``draw`` says which draw, where bags are drawn anew in every round.

    Examples
    --------
    >>> from bagwise.bench.spec import DataEntry, load_data
    >>> entry = DataEntry("digits", "digits", {"n_bags": 10})
    >>> len(load_data(entry, Protocol()).bags)
    10
    """
    options = dict(entry.options)
    if draw is not None:
        options |= {"n_bags": protocol.train + protocol.test, "random_state": protocol.seed + draw}
    bags, y, graphs = _LOADERS[entry.source](entry.name, options)
    return BenchData(bags, np.asarray(y), graphs)


def _fetch(name: str, options: dict[str, Any]) -> Any:
    return *fetch(name, **options), {}


def _draw(make: Callable[..., Any]) -> Callable[[str, dict[str, Any]], Any]:
    # YAML has no tuples, and a range of bag sizes is one.
    return lambda name, options: (*make(**{k: _pair(v) for k, v in options.items()}), {})


def _pair(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) and len(value) == 2 else value


def _webkb(name: str, options: dict[str, Any]) -> Any:
    data = load_webkb(**options)
    graphs = {
        "hyperlinks": Graph.from_edges(data.hyperlinks, directed=True),
        "cocitations": Graph.from_edges(data.cocitations),
    }
    return data.bags, data.y, graphs


_LOADERS: dict[str, Callable[[str, dict[str, Any]], Any]] = {
    "fetch": _fetch,
    "digits": _draw(load_digits_bags),
    "toy2d": _draw(make_toy2d),
    "gaussian": _draw(make_gaussian_bags),
    "webkb": _webkb,
}
