"""`Entry` and `Method`: what the catalog says about an estimator and about its names in papers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from bagwise._removed import find_removed_parameter
from bagwise.catalog.papers import PAPERS, Paper
from bagwise.errors import suggestion
from bagwise.estimators.tags import bag_tags

Params = dict[str, Any]
Grid = dict[str, tuple[float, ...]]

USUAL_GRID: Grid = {"C": (0.3, 3.0, 30.0)}  # a decade apart: three fits per inner fold


@dataclass(frozen=True)
class Listed:
    """A class that the catalog names by its dotted path and imports when asked for."""

    path: str

    @property
    def class_name(self) -> str:
        """The name of the class."""
        return self.path.rpartition(".")[2]

    @property
    def estimator(self) -> Any:
        """The class."""
        return getattr(import_module(self.path.rpartition(".")[0]), self.class_name)

    def build(self, **params: Any) -> Any:
        """Return the estimator, not fitted; an unknown parameter is refused by name.

        ``group__name`` sets a parameter of a group.
        """
        known = self.estimator().get_params()
        plain = {name: value for name, value in params.items() if "__" not in name}
        nested = {name: value for name, value in params.items() if "__" in name}
        for name in (*plain, *nested):
            given = name in nested and name.partition("__")[0] in plain
            if name not in known and not given:
                removed = find_removed_parameter(self.estimator, name)
                hint = suggestion(name, list(known))
                raise ValueError(removed or f"{self} has no parameter {name!r}. {hint}")
        return self.estimator(**plain).set_params(**nested)

    def __str__(self) -> str:
        return self.class_name


@dataclass(frozen=True)
class Method(Listed):
    """A method of a paper: an estimator and the parameters that make it this method."""

    name: str  # as the paper calls it
    paper: Paper
    purpose: str  # what it is for, in a few words
    options: Params  # that make the estimator this method

    @property
    def code(self) -> str:
        """What a user types to build it."""
        options = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"{self.class_name}({options})".replace("'", '"')

    @property
    def can(self) -> dict[str, Any]:
        """What it can do, by the estimator's own tags."""
        model = self.build()
        tags, of_sklearn = bag_tags(model), model.__sklearn_tags__()
        return {
            "several_classes": bool(
                of_sklearn.classifier_tags and of_sklearn.classifier_tags.multi_class
            ),
            "sparse_instances": of_sklearn.input_tags.sparse,
            "instance_scores": tags.instance_scores,
            "duality_gap": tags.gap,
        }

    def build(self, **params: Any) -> Any:
        """Return the estimator, not fitted; an unknown or a fixed parameter is refused by name."""
        fixed = next((name for name in params if name in self.options), None)
        if fixed is not None:
            raise ValueError(f"{fixed} cannot be set: {self} is {self.code}.")
        return super().build(**self.options, **params)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Entry(Listed):
    """An estimator.

    ``cost`` is the rank of the CPU time of a comparison: doublings over that of the quickest
    method, measured on small data sets. What costs little is tried first.
    """

    methods: tuple[Method, ...] = ()  # none for a class that searches another one's parameters
    grid: Grid = field(default_factory=lambda: USUAL_GRID)  # usual candidates by parameter
    task: str = "classes"  # or "numbers", "grades", "times": what the labels of its bags are
    needs: str = ""  # what a comparison cannot provide, such as "a graph"; empty for most
    cost: int = 0
    pairwise: bool = False  # whether it compares all pairs of instances, whatever its kernel
    checked: Params = field(default_factory=dict)  # for scikit-learn's checks and ours
    variants: list[Params] = field(default_factory=list)  # further parameters for our checks
    fails: dict[str, str] = field(default_factory=dict)  # checks, and why it fails them


def name(name: str, paper: str, purpose: str, **options: Any) -> Method:
    """Write down a method of an entry; ``paper`` is a key of `PAPERS`."""
    return Method("", name, PAPERS[paper], purpose, options)


def entry(path: str, *methods: Method, **facts: Any) -> Entry:
    """Write down an estimator with its methods."""
    return Entry(path, tuple(replace(method, path=path) for method in methods), **facts)
