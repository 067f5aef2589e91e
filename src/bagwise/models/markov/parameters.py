"""The parameters of a Markov network."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

from sklearn.utils._param_validation import HasMethods, Interval, Options

from bagwise.estimators.params import Parameters, Words, fraction, integer, param, positive, shared


class EarlyStopping(Parameters):
    """When a network stops early: a group of parameters.

    Examples
    --------
    >>> from bagwise import EarlyStopping, MarkovNetworkClassifier
    >>> MarkovNetworkClassifier(early_stopping=EarlyStopping(validation_fraction=0.2))
    MarkovNetworkClassifier(early_stopping=EarlyStopping(validation_fraction=0.2))
    """

    validation_fraction: float = param(
        0.1,
        Interval(Real, 0, 1, closed="neither"),
        "Fraction of each class's bags that is held out, at least one bag.",
    )
    n_iter_no_change: int = param(
        10,
        integer(),
        "Stop after as many descents in a row that are all worse on the held-out bags than the "
        "best one.",
    )


class NetworkParameters(Parameters):
    """What a network assumes, sees and minimizes."""

    cardinality: Any = param(
        "any",
        [Words("any", "ratio", "learned"), HasMethods(["table"])],
        "What makes a bag positive: one positive instance (MIMN), the fraction "
        "``positive_fraction`` of them (RMIMN), learned weights over fractions (GMIMN), or a "
        "potential of your own: a `CountPotential`, or any object whose ``table(size)`` has its "
        "shape.",
        kind='{"any", "ratio", "learned"} or object with ``table(size)``',
    )
    positive_fraction: float = param(
        0.5, fraction(), 'Minimum fraction (rho in the paper) of positives for "ratio".'
    )
    n_bins: int = param(
        5,
        integer(),
        'Number of ranges of the fraction for "learned". Where positives are less than '
        '1 / ``n_bins`` of a positive bag, all counts are in the first range, and "any" tells '
        "more.",
    )
    alpha: float = param(
        1.0,
        positive(),
        "Weight (lambda in the paper) of |w|^2 / 2 against the sum of the bags' losses.",
    )
    bag_features: Any = param(
        None,
        [
            Words("kernels", "bags"),
            HasMethods(["fit", "decision_function"]),
            HasMethods(["fit", "predict_proba"]),
            list,
            tuple,
            None,
        ],
        "Features of whole bags: out-of-fold scores of three bag kernels, the array on the `Bags`, "
        "or out-of-fold scores of any bag estimators, also inside pipelines, searches and "
        "calibrations (probabilities where there are no scores).",
        kind='{"kernels", "bags"}, bag estimator, list of them or None',
    )
    feature_map: Any = param(
        None,
        [HasMethods(["fit_transform", "transform"]), None],
        "Fitted to the training instances and applied to all, such as "
        "``make_pipeline(MinMaxScaler(clip=True), IntersectionMap(n=3))`` or a ``Nystroem``.",
        kind="transformer",
    )
    unit_norm: bool = param(
        True, ["boolean"], "Scale the (mapped) instances to unit mean squared norm."
    )
    fit_intercept: bool = param(False, ["boolean"], "Append a constant feature to the instances.")
    multi_class: str = param(
        "native",
        Words("native", "ovr"),
        "More than two classes: one joint problem, or one network against the rest per class.",
    )
    init: Any = param(
        None,
        [list, tuple, None],
        'Starting points, of which the lowest objective is kept: "instances" (a convex step from '
        'the labeling in which all instances have their bag\'s class), "any" and "half" (the '
        'weights learned with the rule "at least one" and "at least half"), "mean", '
        '"random", "zero", "bag_features" (the paper\'s: zero, but .1 for bag features). None is '
        '"instances" and "any" ("half" for MIMN itself), and "mean" besides for a joint problem '
        'of many classes. "mean" is added where the others end at the objective of w = 0.',
        kind="sequence of str",
    )
    cv: Any = param(
        5,
        ["cv_object"],
        "Folds of the out-of-fold scores behind ``bag_features``.",
        kind="int, splitter or iterable of folds",
    )
    tol: float = param(
        1e-2,
        Interval(Real, 0, 1, closed="neither"),
        "Tolerance of the bundle methods, relative to the objective; relative to what is gained "
        "over w = 0 where that is little.",
    )
    early_stopping: EarlyStopping | None = param(
        None,
        [EarlyStopping, Options(bool, {False}), None],
        "Hold out a part of the training bags, and keep the iterate (and the start) with the best "
        "accuracy on them, of equal ones the one with the lowest mean loss. None: no bag is held "
        "out.",
        kind="EarlyStopping or None",
    )
    max_iter: int = shared(
        "max_iter", doc="Maximum number of rounds of NRBM and a convex step, per start."
    )
    verbose: int = shared("verbose")
    callback: Callable[[dict[str, Any]], None] | None = shared("callback")
    class_weight: Any = shared("class_weight")
