"""Grid points compared by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.catalog import usual_grid
from bagwise.crossfit import folds, out_of_fold_scores
from bagwise.crossfit.folds import number_folds
from bagwise.crossfit.scores import choose_thresholds
from bagwise.errors import Argument, ScaleWarning
from bagwise.metrics import bag_measures
from bagwise.model_selection.intervals import measure_predictions, task_of
from bagwise.model_selection.scaling import scalings, with_scaler

FOLDS = Argument("cv", "")  # what errors about too few bags name


def grid_points(
    model: Any, given: dict[str, Sequence[Any]] | None = None, fixed: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return the grid points at which a model is tried.

    Parameters
    ----------
    model : BagClassifier
        The model.
    given : dict of str to sequence, default=None
        Candidates by parameter; the usual ones of the catalog when not given.
    fixed : collection of str, default=()
        Parameters that keep the model's value: they have no usual candidates.

    Returns
    -------
    list of dict
        At least one point, which may be empty.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> from bagwise.model_selection import grid_points
    >>> grid_points(WitnessSVC())
    [{'C': 0.3}, {'C': 3.0}, {'C': 30.0}]
    """
    usual = {name: values for name, values in usual_grid(model).items() if name not in fixed}
    return list(ParameterGrid(given or usual))


@dataclass(frozen=True)
class Choice:
    """A grid point and its result on held-out bags.

    Parameters
    ----------
    point : dict
        Parameters.
    threshold : float
        The threshold that was chosen for it, 0 where none was.
    value : float
        The metric.
    scale : str, default="raw"
        How the features were scaled, as in `scalings`.

    Examples
    --------
    >>> from bagwise.model_selection import Choice
    >>> Choice({"C": 3.0}, threshold=0.0, value=0.9).point
    {'C': 3.0}
    """

    point: dict[str, Any]
    threshold: float
    value: float
    scale: str = "raw"


def search(
    model: Any,
    points: list[dict[str, Any]],
    bags: Bags,
    y: Array,
    *,
    cv: int = 3,
    metric: str = "accuracy",
    calibrate: bool = False,
    scale: str | None = None,
    impute: str | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    callback: Callable[[], Any] = lambda: None,
) -> list[Choice]:
    """Compare grid points by cross-validation, all on the same folds.

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
    metric : str, default="accuracy"
        What is compared: one of `bagwise.metrics.MEASURES`; of numbers "r2", of numbered grades
        "kappa", of times "harrell_c".
    calibrate : bool, default=False
        Choose a threshold for each point on its held-out scores (two classes): that of the highest
        balanced accuracy.
    scale : {"raw", "standard", "robust", "quantile", "auto", "search"} or None, default=None
        How features are scaled, by the training part of each fold: "auto" standardizes where the
        spreads of features differ by more than a factor of 100, "search" tries each scaling at each
        point, None is "raw".
    impute : {"median", "mean", "most_frequent", "zero"} or None, default=None
        What takes the place of missing values, by the training part of each fold.
    random_state : int, default=0
        Seed of the folds.
    n_jobs : int, default=None
        Number of folds fitted at the same time.
    callback : callable, default=nothing
        Called without arguments after each point.

    Returns
    -------
    list of Choice
        One per point and scaling, in order; the best has the highest ``value``.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> from bagwise.model_selection import grid_points, search
    >>> from bagwise.datasets import make_gaussian_bags
    >>> bags, y = make_gaussian_bags(n_bags=30, shift=3.0, random_state=0)
    >>> model = WitnessSVC(kernel="linear")
    >>> [choice.point for choice in search(model, grid_points(model), bags, y)]
    [{'C': 0.3}, {'C': 3.0}, {'C': 30.0}]
    """
    of_classes = task_of(metric) == "classes"
    splits = folds(bags, y, cv, random_state, name=FOLDS, ordered=not of_classes)
    classes = np.unique(y)
    positive = model.get_params(deep=False).get("pos_label")
    steps = scalings(bags, scale, impute=impute)

    def try_point(point: dict[str, Any], name: str) -> Choice:
        candidate = with_scaler(clone(model).set_params(**point), steps[name])
        scores = out_of_fold_scores(candidate, bags, y, None, splits, n_jobs)
        threshold = 0.0
        if calibrate and scores.ndim == 1:
            truth = (y == classes[1])[:, None]
            (threshold,) = choose_thresholds(scores[:, None], truth, np.ones(len(y)), "balanced")
        value = measure(scores - threshold)
        callback()
        return Choice(point, threshold, -np.inf if value is None else value, name)

    def measure(scores: Array) -> float | None:
        if of_classes:
            return bag_measures(y, scores, classes, (metric,), positive)[metric]
        return measure_predictions(metric, y, scores, number_folds(splits))

    with warnings.catch_warnings():
        if scale == "search":  # raw features are tried on purpose
            warnings.simplefilter("ignore", ScaleWarning)
        return [try_point(*pair) for pair in product(points, steps)]
