"""What a benchmark is: data sets x models x grids x protocol x metrics, read from YAML.

A benchmark is a file, or the name of a preset of this package. Everything in it is checked before
anything runs; an error says where it is and what would be right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from bagwise._removed import refuse_value
from bagwise.bench.measures import METRICS, SELECTABLE
from bagwise.bench.published import find_published
from bagwise.bench.splits import KINDS, Protocol
from bagwise.catalog import make_estimator
from bagwise.datasets.registry import DATASETS

_PRESETS = Path(__file__).with_name("presets")
_GENERATORS = ("digits", "toy2d", "gaussian")
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
    spec = _fill(Spec, content, "the benchmark", name=name, title="", protocol={})
    spec = replace(
        spec,
        title=spec.title or spec.name,
        data=tuple(_data(entry, f"data[{i}]") for i, entry in enumerate(spec.data)),
        models=tuple(_model(entry, f"models[{i}]") for i, entry in enumerate(spec.models)),
        protocol=_protocol(spec.protocol),
        notes=spec.notes.strip(),
    )
    for i, metric in enumerate(spec.metrics):
        _one_of(metric, METRICS, f"metrics[{i}]")
    _one_of(spec.select, SELECTABLE, "select")
    _check_names(spec)
    _check_grids(spec)
    if spec.published:
        find_published(spec.published)
    return spec


def _data(entry: Any, where: str) -> DataEntry:
    data = _fill(DataEntry, {"name": entry} if isinstance(entry, str) else entry, where)
    _one_of(data.source, SOURCES, f"{where}.source", DataEntry)
    if data.source == "fetch":
        _one_of(data.name, DATASETS, f"{where}.name")
    return data


def _model(entry: Any, where: str) -> ModelEntry:
    entry = {"method": entry} if isinstance(entry, str) else entry
    name = str(entry.get("method")) if isinstance(entry, dict) else None
    model = _fill(ModelEntry, entry, where, name=name)
    twice = model.grid.keys() & model.params.keys()
    if twice:
        raise SpecError(f"{where}: {min(twice)} is in params and in grid; keep one.")
    try:
        make_estimator(model.method, **model.params, **model.grid)  # knows names, not values
    except ValueError as error:
        raise SpecError(f"{where}: {error}") from error
    return model


def _protocol(content: Any) -> Protocol:
    protocol = _fill(Protocol, content, "protocol")
    _one_of(protocol.kind, KINDS, "protocol.kind", Protocol)
    drawn = int(protocol.kind == "fresh")
    for name, least in {"folds": 2, "repeats": 1, "train": drawn, "test": drawn}.items():
        if getattr(protocol, name) < least:
            raise SpecError(f"protocol.{name}: must be a whole number of at least {least}.")
    if protocol.inner == 1:
        raise SpecError("protocol.inner: must be 0, or 2 or more.")
    if protocol.kind == "ratio" and not protocol.ratios:
        raise SpecError("protocol.ratios: name at least one training ratio.")
    return protocol


# Checks -------------------------------------------------------------------------------------------


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0


def _is_share(value: Any) -> bool:
    return isinstance(value, float) and 0 < value < 1


# What the type of a field asks of the YAML, in words and as a test.
_LIST = ("a list with at least one entry", _is_list)
_LISTS = (
    "a mapping of names to lists of values",
    lambda value: _is_mapping(value) and all(map(_is_list, value.values())),
)
_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "str": ("a text", lambda value: isinstance(value, str)),
    "int": ("a whole number, not negative", lambda value: type(value) is int and value >= 0),
    "Protocol": ("a mapping", _is_mapping),
    "dict[str, Any]": ("a mapping of names", _is_mapping),
    "dict[str, list[Any]]": _LISTS,
    "dict[str, list[str]]": _LISTS,
    "tuple[float, ...]": (
        "a list of numbers between 0 and 1",
        lambda value: isinstance(value, list) and all(map(_is_share, value)),
    ),
}


def _fill(kind: Any, content: Any, where: str, **defaults: Any) -> Any:
    """Return an object of a class from the mapping of its fields, each checked by its type."""
    if not isinstance(content, dict):
        raise SpecError(f"{where}: must be a mapping, it is {content!r}.")
    types = {one.name: str(one.type) for one in fields(kind)}
    required = [one.name for one in fields(kind) if one.default is one.default_factory is MISSING]
    values = {**dict.fromkeys(required), **defaults, **content}
    for key, value in values.items():
        if key not in types:
            known = ", ".join(types)
            raise SpecError(f"{where}: there is no {key!r}; known are {known}.")
        words, fits = _TYPES.get(types[key], _LIST)
        if not fits(value):
            place = f"{where}.{key}".removeprefix("the benchmark.")
            raise SpecError(f"{place}: must be {words}, it is {value!r}.")
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})


def _one_of(value: Any, known: Any, where: str, owner: type = Spec) -> None:
    """Refuse a value that is not known; one of version 0.2 with its own sentence."""
    if not isinstance(value, str) or value not in known:
        refuse_value(owner, where.rpartition(".")[2], value)
        raise SpecError(f"{where}: must be one of {', '.join(known)}, it is {value!r}.")


def _check_names(spec: Spec) -> None:
    for what in ("data", "models"):
        names = [entry.name for entry in getattr(spec, what)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise SpecError(f"{what}: {twice!r} is there twice; give one of them another name.")


def _check_grids(spec: Spec) -> None:
    for i, entry in enumerate(spec.data):
        if spec.protocol.kind == "fresh":
            _one_of(entry.source, _GENERATORS, f"data[{i}].source (bags are drawn anew)")
        empty = next((model.name for model in spec.models if not model.points(entry)), None)
        if empty is not None:
            raise SpecError(
                f"data[{i}].grid: leaves nothing of the grid of {empty!r}; keep at least one of "
                "its values of every parameter."
            )
