"""Grid points judged by cross-validation, and what must hold before there can be folds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from bagwise._factorize import factorize
from bagwise.bags import Bags
from bagwise.benchmark.measures import bag_measures
from bagwise.crossfit import best_threshold, folds, out_of_fold_scores
from bagwise.preprocessing import PerInstance

__all__ = ["Choice", "check_enough", "grid_points", "search", "standardiser"]

Array = NDArray[Any]

# A model is searched over those of these parameters that it has.
GRID: dict[str, tuple[float, ...]] = {
    "C": (0.3, 3.0, 30.0),
    "lam": (10.0, 100.0, 1000.0),
    "lambda_": (0.1, 1.0, 10.0),
    "p_star": (0.25, 0.5, 1.0),
}


def grid_points(
    model: Any, given: dict[str, Sequence[Any]] | None = None, fixed: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return the grid points at which a model is tried.

    Parameters
    ----------
    model : BagClassifier
        The model.
    given : dict of str to sequence, default=None
        Candidates by parameter; the usual ones of `GRID` when not given.
    fixed : collection of str, default=()
        Parameters that keep the model's value: they have no usual candidates.

    Returns
    -------
    list of dict
        At least one point, which may be empty.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> from bagwise.comparison import grid_points
    >>> grid_points(WitnessSVC())
    [{'C': 0.3}, {'C': 3.0}, {'C': 30.0}]
    """
    free = model.get_params().keys() - set(fixed)
    grid = given or {name: values for name, values in GRID.items() if name in free}
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


@dataclass(frozen=True)
class Choice:
    """A grid point, the threshold that goes with it, and its value on held-out bags."""

    point: dict[str, Any]
    threshold: float
    value: float


def search(
    model: Any,
    points: list[dict[str, Any]],
    bags: Bags,
    y: Array,
    *,
    cv: int = 3,
    metric: str = "accuracy",
    calibrate: bool = False,
    scaler: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
    tell: Callable[[], Any] = lambda: None,
) -> list[Choice]:
    """Judge grid points by cross-validation; all of them on the same folds.

    Parameters
    ----------
    model : BagClassifier
        Cloned for every fit.
    points : list of dict
        As `grid_points` returns.
    bags : Bags
        The training bags.
    y : ndarray of shape (n_bags,)
        Their labels.
    cv : int, default=3
        Number of folds.
    metric : {"accuracy", "balanced_accuracy", "auc"}, default="accuracy"
        What is compared.
    calibrate : bool, default=False
        Choose a threshold for each point on its held-out scores (two classes).
    scaler : transformer of bags, default=None
        Fitted before the model on the training part of each fold, as `standardiser` returns.
    seed : int, default=0
        Of the folds.
    n_jobs : int, default=None
        Folds run at the same time.
    tell : callable, default=nothing
        Called after each point.

    Returns
    -------
    list of Choice
        One a point, in order. The best is ``max(..., key=lambda choice: choice.value)``.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> from bagwise.comparison import grid_points, search
    >>> from bagwise.datasets import make_gaussian_bags
    >>> bags, y = make_gaussian_bags(n_bags=30, shift=3.0, random_state=0)
    >>> model = WitnessSVC(kernel="linear")
    >>> [choice.point for choice in search(model, grid_points(model), bags, y)]
    [{'C': 0.3}, {'C': 3.0}, {'C': 30.0}]
    """
    splits, classes = folds(bags, y, cv, seed), np.unique(y)
    choices = []
    for point in points:
        candidate = clone(model).set_params(**point)
        if scaler is not None:
            candidate = Pipeline([("scale", scaler), ("classify", candidate)])
        scores = out_of_fold_scores(candidate, bags, y, np.ones(len(y)), splits, n_jobs)
        threshold = 0.0
        if calibrate and scores.ndim == 1:
            threshold = best_threshold(scores, y == classes[1], np.ones(len(y)))
        value = bag_measures(y, scores - threshold, classes, only=(metric,))[metric]
        choices.append(Choice(point, threshold, -np.inf if value is None else value))
        tell()
    return choices


def check_enough(bags: Bags, y: Array, n_folds: int, inner: int = 1) -> None:
    """Ask for two classes, each with enough bags (or groups) for the folds.

    Parameters
    ----------
    bags : Bags
        The data.
    y : ndarray of shape (n_bags,)
        Labels of the bags.
    n_folds : int
        Number of folds.
    inner : int, default=1
        How many bags of each class every training part must keep.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.comparison import check_enough
    >>> check_enough(Bags.from_list([[[0.0]], [[1.0]], [[2.0]]]), [0, 1, 1], 2)
    Traceback (most recent call last):
    ...
    ValueError: Class 0 has 1 bags; 2 folds need 2: take fewer folds, or bring more bags.
    """
    labels = np.asarray(y)
    classes = np.unique(labels).tolist()
    if len(classes) < 2:
        raise ValueError(f"All bags are of the class {classes[0]!r}: learning needs two classes.")
    unit = np.arange(len(bags)) if bags.groups is None else factorize(bags.groups)[0]
    what = "bags" if bags.groups is None else "groups"
    for label in classes:
        found = len(np.unique(unit[labels == label]))
        needed = n_folds
        while needed - -(-needed // n_folds) < inner:  # what the largest fold leaves
            needed += 1
        if found < needed:
            raise ValueError(
                f"Class {label!r} has {found} {what}; {n_folds} folds need {needed}: take fewer "
                f"folds, or bring more {what}."
            )


def standardiser(bags: Bags) -> PerInstance:
    """Return a transformer to zero mean and unit variance; sparse instances keep their zeros.

    Parameters
    ----------
    bags : Bags
        The data.

    Returns
    -------
    PerInstance
        Not fitted.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.comparison import standardiser
    >>> bags = Bags.from_list([[[0.0], [2.0]]])
    >>> standardiser(bags).fit_transform(bags).X.ravel()
    array([-1.,  1.])
    """
    return PerInstance(StandardScaler(with_mean=not sp.issparse(bags.X)))
