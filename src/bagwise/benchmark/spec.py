"""What a benchmark is: data sets x models x grids x protocol x metrics, read from YAML.

A benchmark is a file, or the name of a preset of this package. Everything in it is checked before
anything runs, and an error says where it is and what would be right.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from bagwise.benchmark.measures import METRICS, SELECTABLE
from bagwise.benchmark.naming import check_method
from bagwise.benchmark.protocol import KINDS, Protocol

__all__ = ["DataEntry", "ModelEntry", "Spec", "SpecError", "load_spec", "parse_spec", "presets"]

_PRESETS = Path(__file__).with_name("presets")
SOURCES = ("fetch", "digits", "toy2d", "gaussian", "graph", "webkb", "file")
_QUICK_BAGS = 40


class SpecError(ValueError):
    """A benchmark's YAML is wrong; the message says where and what would be right."""


@dataclass(frozen=True)
class DataEntry:
    """A data set of a benchmark.

    Parameters
    ----------
    name : str
        Its column in the tables.
    source : str
        "fetch" (by name, as `bagwise.datasets.fetch`), a generator ("digits", "toy2d", "gaussian",
        "graph"), "webkb", or "file".
    options : dict
        Passed to the loader.
    thin : int
        Keep about so many bags, small ones, of every class alike; 0 keeps all.
    grid : dict of str to list
        Values that the models' grids keep on this set, where its fits are long.
    """

    name: str
    source: str = "fetch"
    options: dict[str, Any] = field(default_factory=dict)
    thin: int = 0
    grid: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelEntry:
    """A model of a benchmark, and its grid.

    Parameters
    ----------
    name : str
        Its row in the tables; published numbers are found by it.
    method : str
        The paper's name, or the class.
    params : dict
        Parameters of every fit.
    grid : dict of str to list
        Parameters to choose among.
    """

    name: str
    method: str
    params: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list[Any]] = field(default_factory=dict)

    def points(self, data: DataEntry) -> list[dict[str, Any]]:
        """Return the grid's points on a data set; the first parameter varies slowest."""
        kept = [
            [value for value in values if value in data.grid.get(name, values)]
            for name, values in self.grid.items()
        ]
        return [dict(zip(self.grid, values, strict=True)) for values in product(*kept)]


@dataclass(frozen=True)
class Spec:
    """A benchmark.

    Parameters
    ----------
    name, title : str
        What it is called, and in a sentence.
    data : tuple of DataEntry
        The data sets.
    models : tuple of ModelEntry
        The models.
    protocol : Protocol
        The splits.
    metrics : tuple of str
        The tables, in order.
    select : str
        The metric by which a grid point is chosen.
    published : str
        Key into the published numbers; empty where there are none.
    notes : str
        Where this departs from the paper.
    quick : dict
        Names of the "data" and "models" that a quick run keeps; all when not given.
    """

    name: str
    title: str
    data: tuple[DataEntry, ...]
    models: tuple[ModelEntry, ...]
    protocol: Protocol
    metrics: tuple[str, ...] = ("accuracy", "auc")
    select: str = "accuracy"
    published: str = ""
    notes: str = ""
    quick: dict[str, list[str]] = field(default_factory=dict)

    def shortened(self) -> Spec:
        """Return the benchmark's quick form: few bags, two splits, one grid point."""
        return replace(
            self,
            title=f"{self.title} (quick form: says nothing about the methods)",
            data=tuple(self._quick_data()),
            models=tuple(replace(model, grid=_first(model.grid)) for model in self._kept("models")),
            protocol=_quick_protocol(self.protocol),
        )

    def _kept(self, what: str) -> list[Any]:
        entries, names = getattr(self, what), self.quick.get(what)
        return [entry for entry in entries if names is None or entry.name in names]

    def _quick_data(self) -> list[DataEntry]:
        thin = 0 if self.protocol.kind == "fresh" else _QUICK_BAGS
        return [replace(entry, thin=thin, grid={}) for entry in self._kept("data")]


def _first(grid: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: values[:1] for name, values in grid.items()}


def _quick_protocol(protocol: Protocol) -> Protocol:
    return replace(
        protocol,
        folds=2,
        repeats=1,
        ratios=protocol.ratios[-1:],
        train=min(protocol.train, 20),
        test=min(protocol.test, 20),
        inner=min(protocol.inner, 2),
    )


# Reading ------------------------------------------------------------------------------------------


def presets() -> list[str]:
    """Return the names of the benchmarks that come with the package."""
    return sorted(path.stem for path in _PRESETS.glob("*.yaml"))


def load_spec(benchmark: str | Path) -> Spec:
    """Read a benchmark.

    Parameters
    ----------
    benchmark : str or Path
        Name of a preset, or a YAML file.

    Returns
    -------
    Spec
        The benchmark, checked.

    Examples
    --------
    >>> from bagwise.benchmark.spec import load_spec
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
    """Check the content of a benchmark's YAML.

    Parameters
    ----------
    content : dict
        What the file holds.
    name : str, default="benchmark"
        What the benchmark is called where the file does not say.

    Returns
    -------
    Spec
        The benchmark.

    Examples
    --------
    >>> from bagwise.benchmark.spec import parse_spec
    >>> spec = parse_spec({"data": ["musk1"], "models": [{"method": "MI-SVM"}]})
    >>> spec.models[0].name, spec.protocol.folds
    ('MI-SVM', 10)
    """
    _check_keys(content, "the benchmark", _names(Spec))
    for part in ("data", "models"):
        if not isinstance(content.get(part), list) or not content[part]:
            raise SpecError(f"{part}: must be a list with at least one entry.")
    spec = Spec(
        name=str(content.get("name", name)),
        title=str(content.get("title", content.get("name", name))),
        data=tuple(_data(entry, f"data[{i}]") for i, entry in enumerate(content["data"])),
        models=tuple(_model(entry, f"models[{i}]") for i, entry in enumerate(content["models"])),
        protocol=_protocol(content.get("protocol", {})),
        metrics=_metrics(content.get("metrics", ["accuracy", "auc"])),
        select=_one_of(content.get("select", "accuracy"), SELECTABLE, "select"),
        published=str(content.get("published", "")),
        notes=str(content.get("notes", "")).strip(),
        quick=content.get("quick", {}),
    )
    _check_together(spec)
    return spec


def _names(kind: Any) -> list[str]:
    return [one.name for one in fields(kind)]


def _check_keys(content: Any, where: str, known: list[str]) -> None:
    if not isinstance(content, dict):
        raise SpecError(f"{where}: must be a mapping, it is {content!r}.")
    for key in content:
        if key not in known:
            raise SpecError(f"{where}: there is no {key!r}; known are {', '.join(known)}.")


def _one_of(value: Any, known: Any, where: str) -> Any:
    if value not in known:
        raise SpecError(f"{where}: must be one of {', '.join(known)}, it is {value!r}.")
    return value


def _data(entry: Any, where: str) -> DataEntry:
    if isinstance(entry, str):
        entry = {"name": entry}
    _check_keys(entry, where, _names(DataEntry))
    if not isinstance(entry.get("name"), str):
        raise SpecError(f"{where}.name: must be a text.")
    data = DataEntry(**entry)
    _one_of(data.source, SOURCES, f"{where}.source")
    if data.source == "fetch":
        from bagwise.datasets.registry import DATASETS

        _one_of(data.name, DATASETS, f"{where}.name")
    _check_mapping(data.options, f"{where}.options")
    _check_count(data.thin, f"{where}.thin", least=0)
    _check_grid(data.grid, f"{where}.grid")
    return data


def _model(entry: Any, where: str) -> ModelEntry:
    if isinstance(entry, str):
        entry = {"method": entry}
    _check_keys(entry, where, _names(ModelEntry))
    if not isinstance(entry.get("method"), str):
        raise SpecError(f"{where}.method: name a method, by its paper's name or by its class.")
    model = ModelEntry(**{"name": entry["method"], **entry})
    _check_mapping(model.params, f"{where}.params")
    _check_grid(model.grid, f"{where}.grid")
    for key in model.grid:
        if key in model.params:
            raise SpecError(f"{where}: {key} is in params and in grid; keep one.")
    try:
        check_method(model.method, [*model.params, *model.grid])
    except ValueError as error:
        raise SpecError(f"{where}: {error}") from error
    return model


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


def _protocol(content: Any) -> Protocol:
    _check_keys(content, "protocol", _names(Protocol))
    ratios = content.get("ratios", [])
    if not isinstance(ratios, list) or not all(_is_share(ratio) for ratio in ratios):
        raise SpecError(f"protocol.ratios: must be numbers between 0 and 1, they are {ratios!r}.")
    protocol = Protocol(**{**content, "ratios": tuple(ratios)})
    _one_of(protocol.kind, KINDS, "protocol.kind")
    bounds = {"folds": 2, "repeats": 1, "inner": 0, "seed": 0, "train": 0, "test": 0}
    if protocol.kind == "fresh":
        bounds |= {"train": 1, "test": 1}
    for name, least in bounds.items():
        _check_count(getattr(protocol, name), f"protocol.{name}", least)
    if protocol.kind == "ratio" and not ratios:
        raise SpecError("protocol.ratios: name at least one training ratio.")
    if protocol.inner == 1:
        raise SpecError("protocol.inner: one fold is none; give 0, or 2 and more.")
    return protocol


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and 0 < value < 1


def _metrics(content: Any) -> tuple[str, ...]:
    if not isinstance(content, list) or not content:
        raise SpecError(f"metrics: must be a list of names, it is {content!r}.")
    return tuple(_one_of(name, METRICS, f"metrics[{i}]") for i, name in enumerate(content))


def _check_together(spec: Spec) -> None:
    from bagwise.benchmark.published import published_table

    for what in ("data", "models"):
        names = [entry.name for entry in getattr(spec, what)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise SpecError(f"{what}: {twice!r} is there twice; give one of them another name.")
    drawn = ("digits", "toy2d", "gaussian", "graph")
    for i, entry in enumerate(spec.data):
        if spec.protocol.kind == "fresh" and entry.source not in drawn:
            raise SpecError(
                f"data[{i}]: protocol.kind 'fresh' draws bags, {entry.name!r} is no generator; "
                f"source must be one of {', '.join(drawn)}."
            )
        for model in spec.models:
            if not model.points(entry):
                raise SpecError(
                    f"data[{i}].grid: leaves nothing of the grid of {model.name!r}; keep at least "
                    "one of its values of every parameter."
                )
    _check_mapping(spec.quick, "quick")
    for what, names in spec.quick.items():
        _one_of(what, ("data", "models"), "quick")
        for name in names:
            _one_of(name, [entry.name for entry in getattr(spec, what)], f"quick.{what}")
    if spec.published:
        published_table(spec.published)
