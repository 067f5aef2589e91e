"""Which methods make sense for given bags, and in which order to try them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bagwise.bags import Bags
from bagwise.catalog import ENTRIES, Entry, Method, make_estimator
from bagwise.catalog.expected import by_expected_gain
from bagwise.models.instance import InstanceSVC
from bagwise.models.meansvc import MeanSVC
from bagwise.models.statistics import StatisticsClassifier

_MANY_ROWS = 5000  # a matrix of all pairs then takes 200 MB
MANY_TO_READ = 50_000  # instances from which on a pass over them is what a fit costs


def candidates(bags: Bags, n_classes: int = 2) -> tuple[dict[str, Any], dict[str, str]]:
    """Choose the methods that make sense for bags, by their papers' names.

    Parameters
    ----------
    bags : Bags
        The data. Above 5,000 instances, kernels become linear where a method has a linear form,
        and methods that compare all pairs of instances are left out. Where a bag becomes a single
        row (its mean, its statistics), bags count instead.
    n_classes : int, default=2
        Number of classes.

    Returns
    -------
    models : dict of str to BagClassifier
        Not fitted. The most promising first: each adds most to the best of those before it, on the
        tasks that were measured for this purpose. Above 50,000 instances those come before that
        read them a few times only.
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
    listed = [(entry, method) for entry in ENTRIES for method in entry.methods]
    for entry, method in listed:
        model, reason = _suited(entry, method, bags, n_classes)
        same = next((name for name, other in models.items() if repr(other) == repr(model)), None)
        if reason or same:
            left_out[method.name] = reason or f"is {same}"
        else:
            models[method.name] = model
    order = by_expected_gain(list(models))
    if bags.n_instances > MANY_TO_READ:
        order.sort(key=lambda name: _burden(models[name]))
    return {name: models[name] for name in order}, left_out


def by_names(names: Iterable[str], bags: Bags) -> dict[str, Any]:
    """Return the methods of some papers' names; many instances leave kernels no other form."""
    models = {name: make_estimator(name) for name in names}
    for model in models.values():
        if bags.n_instances > MANY_TO_READ and not _has_bags_as_rows(model):
            _linear(model)
    return models


def _linear(model: Any) -> Any:
    """Return a model with the linear kernel where it had the default one."""
    return model.set_params(kernel="linear") if model.get_params().get("kernel") == "rbf" else model


def _burden(model: Any) -> int:
    """Rank what a fit to many instances costs: one convex problem, one row per bag, the rest."""
    one_problem = isinstance(model, InstanceSVC) and model.vote == "any"
    return 0 if one_problem else 1 if _has_bags_as_rows(model) else 2


def _suited(entry: Entry, method: Method, bags: Bags, n_classes: int) -> tuple[Any, str]:
    """Return the method's model as it suits the bags, and the reason it does not apply, or ""."""
    model = method.build()
    if entry.needs:
        return model, f"needs {entry.needs}"
    if n_classes > 2 and not method.can["several_classes"]:
        return model, "is for two classes"
    of_bags = _has_bags_as_rows(model)
    n_rows, rows = (len(bags), "bags") if of_bags else (bags.n_instances, "instances")
    if n_rows <= _MANY_ROWS:
        return model, ""
    if entry.pairwise:
        return model, f"compares all pairs of the {n_rows} {rows}"
    return _linear(model), ""


def _has_bags_as_rows(model: Any) -> bool:
    one_row = isinstance(model, MeanSVC | StatisticsClassifier)
    return one_row or getattr(model, "bag_kernel", None) == "statistics"
