"""Which methods make sense for given bags, and in which order to try them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bagwise.bags import Bags
from bagwise.catalog import EVERY, Entry, Method, make_estimator, rank_cost
from bagwise.estimators.tags import configure, last_step
from bagwise.kernels import memory_limit
from bagwise.models.meansvc import MeanRegressor, MeanSVC
from bagwise.models.ordinal import OrdinalBagClassifier
from bagwise.models.statistics import StatisticsClassifier, StatisticsForestRegressor
from bagwise.models.survival import BagSurvival, CoxBag

MANY_ROWS = 5000  # a matrix of all pairs then takes 200 MB


# What grades and times are compared by: of every family of classifiers one that costs little.
_AT_THRESHOLDS = ("SimpleMI", "StatisticsLogistic", "StatisticsForest", "MI-Kernel", "MI-SVM")

_AUTOMATIC = {
    "numbers": "auto-numbers",
    "times": "auto-times",
}  # what "auto" is for other tasks than classes


def candidates(
    bags: Bags, n_classes: int = 2, task: str = "classes"
) -> tuple[dict[str, Any], dict[str, str]]:
    """Choose the methods that make sense for bags, by their papers' names.

    Parameters
    ----------
    bags : Bags
        The data. Above 5,000 instances, kernels become linear where a method has a linear form,
        and methods that compare all pairs of instances are left out. Where a bag becomes a single
        row (its mean, its statistics), bags count instead.
    n_classes : int, default=2
        Number of classes.
    task : {"classes", "numbers", "grades", "times"}, default="classes"
        What the labels are. Of grades and times, the name of a classifier is that of its copies at
        all thresholds.

    Returns
    -------
    models : dict of str to bag estimator
        Not fitted. Those that cost little come first, by the ranks of the catalog.
    left_out : dict of str to str
        Names of the other methods, and why they are left out.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.model_selection import candidates
    >>> models, left_out = candidates(Bags.from_list([[[0.0]], [[1.0]]]))
    >>> models["MI-SVM"], left_out
    (WitnessSVC(), {...})
    """
    models: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    listed = [(entry, method) for entry in EVERY for method in entry.methods]
    for entry, method in listed:
        copied = task in ("grades", "times") and method.name in _AT_THRESHOLDS
        if entry.task != task and not copied:
            continue
        model, reason = _suit(entry, method, bags, n_classes)
        same = next((name for name, other in models.items() if repr(other) == repr(model)), None)
        if reason or same:
            left_out[method.name] = reason or f"is {same}"
        else:
            models[method.name] = model
    models = {name: adapt_to(task, models[name]) for name in sorted(models, key=rank_cost)}
    return models, left_out


def by_names(names: Iterable[str], bags: Bags) -> dict[str, Any]:
    """Return the methods of some papers' names, linear where memory holds no kernel matrix."""
    models = {name: make_estimator(name) for name in names}
    for model in models.values():
        if 8.0 * bags.n_instances**2 > memory_limit() and not _has_bags_as_rows(model):
            _make_linear(model)
    return models


def adapt_to(task: str, model: Any) -> Any:
    """Return an estimator for the task: a classifier serves grades and times at their thresholds.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> from bagwise.model_selection.candidates import adapt_to
    >>> adapt_to("times", WitnessSVC())
    BagSurvival(estimator=WitnessSVC())
    """
    own = getattr(last_step(model), "task", "classes")
    if own == task:
        return model
    if type(model).__name__ == "AutoBagClassifier" and task in _AUTOMATIC:
        return configure(make_estimator(_AUTOMATIC[task]), **model.get_params(deep=False))
    if own == "classes" and task in ("grades", "times"):
        return (OrdinalBagClassifier if task == "grades" else BagSurvival)(estimator=model)
    take = {"numbers": "AutoBagRegressor", "classes": "AutoBagClassifier"}
    take |= {"grades": "OrdinalBagClassifier", "times": "BagSurvival or CoxBag"}
    name = type(last_step(model)).__name__
    raise ValueError(f"{name} predicts {own}, and the labels are {task}: take {take[task]}.")


def _make_linear(model: Any) -> Any:
    """Return a model with the linear kernel where it had the default one."""
    return model.set_params(kernel="linear") if model.get_params().get("kernel") == "rbf" else model


def _suit(entry: Entry, method: Method, bags: Bags, n_classes: int) -> tuple[Any, str]:
    """Return the method's model as it suits the bags, and the reason it does not apply, or ""."""
    model = method.build()
    if entry.needs:
        return model, f"needs {entry.needs}"
    if n_classes > 2 and not method.can["several_classes"]:
        return model, "is for two classes"
    of_bags = _has_bags_as_rows(model)
    n_rows, rows = (len(bags), "bags") if of_bags else (bags.n_instances, "instances")
    if n_rows <= MANY_ROWS:
        return model, ""
    if entry.pairwise:
        return model, f"compares all pairs of the {n_rows} {rows}"
    return _make_linear(model), ""


def _has_bags_as_rows(model: Any) -> bool:
    kinds = MeanSVC | MeanRegressor | StatisticsClassifier | StatisticsForestRegressor | CoxBag
    one_row = isinstance(model, kinds)
    return one_row or getattr(model, "bag_kernel", None) == "statistics"
