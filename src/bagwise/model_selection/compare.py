"""Which model suits given bags: nested cross-validation over the methods.

In every outer fold, inner folds of its training part choose the grid point and, for two classes,
the threshold on bag scores. The chosen model is fitted on the whole training part and judged on
the held-out bags, which took no part in the choice. All models see the same folds, and folds keep
``bags.groups`` together.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.catalog import ENTRIES, Entry, Method
from bagwise.crossfit import check_enough_bags, folds
from bagwise.errors import Argument, said_by
from bagwise.metrics import bag_measures
from bagwise.model_selection.crossvalidate import CrossValidation
from bagwise.model_selection.search import FOLDS, grid_points, search, standardizer

METRICS = ("accuracy", "balanced_accuracy", "auc")
_MANY_INSTANCES = 5000  # a matrix of all pairs of instances then takes 200 MB


def candidates(bags: Bags, n_classes: int = 2) -> tuple[dict[str, Any], dict[str, str]]:
    """Choose the methods that make sense for bags, by their papers' names.

    Parameters
    ----------
    bags : Bags
        The data. Above 5,000 instances, kernels become linear where a method has a linear form,
        and methods that compare all pairs of instances are left out.
    n_classes : int, default=2
        Number of classes.

    Returns
    -------
    models : dict of str to BagClassifier
        Not fitted.
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
    return models, left_out


def _suited(entry: Entry, method: Method, bags: Bags, n_classes: int) -> tuple[Any, str]:
    """Return the method's model as it suits the bags, and the reason it does not apply, or ""."""
    model = method.build()
    if entry.needs:
        return model, f"needs {entry.needs}"
    if n_classes > 2 and not method.can["several_classes"]:
        return model, "is for two classes"
    if bags.n_instances <= _MANY_INSTANCES:
        return model, ""
    if entry.pairwise:
        return model, f"compares all pairs of the {bags.n_instances} instances"
    is_rbf = model.get_params().get("kernel") == "rbf"
    return model.set_params(kernel="linear") if is_rbf else model, ""


@dataclass(frozen=True)
class Compared(CrossValidation):
    """The result of one model in a comparison.

    Parameters
    ----------
    folds : list of dict
        The metrics of each outer fold.
    warned : list of str
        Warnings of all fits.
    name : str
        The name of the model.
    model : BagClassifier
        The estimator, without the chosen parameters.
    points : list of dict
        The grid point that each outer fold chose.
    seconds : float
        CPU seconds of all fits.
    failure : str
        Why it could not be fitted; empty if it could.

    Examples
    --------
    >>> from bagwise.model_selection import Compared
    >>> Compared([{"auc": 0.75}, {"auc": 1.0}], [], name="SIL").mean("auc")
    0.875
    """

    name: str = ""
    model: Any = None
    points: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    failure: str = ""

    def mean(self, metric: str) -> float:
        """Return the mean of a metric over folds.

        Parameters
        ----------
        metric : str
            Its name.

        Returns
        -------
        float
            NaN where no fold defines it.
        """
        values = self.values(metric)
        return float(values.mean()) if len(values) else float("nan")

    def error(self, metric: str) -> float:
        """Return the standard error of the mean over folds.

        Parameters
        ----------
        metric : str
            Its name.

        Returns
        -------
        float
            0 where at most one fold defines it.
        """
        values = self.values(metric)
        return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0

    def usual_point(self) -> dict[str, Any]:
        """Return the grid point that was chosen most often.

        Returns
        -------
        dict
            The first of equals.
        """
        counts = Counter(tuple(point.items()) for point in self.points)
        return dict(counts.most_common(1)[0][0]) if counts else {}


def compare_models(
    models: dict[str, Any],
    bags: Bags,
    y: Array,
    *,
    cv: int = 5,
    inner_cv: int = 3,
    metric: str = "accuracy",
    scale: bool = False,
    random_state: int = 0,
    n_jobs: int | None = None,
    callback: Callable[[str], Any] = lambda name: None,
) -> list[Compared]:
    """Rank models by nested cross-validation.

    Parameters
    ----------
    models : dict of str to BagClassifier
        By name, as `candidates` returns them.
    bags : Bags
        The data.
    y : ndarray of shape (n_bags,)
        Labels of the bags.
    cv, inner_cv : int, default=5, 3
        Number of outer folds, which judge, and of inner folds, which choose.
    metric : {"accuracy", "balanced_accuracy", "auc"}, default="accuracy"
        The metric to choose and rank by.
    scale : bool, default=False
        Whether to standardize the features on the training part of each outer fold.
    random_state : int, default=0
        Seed of the folds.
    n_jobs : int, default=None
        Number of outer folds run at the same time.
    callback : callable, default=nothing
        Called with the model's name after each of its outer folds.

    Returns
    -------
    list of Compared
        The best first; models that could not be fitted last.

    Examples
    --------
    >>> from bagwise import InstanceSVC, WitnessSVC
    >>> from bagwise.model_selection import compare_models
    >>> from bagwise.datasets import make_gaussian_bags
    >>> bags, y = make_gaussian_bags(n_bags=40, shift=4.0, random_state=0)
    >>> models = {"SIL": InstanceSVC(), "MI-SVM": WitnessSVC(kernel="linear")}
    >>> [result.name for result in compare_models(models, bags, y, cv=3)]
    ['MI-SVM', 'SIL']
    """
    if metric not in METRICS:
        raise ValueError(f"There is no metric {metric!r}; there are {', '.join(METRICS)}.")
    check_enough_bags(bags, y, (FOLDS, cv), (Argument("inner_cv", ""), inner_cv))
    outer = _OuterFold(bags, y, inner_cv, metric, scale, random_state)
    tasks = [(name, *split) for name in models for split in folds(bags, y, cv, random_state)]
    jobs = Parallel(n_jobs=n_jobs, return_as="generator")
    results = jobs(delayed(outer.judge)(models[name], *split) for name, *split in tasks)
    judged: dict[str, list[dict[str, Any]]] = {name: [] for name in models}
    for (name, *_), result in zip(tasks, results, strict=True):
        judged[name].append(result)
        callback(name)
    compared = [_summed_up(name, models[name], results) for name, results in judged.items()]
    return sorted(compared, key=lambda one: (bool(one.failure), -one.mean(metric), one.seconds))


def _summed_up(name: str, model: Any, results: list[dict[str, Any]]) -> Compared:
    good = [result for result in results if not result["failure"]]
    return Compared(
        folds=[result["measures"] for result in good],
        warned=[text for result in results for text in result["warned"]],
        name=name,
        model=model,
        points=[result["point"] for result in good],
        seconds=sum(result["seconds"] for result in results),
        failure=next((result["failure"] for result in results if result["failure"]), ""),
    )


@dataclass(frozen=True)
class _OuterFold:
    """What is done in every outer fold, with every model."""

    bags: Bags
    y: Array
    inner_cv: int
    metric: str
    scale: bool
    random_state: int

    def judge(self, model: Any, train: Array, test: Array) -> dict[str, Any]:
        """Choose on the training part, judge on the test part; a failed fit is recorded."""
        began = time.process_time()
        result: dict[str, Any] = {"failure": "", "point": {}, "measures": {}}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result["point"], scores = self._chosen(model, train, test)
                y = self.y
                result["measures"] = bag_measures(y[test], scores, np.unique(y), only=METRICS)
            except (ValueError, MemoryError, FloatingPointError) as error:
                result["failure"] = said_by(error)
        result["warned"] = [said_by(warning.message) for warning in caught]
        return result | {"seconds": time.process_time() - began}

    def _chosen(self, model: Any, train: Array, test: Array) -> tuple[dict[str, Any], Array]:
        """Return the chosen grid point and the test bags' scores, its threshold subtracted."""
        part, held_out, y = self.bags[train], self.bags[test], self.y[train]
        if self.scale:
            scaler = standardizer(self.bags).fit(part)
            part, held_out = scaler.transform(part), scaler.transform(held_out)
        plain = clone(model).set_params(threshold=0.0)
        choices = search(
            plain,
            grid_points(plain),
            part,
            y,
            cv=self.inner_cv,
            metric=self.metric,
            calibrate=True,
            random_state=self.random_state,
        )
        best = max(choices, key=lambda choice: choice.value)
        fitted = plain.set_params(**best.point).fit(part, y)
        return best.point, fitted.decision_function(held_out) - best.threshold
