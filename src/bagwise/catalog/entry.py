"""`Entry` and `Method`: what the catalog says about an estimator, and how it is found by name."""

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


EVERY: list[Entry] = []  # of classes first, then of other tasks; `entry` appends


def name(name: str, paper: str, purpose: str, **options: Any) -> Method:
    """Write down a method of an entry; ``paper`` is a key of `PAPERS`."""
    return Method("", name, PAPERS[paper], purpose, options)


def entry(path: str, *methods: Method, **facts: Any) -> Entry:
    """Write down an estimator with its methods."""
    EVERY.append(Entry(path, tuple(replace(method, path=path) for method in methods), **facts))
    return EVERY[-1]


# Lookup ------------------------------------------------------------------------------------------


class UnknownMethodError(ValueError):
    """No method has this name; the message suggests some that exist."""


def by_paper_name(name: str, /, **params: Any) -> Any:
    """Build an estimator by the name its paper gave the method.

    Parameters
    ----------
    name : str
        The paper's name. Upper and lower case matter: mi-SVM and MI-SVM are two methods.
    **params : object
        Parameters of the estimator, except those that make it this method.

    Returns
    -------
    BagClassifier
        The estimator, not fitted.

    Examples
    --------
    >>> from bagwise import by_paper_name
    >>> by_paper_name("MI-SVM", C=10)
    WitnessSVC(C=10)
    >>> by_paper_name("SVM-Majority")
    InstanceSVC(vote='majority')
    """
    known = {method.name: method for entry in EVERY for method in entry.methods}
    if name not in known:
        raise UnknownMethodError(f"There is no method {name!r}. {suggestion(name, known)}")
    return known[name].build(**params)


def make_estimator(name: str, /, **params: Any) -> Any:
    """Build an estimator by its paper's name, as `by_paper_name`, or by the name of its class.

    Examples
    --------
    >>> from bagwise.catalog import make_estimator
    >>> make_estimator("MI-SVM", C=10), make_estimator("WitnessSVC", C=10)
    (WitnessSVC(C=10), WitnessSVC(C=10))
    """
    entry = next((entry for entry in EVERY if entry.class_name == name), None)
    return by_paper_name(name, **params) if entry is None else entry.build(**params)


def entry_of(model: Any) -> Entry | None:
    """Return the entry of a model's class or of the nearest base that has one."""
    paths = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(model).__mro__)
    return next((entry for path in paths for entry in EVERY if entry.path == path), None)


def paper_name_of(model: Any) -> str:
    """Return the paper's name of the method that a model is, or the name of its class."""
    entry = entry_of(model)
    for method in () if entry is None else entry.methods:
        if all(getattr(model, key, None) == value for key, value in method.options.items()):
            return method.name
    return type(model).__name__


def rank_cost(name: str) -> float:
    """Return the rank of a method's CPU time, infinity for a name that is not listed.

    Examples
    --------
    >>> from bagwise.catalog import rank_cost
    >>> rank_cost("SimpleMI") < rank_cost("MI-SVM") < rank_cost("mine")
    True
    """
    entry = next((e for e in EVERY if name in {e.class_name, *map(str, e.methods)}), None)
    return float("inf") if entry is None else float(entry.cost)


def usual_grid(model: Any) -> Grid:
    """Return the usual candidates by parameter; a model that is not listed may have ``C``.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> from bagwise.catalog import usual_grid
    >>> usual_grid(WitnessSVC())
    {'C': (0.3, 3.0, 30.0)}
    """
    entry, known = entry_of(model), model.get_params(deep=False)
    grid = USUAL_GRID if entry is None else entry.grid
    return {name: values for name, values in grid.items() if name in known}
