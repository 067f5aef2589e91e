"""The one list of estimators: their papers and names, what they are for, how they are checked.

`by_paper_name`, ``bagwise models``, docs/methods.md, `bagwise.model_selection.candidates`,
`bagwise.testing.estimators` and the model files read it. Estimators are named by dotted path and
imported when asked for, so that the catalog may list whatever lies above it.
"""

from __future__ import annotations

from typing import Any

from bagwise.catalog.entries import ENTRIES
from bagwise.catalog.entry import USUAL_GRID, Entry, Grid, Method
from bagwise.catalog.tasks import OF_TASKS
from bagwise.errors import suggestion

__all__ = [
    "ENTRIES",
    "EVERY",
    "METHODS",
    "Entry",
    "Method",
    "UnknownMethodError",
    "by_paper_name",
    "entry_of",
    "make_estimator",
    "rank_cost",
    "usual_grid",
]

METHODS = tuple(method for entry in ENTRIES for method in entry.methods)  # of classes
EVERY = (*ENTRIES, *OF_TASKS)  # those of numbers, grades and times too
_BY_NAME = {method.name: method for entry in EVERY for method in entry.methods}
_BY_PATH = {entry.path: entry for entry in EVERY}


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
    if name not in _BY_NAME:
        raise UnknownMethodError(f"There is no method {name!r}. {suggestion(name, _BY_NAME)}")
    return _BY_NAME[name].build(**params)


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
    return next((_BY_PATH[path] for path in paths if path in _BY_PATH), None)


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
