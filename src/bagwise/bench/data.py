"""The data sets of a benchmark: loaded by source, and drawn anew if asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bench.spec import DataEntry
from bagwise.bench.splits import Protocol
from bagwise.datasets import fetch, load_digits_bags, load_webkb, make_gaussian_bags, make_toy2d
from bagwise.graphs import Graph


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
    >>> from bagwise.bench.data import load_data
    >>> from bagwise.bench.spec import DataEntry
    >>> from bagwise.bench.splits import Protocol
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
