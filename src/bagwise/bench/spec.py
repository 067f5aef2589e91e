"""What a benchmark is: data sets x models x grids x protocol x metrics, read from YAML.

A benchmark is a file, or the name of a preset of this package. Everything in it is checked before
anything runs; an error says where it is and what would be right.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from bagwise.bench.measures import METRICS, SELECTABLE
from bagwise.bench.published import find_published
from bagwise.bench.splits import KINDS, Protocol
from bagwise.catalog import make_estimator
from bagwise.datasets.registry import DATASETS

_PRESETS = Path(__file__).with_name("presets")
_GENERATORS = ("digits", "toy2d", "gaussian", "graph")
SOURCES = ("fetch", *_GENERATORS, "webkb", "file")
_QUICK_BAGS = 40  # a quick run asks whether everything works: two folds of ten bags per class


class SpecError(ValueError):
    """A benchmark's YAML is wrong; the message says where and what would be right."""


@dataclass(frozen=True)
class DataEntry:
    """A data set of a benchmark."""

    name: str  # its column in the tables
    source: str = "fetch"  # "fetch" (by name, as `bagwise.datasets.fetch`) or another of SOURCES
    options: dict[str, Any] = field(default_factory=dict)  # for the loader
    thin: int = 0  # keep about so many bags, the smallest, equally many per class; 0 keeps all
    grid: dict[str, list[Any]] = field(default_factory=dict)  # what models' grids keep here


@dataclass(frozen=True)
class ModelEntry:
    """A model of a benchmark, and its grid."""

    name: str  # its row in the tables; published numbers are found by it
    method: str  # the paper's name, or the class
    params: dict[str, Any] = field(default_factory=dict)  # of every fit
    grid: dict[str, list[Any]] = field(default_factory=dict)  # candidates by parameter

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


def load_spec(benchmark: str | Path) -> Spec:
    """Read a benchmark from a YAML file, or from the preset of that name.

    Examples
    --------
    >>> from bagwise.bench.spec import load_spec
    >>> load_spec("gehler2007-table1").protocol.folds
    10
    """
    if str(benchmark) in presets():
        path = _PRESETS / f"{benchmark}.yaml"
    else:
        path = Path(benchmark)
        if not path.is_file():
            raise SpecError(
                f"{benchmark} is neither a file nor a preset; presets are {', '.join(presets())}."
            )
    return parse_spec(_yaml(path), path.stem)


def _yaml(path: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SpecError(f"{path} is not YAML: {' '.join(str(error).split())}") from error


def parse_spec(content: Any, name: str = "benchmark") -> Spec:
    """Check the content of a benchmark's YAML; ``name`` counts where the content gives none.

    Examples
    --------
    >>> from bagwise.bench.spec import parse_spec
    >>> spec = parse_spec({"data": ["musk1"], "models": [{"method": "MI-SVM"}]})
    >>> spec.models[0].name, spec.protocol.folds
    ('MI-SVM', 10)
    """
    _check_keys(content, "the benchmark", Spec)
    for part in ("data", "models"):
        if not isinstance(content.get(part), list) or not content[part]:
            raise SpecError(f"{part}: must be a list with at least one entry.")
    metrics = content.get("metrics", ["accuracy", "auc"])
    if not isinstance(metrics, list) or not metrics:
        raise SpecError(f"metrics: must be a list of names, it is {metrics!r}.")
    spec = Spec(
        name=str(content.get("name", name)),
        title=str(content.get("title", content.get("name", name))),
        data=tuple(_data(entry, f"data[{i}]") for i, entry in enumerate(content["data"])),
        models=tuple(_model(entry, f"models[{i}]") for i, entry in enumerate(content["models"])),
        protocol=_protocol(content.get("protocol", {})),
        metrics=tuple(_one_of(one, METRICS, f"metrics[{i}]") for i, one in enumerate(metrics)),
        select=_one_of(content.get("select", "accuracy"), SELECTABLE, "select"),
        published=str(content.get("published", "")),
        notes=str(content.get("notes", "")).strip(),
        quick=content.get("quick", {}),
    )
    _check_together(spec)
    return spec


def _data(entry: Any, where: str) -> DataEntry:
    entry = {"name": entry} if isinstance(entry, str) else entry
    _check_keys(entry, where, DataEntry)
    if not isinstance(entry.get("name"), str):
        raise SpecError(f"{where}.name: must be a text.")
    data = DataEntry(**entry)
    _one_of(data.source, SOURCES, f"{where}.source")
    if data.source == "fetch":
        _one_of(data.name, DATASETS, f"{where}.name")
    _check_mapping(data.options, f"{where}.options")
    _check_count(data.thin, f"{where}.thin", least=0)
    _check_grid(data.grid, f"{where}.grid")
    return data


def _model(entry: Any, where: str) -> ModelEntry:
    entry = {"method": entry} if isinstance(entry, str) else entry
    _check_keys(entry, where, ModelEntry)
    if not isinstance(entry.get("method"), str):
        raise SpecError(f"{where}.method: name a method, by its paper's name or by its class.")
    model = ModelEntry(**{"name": entry["method"], **entry})
    _check_mapping(model.params, f"{where}.params")
    _check_grid(model.grid, f"{where}.grid")
    twice = next((key for key in model.grid if key in model.params), None)
    if twice is not None:
        raise SpecError(f"{where}: {twice} is in params and in grid; keep one.")
    try:
        make_estimator(model.method, **model.params, **model.grid)  # knows names, not values
    except ValueError as error:
        raise SpecError(f"{where}: {error}") from error
    return model


def _protocol(content: Any) -> Protocol:
    _check_keys(content, "protocol", Protocol)
    ratios = content.get("ratios", [])
    if not isinstance(ratios, list) or not all(_is_share(ratio) for ratio in ratios):
        raise SpecError(f"protocol.ratios: must be numbers between 0 and 1, they are {ratios!r}.")
    protocol = Protocol(**{**content, "ratios": tuple(ratios)})
    _one_of(protocol.kind, KINDS, "protocol.kind")
    drawn = int(protocol.kind == "fresh")
    bounds = {"folds": 2, "repeats": 1, "inner": 0, "seed": 0, "train": drawn, "test": drawn}
    for name, least in bounds.items():
        _check_count(getattr(protocol, name), f"protocol.{name}", least)
    if protocol.kind == "ratio" and not ratios:
        raise SpecError("protocol.ratios: name at least one training ratio.")
    if protocol.inner == 1:
        raise SpecError("protocol.inner: must be 0, or 2 or more.")
    return protocol


# Checks -------------------------------------------------------------------------------------------


def _check_keys(content: Any, where: str, kind: Any) -> None:
    if not isinstance(content, dict):
        raise SpecError(f"{where}: must be a mapping, it is {content!r}.")
    known = [one.name for one in fields(kind)]
    for key in content:
        if key not in known:
            raise SpecError(f"{where}: there is no {key!r}; known are {', '.join(known)}.")


def _one_of(value: Any, known: Any, where: str) -> Any:
    if value not in known:
        raise SpecError(f"{where}: must be one of {', '.join(known)}, it is {value!r}.")
    return value


def _check_grid(grid: Any, where: str) -> None:
    _check_mapping(grid, where)
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise SpecError(f"{where}.{key}: must be a list of values, it is {values!r}.")


def _check_mapping(value: Any, where: str) -> None:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise SpecError(f"{where}: must be a mapping of names, it is {value!r}.")


def _check_count(value: Any, where: str, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise SpecError(f"{where}: must be a whole number of at least {least}, it is {value!r}.")


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and 0 < value < 1


def _check_together(spec: Spec) -> None:
    for what in ("data", "models"):
        names = [entry.name for entry in getattr(spec, what)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise SpecError(f"{what}: {twice!r} is there twice; give one of them another name.")
    for i, entry in enumerate(spec.data):
        if spec.protocol.kind == "fresh" and entry.source not in _GENERATORS:
            raise SpecError(
                f"data[{i}]: protocol.kind 'fresh' draws bags, {entry.name!r} is no generator; "
                f"source must be one of {', '.join(_GENERATORS)}."
            )
        empty = next((model.name for model in spec.models if not model.points(entry)), None)
        if empty is not None:
            raise SpecError(
                f"data[{i}].grid: leaves nothing of the grid of {empty!r}; keep at least one of "
                "its values of every parameter."
            )
    _check_mapping(spec.quick, "quick")
    for what, names in spec.quick.items():
        _one_of(what, ("data", "models"), "quick")
        for name in names:
            _one_of(name, [entry.name for entry in getattr(spec, what)], f"quick.{what}")
    if spec.published:
        find_published(spec.published)
