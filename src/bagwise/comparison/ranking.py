"""Which model suits given bags: nested cross-validation over the methods, ranked.

For every outer fold, inner folds of its training part choose the grid point and, for two classes,
the bag threshold; the chosen model is fitted on the whole training part and judged on bags that
took no part in any of this. All models see the same folds. Folds keep ``bags.groups`` together.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone

from bagwise.bags import Bags
from bagwise.benchmark.measures import bag_measures
from bagwise.comparison.search import check_enough, grid_points, search, standardiser
from bagwise.crossfit import folds
from bagwise.papers import METHODS

__all__ = ["METRICS", "Ranking", "candidates", "compare_models"]

Array = NDArray[Any]

METRICS = ("accuracy", "balanced_accuracy", "auc")
_MANY_INSTANCES = 5000  # above, matrices of all pairs of instances are no longer quick


def candidates(bags: Bags, n_classes: int = 2) -> tuple[dict[str, Any], dict[str, str]]:
    """Choose the methods that make sense for bags, by their papers' names.

    Parameters
    ----------
    bags : Bags
        The data; above 5,000 instances, kernels become linear where a method has a linear form,
        and methods that compare all pairs of instances are left out.
    n_classes : int, default=2
        Number of classes.

    Returns
    -------
    models : dict of str to BagClassifier
        Not fitted.
    left_out : dict of str to str
        Names of the others, and why.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.comparison import candidates
    >>> models, left_out = candidates(Bags.from_list([[[0.0]], [[1.0]]]))
    >>> models["MI-SVM"], left_out
    (WitnessSVC(), {...})
    """
    models: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for method in METHODS:
        model, why = _fitting(method.estimator(**method.options), bags, n_classes)
        same = next((name for name, other in models.items() if repr(other) == repr(model)), None)
        if why or same:
            left_out[method.name] = why or f"is {same}"
        else:
            models[method.name] = model
    return models, left_out


def _fitting(model: Any, bags: Bags, n_classes: int) -> tuple[Any, str]:
    """Return the model as it suits the bags, and why it does not where it does not."""
    parameters = model.get_params()
    if "bag_graph" in parameters:
        return model, "needs a graph between the bags"
    if n_classes > 2 and not model.__sklearn_tags__().classifier_tags.multi_class:
        return model, "is for two classes"
    if bags.n_instances <= _MANY_INSTANCES:
        return model, ""
    if parameters.get("kernel") == "rbf":
        return model.set_params(kernel="linear"), ""
    if parameters.get("kernel") == "linear" or "gamma" not in parameters:
        return model, ""
    return model, f"compares all pairs of the {bags.n_instances} instances"


@dataclass
class Ranking:
    """How one method did.

    Parameters
    ----------
    name : str
        The paper's name.
    model : BagClassifier
        The estimator, without the grid point.
    folds : list of dict
        The metrics of each outer fold.
    points : list of dict
        The grid point that each outer fold chose.
    seconds : float
        CPU seconds of all its fits.
    warned : list of str
        Warnings of its fits.
    failure : str
        Why it could not be fitted; empty where it could.
    """

    name: str
    model: Any
    folds: list[dict[str, Any]] = field(default_factory=list)
    points: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    warned: list[str] = field(default_factory=list)
    failure: str = ""

    def mean(self, metric: str) -> float:
        """Return the mean over folds; NaN where no fold defines it."""
        values = self._values(metric)
        return float(np.mean(values)) if values else float("nan")

    def error(self, metric: str) -> float:
        """Return the standard error of the mean over folds."""
        values = self._values(metric)
        return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0

    def usual_point(self) -> dict[str, Any]:
        """Return the grid point chosen most often; the first one of equals."""
        if not self.points:
            return {}
        keys = [tuple(point.items()) for point in self.points]
        return dict(Counter(keys).most_common(1)[0][0])

    def _values(self, metric: str) -> list[float]:
        return [fold[metric] for fold in self.folds if fold[metric] is not None]


def compare_models(
    models: dict[str, Any],
    bags: Bags,
    y: Array,
    *,
    cv: int = 5,
    inner_cv: int = 3,
    metric: str = "accuracy",
    scale: bool = False,
    seed: int = 0,
    n_jobs: int | None = None,
    tell: Callable[[str], Any] = lambda name: None,
) -> list[Ranking]:
    """Rank models by nested cross-validation.

    Parameters
    ----------
    models : dict of str to BagClassifier
        By name, such as `candidates` returns.
    bags : Bags
        The data.
    y : ndarray of shape (n_bags,)
        Labels of the bags.
    cv, inner_cv : int, default=5, 3
        Outer folds, which judge, and inner ones, which choose.
    metric : {"accuracy", "balanced_accuracy", "auc"}, default="accuracy"
        What is chosen and ranked by.
    scale : bool, default=False
        Standardise the features on the training part of each outer fold.
    seed : int, default=0
        Of the folds.
    n_jobs : int, default=None
        Outer folds run at the same time.
    tell : callable, default=nothing
        Called with the model's name after each of its outer folds.

    Returns
    -------
    list of Ranking
        The best first; those that could not be fitted last.

    Examples
    --------
    >>> from bagwise import InstanceSVC, WitnessSVC
    >>> from bagwise.comparison import compare_models
    >>> from bagwise.datasets import make_gaussian_bags
    >>> bags, y = make_gaussian_bags(n_bags=40, shift=4.0, random_state=0)
    >>> models = {"SIL": InstanceSVC(), "MI-SVM": WitnessSVC(kernel="linear")}
    >>> [ranking.name for ranking in compare_models(models, bags, y, cv=3)]
    ['MI-SVM', 'SIL']
    """
    if metric not in METRICS:
        raise ValueError(f"There is no metric {metric!r}; there are {', '.join(METRICS)}.")
    check_enough(bags, y, cv, inner_cv)
    rankings = {name: Ranking(name, model) for name, model in models.items()}
    splits = folds(bags, y, cv, seed)
    options = {"inner_cv": inner_cv, "metric": metric, "scale": scale, "seed": seed}
    tasks = [(name, *split) for name in models for split in splits]
    for name, fold in _run(models, bags, y, tasks, options, n_jobs):
        ranking = rankings[name]
        ranking.seconds += fold["seconds"]
        ranking.warned += fold["warned"]
        ranking.failure = ranking.failure or fold["failure"]
        if not fold["failure"]:
            ranking.folds.append(fold["measures"])
            ranking.points.append(fold["point"])
        tell(name)

    def order(ranking: Ranking) -> tuple[bool, float, float]:
        return bool(ranking.failure), -ranking.mean(metric), ranking.seconds

    return sorted(rankings.values(), key=order)


def _run(
    models: dict[str, Any],
    bags: Bags,
    y: Array,
    tasks: list[tuple[str, Array, Array]],
    options: dict[str, Any],
    n_jobs: int | None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the folds' results in the order of the tasks, as soon as they are there."""
    jobs = Parallel(n_jobs=n_jobs, return_as="generator")
    results = jobs(delayed(_fold)(models[name], bags, y, *rest, **options) for name, *rest in tasks)
    for (name, *_), result in zip(tasks, results, strict=True):
        yield name, result


def _fold(
    model: Any,
    bags: Bags,
    y: Array,
    train: Array,
    test: Array,
    *,
    inner_cv: int,
    metric: str,
    scale: bool,
    seed: int,
) -> dict[str, Any]:
    """Choose on the training part, judge on the test part; a model's refusal is its result."""
    began = time.process_time()
    result: dict[str, Any] = {"failure": "", "point": {}, "measures": {}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            point, scores = _chosen(model, bags, y, train, test, inner_cv, metric, scale, seed)
            result["point"] = point
            result["measures"] = bag_measures(y[test], scores, np.unique(y), only=METRICS)
        except (ValueError, MemoryError, FloatingPointError) as error:
            result["failure"] = str(error)
    result["warned"] = [str(warning.message) for warning in caught]
    return result | {"seconds": time.process_time() - began}


def _chosen(
    model: Any,
    bags: Bags,
    y: Array,
    train: Array,
    test: Array,
    inner_cv: int,
    metric: str,
    scale: bool,
    seed: int,
) -> tuple[dict[str, Any], Array]:
    """Return the chosen grid point and the test bags' scores, its threshold subtracted."""
    part, held_out = bags[train], bags[test]
    if scale:
        scaler = standardiser(bags).fit(part)
        part, held_out = scaler.transform(part), scaler.transform(held_out)
    plain = clone(model).set_params(threshold=0.0)
    points = grid_points(plain)
    choices = search(
        plain, points, part, y[train], cv=inner_cv, metric=metric, calibrate=True, seed=seed
    )
    best = max(choices, key=lambda choice: choice.value)
    fitted = plain.set_params(**best.point).fit(part, y[train])
    return best.point, fitted.decision_function(held_out) - best.threshold
