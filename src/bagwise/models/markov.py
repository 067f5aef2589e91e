"""Cardinality Markov networks: MIMN, RMIMN and GMIMN (Hajimirsadeghi & Mori 2017).

A bag B with label Y and instance labels y in {0, 1}^m scores (Eqs. 1-4)

    f_w(B, Y, y) = sum_i y_i w_I.x_i + C_w(sum_i y_i, Y) + 1[Y = 1] w_B.X_B,

C_w a potential on the *number* of positives, X_B features of the whole bag. With F(Y) = max_y f
the bag's score is D = F(+1) - F(-1), and training minimises (Eq. 22)

    lambda/2 |w|^2 + sum_n max(0, 1 - Y_n D_n)                       (two classes)
    lambda/2 |w|^2 + sum_n max_l (1[l != Y_n] + D_nl) - D_{n, Y_n}   (more, one network a class).

The sum over classes of F_l(-1) is in every class's score (Eq. 5) and cancels.

- ``cardinality="any"`` (MIMN, Eqs. 9-12): at least one positive;
- ``"ratio"`` (RMIMN, Eq. 13): at least the fraction ``rho``;
- ``"learned"`` (GMIMN, Eq. 14): a learned weight for each of ``n_bins`` ranges of the fraction.

Departures from the paper. Training starts from a convex step, not from w = 0, where multiclass
networks do not move; NRBM restarts with an empty bundle until nothing is gained, each time followed
by a convex step whose lower bound is true (``gap_``). Where little is gained over w = 0 the
tolerance is relative to that gain. Bag features from other models are
out-of-fold. Instances are scaled to unit mean squared norm (``unit_norm``), so that lambda means
the same on all data.

Reference: H. Hajimirsadeghi and G. Mori, "Multi-instance classification by max-margin training of
cardinality-based Markov networks", IEEE T-PAMI 39(9), 2017.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Integral, Interval, StrOptions

from bagwise._docs import described
from bagwise.bags import Bags
from bagwise.base import BagClassifier
from bagwise.cardinality import (
    AtLeastPotential,
    BinnedPotential,
    CountInference,
    CountPotential,
    as_potential,
)
from bagwise.crossfit import check_enough_bags, folds
from bagwise.models.markov_descents import learned_nothing, run_starts
from bagwise.models.markov_inputs import NetworkInputs, machines_of
from bagwise.models.markov_starts import STARTS
from bagwise.oracles_markov import InstanceOperator, MarkovRisk
from bagwise.procedures.descend import Descent
from bagwise.segments import expand
from bagwise.tags import BagTags

__all__ = ["MarkovNetworkClassifier"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Network:
    """The weights of one fit, one row a model, and how they were found."""

    lambda_: float
    instance: Array  # (n_models, n_mapped_features), the constant one last where there is one
    potential: Array  # (n_models, n_weights)
    bag: Array  # (n_models, n_bag_features)
    descents: list[Descent]  # one joint, or one a class
    starts: list[dict[str, Any]]


@described
class MarkovNetworkClassifier(BagClassifier):
    """Cardinality Markov network, for two classes or more (MIMN, RMIMN, GMIMN).

    Parameters
    ----------
    cardinality : {"any", "ratio", "learned"} or object with ``table(size)``, default="any"
        What makes a bag positive: one positive instance (MIMN), the fraction ``rho`` of them
        (RMIMN), learned weights over fractions (GMIMN), or a potential of one's own: a
        `CountPotential`, or any object whose ``table(size)`` has its shape.
    rho : float, default=0.5
        The least fraction of positives for "ratio".
    n_bins : int, default=5
        Number of ranges of the fraction for "learned".
    lambda_ : float, default=1.0
        Weight of |w|^2 / 2 against the sum of the bags' losses.
    lambda_path : sequence of float, default=None
        Fit all of these instead of ``lambda_`` and combine them.
    combine : {"average", "best"}, default="average"
        With ``lambda_path``: average the networks' scores, each divided by its out-of-fold
        standard deviation, or take the one of highest out-of-fold accuracy.
    bag_features : {"kernels", "bags"}, bag estimator, list of them or None, default=None
        Features of whole bags: out-of-fold scores of three bag kernels, the array on the `Bags`, or
        out-of-fold scores of any bag estimators, also inside pipelines, searches and calibrations
        (probabilities where there are no scores).
    feature_map : transformer, default=None
        Fitted to the training instances and applied to all, such as
        ``make_pipeline(MinMaxScaler(clip=True), IntersectionMap(3))`` or a ``Nystroem``.
    unit_norm : bool, default=True
        Scale the (mapped) instances to unit mean squared norm.
    bias : bool, default=False
        Append a constant feature to the instances.
    multiclass : {"native", "one-vs-rest"}, default="native"
        More than two classes: one joint problem, or one network against the rest for each class.
    starts : sequence of str, default=None
        Starting points, of which the lowest objective is kept: "whole" (a convex step from the
        labeling in which all instances are of their bag's class), "any" and "half" (the weights
        learned with the rule "at least one" and "at least half"), "means", "centroids", "random",
        "zero". None is "whole" and "any" ("half" for MIMN itself), and "means" besides for a joint
        problem of many classes. "means" is added where the others end at the objective of w = 0.
    tol : float, default=0.01
        Tolerance of the bundle methods, relative to the objective; relative to what is gained over
        w = 0 where that is little.
    %(bag_parameters)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (1 or n_classes, n_mapped_features)
        Instance weights, in the units of the mapped features.
    intercept_ : ndarray of shape (1 or n_classes,)
        Weight of the constant feature; 0 without ``bias``.
    cardinality_weights_ : ndarray of shape (1 or n_classes, n_weights)
        Weights of the count potential: negative bags' and then positive bags'.
    bag_coef_ : ndarray of shape (1 or n_classes, n_bag_features)
        Weights of the bag features.
    potential_ : CountPotential
        The count potential.
    networks_, shares_ : list of Network, ndarray
        The networks, one a lambda, and the factor of each one's score.
    lambda_ranking_ : list of dict
        With ``lambda_path``: out-of-fold accuracy and standard deviation of each lambda.
    objective_, gap_ : ndarray of shape (1 or n_classes,)
        The objective reached, and how much one more convex step could lower it at most. A joint
        problem's are repeated for every class. Of several lambdas, those of the last.
    n_iter_ : int
        Rounds of NRBM and convex step.
    history_ : list of dict
        One record a round (a list of these a class for three classes or more).
    starts_ : list of dict
        Name, objective, gap and rounds of every start of the last network, and the objective of
        w = 0; with one network against the rest also its class.
    instance_weights_ : ndarray of shape (n_instances,) or (n_classes, n_instances)
        1 for the training instances inferred to be of their bag's (positive) class.
    threshold_ : ndarray of shape (1 or n_classes,)
        What ``decision_function`` subtracts.

    See Also
    --------
    LabelSVC : The alternating approximation of the same idea (mi-SVM).
    bagwise.plot.cardinality_weights : Draws what "learned" has learned.

    References
    ----------
    .. [1] H. Hajimirsadeghi and G. Mori, "Multi-instance classification by max-margin training of
       cardinality-based Markov networks", IEEE T-PAMI 39(9), 2017.

    Examples
    --------
    >>> from bagwise import MarkovNetworkClassifier
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> model = MarkovNetworkClassifier(lambda_=0.1).fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BagClassifier._parameter_constraints,
        "cardinality": [StrOptions({"any", "ratio", "learned"}), HasMethods(["table"])],
        "rho": [Interval(Real, 0, 1, closed="both")],
        "n_bins": [Interval(Integral, 1, None, closed="left")],
        "lambda_": [Interval(Real, 0, None, closed="neither")],
        "lambda_path": ["array-like", None],
        "combine": [StrOptions({"average", "best"})],
        "bag_features": [
            StrOptions({"kernels", "bags"}),
            HasMethods(["fit", "decision_function"]),
            HasMethods(["fit", "predict_proba"]),
            list,
            tuple,
            None,
        ],
        "feature_map": [HasMethods(["fit_transform", "transform"]), None],
        "unit_norm": ["boolean"],
        "bias": ["boolean"],
        "multiclass": [StrOptions({"native", "one-vs-rest"})],
        "starts": [list, tuple, None],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        cardinality="any",
        *,
        rho=0.5,
        n_bins=5,
        lambda_=1.0,
        lambda_path=None,
        combine="average",
        bag_features=None,
        feature_map=None,
        unit_norm=True,
        bias=False,
        multiclass="native",
        starts=None,
        tol=1e-2,
        class_weight=None,
        pos_label=None,
        threshold=0.0,
        probability=False,
        cv=5,
        max_iter=50,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.cardinality = cardinality
        self.rho = rho
        self.n_bins = n_bins
        self.lambda_ = lambda_
        self.lambda_path = lambda_path
        self.combine = combine
        self.bag_features = bag_features
        self.feature_map = feature_map
        self.unit_norm = unit_norm
        self.bias = bias
        self.multiclass = multiclass
        self.starts = starts
        self.tol = tol
        self.class_weight = class_weight
        self.pos_label = pos_label
        self.threshold = threshold
        self.probability = probability
        self.cv = cv
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __bag_tags__(self) -> BagTags:
        """The bag's score has potentials in it; inferred labels are not signs of scores."""
        tags = super().__bag_tags__()
        # The descent is not convex: rounding moves its end by more than it moves a convex optimum.
        return replace(tags, bag_score=None, signs_are_labels=False, tolerance=1e-3)

    def __sklearn_is_fitted__(self) -> bool:
        # scikit-learn looks for names that end in "_", and the parameter lambda_ does.
        return hasattr(self, "networks_")

    # Fitting -------------------------------------------------------------------------------------

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        self._check_choices()
        self.__dict__.pop("lambda_ranking_", None)  # of an earlier fit
        used = np.flatnonzero(weight)
        train, weight = bags[used], weight[used]
        check_enough_bags(train, self.classes_[codes[used]], self.cv, self._levels_of_folds())
        truth = self._truth(codes[used])
        labels = truth[:, 0].astype(int) if truth.shape[1] == 1 else codes[used]
        self.potential_ = self._potential()
        lambdas = self._lambdas()
        self.inputs_, networks = self._fit_networks(train, labels, weight, lambdas)
        self.shares_ = np.ones(1)
        if self.lambda_path is not None:
            networks = self._combined(networks, train, labels, weight)
        self._keep(networks)
        self._infer_weights(bags, used, truth)

    def _check_choices(self) -> None:
        known = [isinstance(name, str) and name in STARTS for name in self.starts or []]
        if not all(known) or (self.starts is not None and not known):
            raise ValueError(f"starts must name some of {sorted(STARTS)}, it is {self.starts!r}.")
        machines = self.bag_features if isinstance(self.bag_features, list | tuple) else []
        for machine in machines:
            if not any(hasattr(machine, name) for name in ("decision_function", "predict_proba")):
                raise ValueError(f"bag_features holds {machine!r}, which is no bag estimator.")
        path = self.lambda_path
        if path is not None and not (len(path) and all(_is_positive(value) for value in path)):
            raise ValueError(
                "lambda_path must be a sequence of one or more positive numbers, all finite, such "
                f"as (0.1, 1, 10); it is {path!r}."
            )

    def _lambdas(self) -> list[float]:
        path = [self.lambda_] if self.lambda_path is None else self.lambda_path
        return [float(value) for value in path]

    def _levels_of_folds(self) -> int:
        """Return how many times inner folds are made within each other."""
        calibrated = self.threshold == "calibrated" or self.probability == "sigmoid"
        return calibrated + (self.lambda_path is not None) + bool(machines_of(self.bag_features))

    def _potential(self) -> CountPotential:
        if not isinstance(self.cardinality, str):
            return as_potential(self.cardinality)
        if self.cardinality == "any":
            return AtLeastPotential()
        if self.cardinality == "ratio":
            return AtLeastPotential(rho=self.rho)
        return BinnedPotential(self.n_bins)

    def _seed(self) -> Any:
        return 0 if self.random_state is None else self.random_state

    def _fit_networks(
        self, bags: Bags, labels: Array, weight: Array, lambdas: list[float]
    ) -> tuple[NetworkInputs, list[Network]]:
        inputs = NetworkInputs(
            self.feature_map,
            self.bag_features,
            unit_norm=self.unit_norm,
            bias=self.bias,
            cv=self.cv,
            random_state=self._seed(),
            n_jobs=self.n_jobs,
        )
        instances, bag_columns = inputs.fit(bags, labels, weight)
        inference = CountInference(self.potential_, bags.offsets)
        n_classes = len(self.classes_)
        joint = n_classes == 2 or self.multiclass == "native"
        targets = [labels] if joint else [1 * (labels == code) for code in range(n_classes)]
        risks = [
            MarkovRisk(instances, inference, bag_columns, y, n_classes if joint else 2, weight)
            for y in targets
        ]
        return inputs, [self._fit_network(risks, value) for value in lambdas]

    def _fit_network(self, risks: list[MarkovRisk], lambda_: float) -> Network:
        jobs = Parallel(n_jobs=self.n_jobs, prefer="threads")
        fits = jobs(delayed(self._descend)(risk, lambda_) for risk in risks)
        descents = [fit[0] for fit in fits]
        starts = [
            {**self._of_class(code, len(risks)), **record}
            for code, (_, records) in enumerate(fits)
            for record in records
        ]
        parts = [risk.split(fit.coef) for risk, fit in zip(risks, descents, strict=True)]
        instance, potential, bag = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Network(lambda_, instance, potential, bag, descents, starts)

    def _of_class(self, code: int, n_problems: int) -> dict[str, Any]:
        return {"class": self.classes_.tolist()[code]} if n_problems > 1 else {}

    def _descend(self, risk: MarkovRisk, lambda_: float) -> tuple[Descent, list[dict[str, Any]]]:
        """Run every start; return the lowest, and a record of all."""
        seed = int(check_random_state(self._seed()).randint(2**31))
        return run_starts(
            list(self.starts or self._default_starts(risk)),
            risk,
            lambda_,
            tol=self.tol,
            max_iter=self.max_iter,
            seed=seed,
            callback=self._report,
        )

    def _default_starts(self, risk: MarkovRisk) -> list[str]:
        other_rule = "half" if risk.inference.at_least_one else "any"
        return ["whole", other_rule, *(["means"] if risk.n_models > 1 else [])]

    def _report(self, record: Mapping[str, float]) -> None:
        if self.verbose:
            numbers = "  ".join(f"{name} {value:.6g}" for name, value in record.items())
            print(f"[{type(self).__name__}] {numbers}")

    # Several lambdas -----------------------------------------------------------------------------

    def _combined(
        self, networks: list[Network], bags: Bags, labels: Array, weight: Array
    ) -> list[Network]:
        """Choose or weigh the networks of a path by their out-of-fold scores."""
        scores = self._inner_scores(bags, labels, weight)  # (n_lambdas, n_bags, n_models)
        deviation = scores.std(axis=(1, 2))
        accuracy = [_accuracy(of_lambda, labels, weight) for of_lambda in scores]
        self.lambda_ranking_ = [
            {"lambda": net.lambda_, "accuracy": right, "deviation": float(spread)}
            for net, right, spread in zip(networks, accuracy, deviation, strict=True)
        ]
        if self.combine == "best":
            return [networks[int(np.argmax(accuracy))]]
        self.shares_ = 1.0 / (len(networks) * np.where(deviation > 0, deviation, 1.0))
        return networks

    def _inner_scores(self, bags: Bags, labels: Array, weight: Array) -> Array:
        splits = folds(bags, labels, self.cv, self._seed())

        def held_out(train: Array, test: Array) -> Array:
            inputs, networks = self._fit_networks(
                bags[train], labels[train], weight[train], self._lambdas()
            )
            operator, columns = inputs.operator(bags[test]), inputs.bag_columns(bags[test])
            inference = CountInference(self.potential_, bags[test].offsets)
            return np.stack([_scores(net, operator, columns, inference) for net in networks])

        parts = Parallel(n_jobs=self.n_jobs)(delayed(held_out)(*split) for split in splits)
        scores = np.empty((parts[0].shape[0], len(bags), parts[0].shape[2]))
        for (_, test), part in zip(splits, parts, strict=True):
            scores[:, test] = part
        return scores

    # After the fit -------------------------------------------------------------------------------

    def _keep(self, networks: list[Network]) -> None:
        self.networks_ = networks
        mean = [
            sum(
                share * getattr(net, name)
                for share, net in zip(self.shares_, networks, strict=True)
            )
            for name in ("instance", "potential", "bag")
        ]
        features = mean[0][:, :-1] if self.bias else mean[0]
        self.coef_ = self.inputs_.scale * features
        self.intercept_ = mean[0][:, -1] if self.bias else np.zeros(len(features))
        self.cardinality_weights_, self.bag_coef_ = mean[1], mean[2]
        last, n_models = networks[-1], len(features)
        descents = last.descents * (n_models if len(last.descents) == 1 else 1)
        self.objective_ = np.array([fit.objective for fit in descents])
        self.gap_ = np.array([fit.gap for fit in descents])
        self.n_iter_ = max(len(fit.history) for fit in descents)
        self.history_ = [fit.history for fit in descents] if n_models > 1 else descents[0].history
        self.starts_ = last.starts
        self._warn_of_early_stops([fit for net in networks for fit in net.descents])
        self._warn_of_idle(networks)

    def _warn_of_early_stops(self, descents: list[Descent]) -> None:
        stopped = [fit for fit in descents if not fit.converged]
        if stopped:
            worst = max(stopped, key=lambda fit: fit.gap)
            reason, remedy = self._early_stop(worst)
            warnings.warn(
                f"{type(self).__name__} was stopped before it converged to tol={self.tol:g} (by "
                f"{reason}): objective {worst.objective:.6g}, gap {worst.gap:.2g}. {remedy}",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _early_stop(self, fit: Descent) -> tuple[str, str]:
        """Say what ended a descent, and what would help."""
        if len(fit.history) >= self.max_iter:
            return f"max_iter={self.max_iter}", "Raise max_iter or tol."
        scaling = "" if self.unit_norm else ", or scale the features (unit_norm=True)"
        return "the most steps of its bundle method, which are fixed", (
            f"Raise tol or lambda_{scaling}; max_iter would not help."
        )

    def _warn_of_idle(self, networks: list[Network]) -> None:
        for network in networks:
            for label in learned_nothing(network.starts):
                which = "" if label is None else f" of class {label!r}"
                warnings.warn(
                    f"{type(self).__name__} learned nothing{which} at lambda_={network.lambda_:g}: "
                    "it ended no lower than w = 0, which sees no instance. Lower lambda_, try "
                    "other starts, or bring features (feature_map, bag_features) that tell the "
                    "classes apart.",
                    ConvergenceWarning,
                    stacklevel=2,
                )

    def _infer_weights(self, bags: Bags, used: Array, truth: Array) -> None:
        train = bags[used]
        sides = np.stack([np.zeros(truth.T.shape), truth.T], axis=1)  # negative bags hold none
        labels = self._labelings(train, sides)
        weights = np.zeros((len(labels), bags.n_instances))
        weights[:, expand(np.isin(np.arange(len(bags)), used), bags.offsets)] = labels >= 0.5
        self.instance_weights_ = weights if len(weights) > 1 else weights[0]

    # Predicting ----------------------------------------------------------------------------------

    def _instance_scores(self, bags: Bags) -> Array:
        operator = self.inputs_.operator(bags)
        coef = self.coef_ / self.inputs_.scale
        if self.bias:
            coef = np.hstack([coef, self.intercept_[:, None]])
        return np.stack([operator @ row for row in coef], axis=1)

    def _bag_scores(self, bags: Bags) -> Array:
        operator, columns = self.inputs_.operator(bags), self.inputs_.bag_columns(bags)
        inference = CountInference(self.potential_, bags.offsets)
        scores = [_scores(net, operator, columns, inference) for net in self.networks_]
        return np.tensordot(self.shares_, np.stack(scores), axes=1)

    def path_decision_function(self, bags: Any) -> Array:
        """Score bags by every network of the path on its own.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags.

        Returns
        -------
        ndarray of shape (n_networks, n_bags) or (n_networks, n_bags, n_classes)
            Scores without threshold, in the order of ``networks_``.
        """
        bags = self._checked(bags)
        operator, columns = self.inputs_.operator(bags), self.inputs_.bag_columns(bags)
        inference = CountInference(self.potential_, bags.offsets)
        scores = [_scores(net, operator, columns, inference) for net in self.networks_]
        return np.stack([self._user_scores(of_network) for of_network in scores])

    def predict_instances(self, bags: Any) -> Array:
        """Infer the labels of all instances, given the predicted labels of their bags.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags.

        Returns
        -------
        ndarray of shape (n_instances,) or (n_instances, n_classes)
            Two classes: one label an instance. More: whether the instance is of the column's class;
            it may be of none, or of several.
        """
        bags = self._checked(bags)
        scores = self._thresholded(bags)
        if scores.shape[1] == 1:
            chosen = scores > 0
        else:
            chosen = scores.argmax(axis=1)[:, None] == np.arange(scores.shape[1])
        sides = np.stack([~chosen.T, chosen.T], axis=1).astype(float)  # (n_models, 2, n_bags)
        labels = self._labelings(bags, sides).T >= 0.5
        if labels.shape[1] > 1:
            return labels
        code = np.where(labels[:, 0], self._positive_code(), 1 - self._positive_code())
        return self.classes_[code]

    def _labelings(self, bags: Bags, sides: Array) -> Array:
        """Return the networks' mean label of every instance, given each bag's side."""
        operator = self.inputs_.operator(bags)
        inference = CountInference(self.potential_, bags.offsets)
        total = np.zeros((len(sides), bags.n_instances))
        for network in self.networks_:
            scores = np.stack([operator @ row for row in network.instance])
            best = inference.best(scores, network.potential)
            total += inference.positives(scores, best, sides)
        return total / len(self.networks_)


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and 0 < float(value) < np.inf


def _scores(
    network: Network, operator: InstanceOperator, columns: Array, inference: CountInference
) -> Array:
    """Return D of every bag, (n_bags, n_models)."""
    instances = np.stack([operator @ row for row in network.instance])
    best = inference.best(instances, network.potential)
    return (best.value[:, 1] + network.bag @ columns.T - best.value[:, 0]).T


def _accuracy(scores: Array, labels: Array, weight: Array) -> float:
    found = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return float(weight @ (found == labels) / weight.sum())
