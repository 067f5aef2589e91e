"""What a benchmark is: data sets x models x grids x protocol x metrics.

Presets are YAML files of this package; a folder of results holds the one that it was run by.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from bagwise.bench.splits import Protocol
from bagwise.errors import suggestion

_PRESETS = Path(__file__).with_name("presets")
_QUICK_BAGS = 40  # a quick run asks whether everything works: two folds of ten bags per class


@dataclass(frozen=True)
class DataEntry:
    """A data set of a benchmark."""

    name: str  # its column in the tables
    source: str = "fetch"  # "fetch" (by name, as `bagwise.datasets.fetch`) or a generator
    options: dict[str, Any] = field(default_factory=dict)  # for the loader
    thin: int = 0  # keep about so many bags, the smallest, equally many per class; 0 keeps all
    grid: dict[str, list[Any]] = field(default_factory=dict)  # what models' grids keep here
    rounds: int = 0  # that are run here, where fewer than the protocol's; 0 runs all


@dataclass(frozen=True)
class ModelEntry:
    """A model of a benchmark, and its grid."""

    name: str  # its row in the tables; published numbers are found by it
    method: str  # the paper's name, or the class
    params: dict[str, Any] = field(default_factory=dict)  # of every fit
    grid: dict[str, list[Any]] = field(default_factory=dict)  # candidates by parameter
    rounds: int = 0  # as for data

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
    data: tuple[DataEntry, ...]
    models: tuple[ModelEntry, ...]
    protocol: Protocol
    metrics: tuple[str, ...] = ("accuracy", "auc")  # one table each, in order
    select: str = "accuracy"  # the metric by which a grid point is chosen
    published: str = ""  # key of the published numbers; empty where there are none
    notes: str = ""  # where this departs from the paper
    quick: dict[str, list[str]] = field(default_factory=dict)  # "data", "models" of a quick run

    def shorten(self) -> Spec:
        """Return the benchmark's quick form: few bags, two splits, one grid point."""
        thin = 0 if self.protocol.kind == "fresh" else _QUICK_BAGS
        return replace(
            self,
            title=f"{self.title} (quick run, not a measurement)",
            data=tuple(replace(entry, thin=thin, grid={}) for entry in self._select("data")),
            models=tuple(
                replace(model, grid=_first(model.grid)) for model in self._select("models")
            ),
            protocol=self.protocol.shorten(),
        )

    def _select(self, what: str) -> list[Any]:
        entries, names = getattr(self, what), self.quick.get(what)
        return [entry for entry in entries if names is None or entry.name in names]


def _first(grid: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: values[:1] for name, values in grid.items()}


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
    if preset not in presets():
        raise ValueError(f"There is no preset {preset!r}. {suggestion(preset, presets())}")
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
    protocol = dict(content.get("protocol", {}))
    protocol["ratios"] = tuple(protocol.get("ratios", ()))
    metrics = {"metrics": tuple(content["metrics"])} if "metrics" in content else {}
    parsed = {
        "title": content["name"],
        **content,
        **metrics,
        "data": tuple(
            DataEntry(**({"name": entry} if isinstance(entry, str) else entry))
            for entry in content["data"]
        ),
        "models": tuple(
            ModelEntry(**{"name": entry["method"], **entry}) for entry in content["models"]
        ),
        "protocol": Protocol(**protocol),
        "notes": content.get("notes", "").strip(),
    }
    return Spec(**parsed)
