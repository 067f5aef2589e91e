"""Cardinality Markov networks: MIMN, RMIMN and GMIMN (Hajimirsadeghi & Mori 2017).

A bag B with label Y and instance labels y in {0, 1}^m scores (Eqs. 1-4)

    f_w(B, Y, y) = sum_i y_i w_I.x_i + C_w(sum_i y_i, Y) + 1[Y = 1] w_B.X_B,

C_w a potential on the *number* of positives, X_B features of the whole bag. With F(Y) = max_y f
the bag's score is D = F(+1) - F(-1), and training minimizes (Eq. 22)

    alpha/2 |w|^2 + sum_n max(0, 1 - Y_n D_n)                       (two classes)
    alpha/2 |w|^2 + sum_n max_l (1[l != Y_n] + D_nl) - D_{n, Y_n}   (more, one network per class).

The sum over classes of F_l(-1) is in every class's score (Eq. 5) and cancels.

- ``cardinality="any"`` (MIMN, Eqs. 9-12): at least one positive;
- ``"ratio"`` (RMIMN, Eq. 13): at least the fraction ``positive_fraction``;
- ``"learned"`` (GMIMN, Eq. 14): a learned weight for each of ``n_bins`` ranges of the fraction.

Departures from the paper. Training starts from a convex step, not from w = 0, where multiclass
networks do not move; NRBM restarts with an empty bundle until nothing is gained, each time followed
by a convex step whose lower bound is true (``gap_``). Where little is gained over w = 0 the
tolerance is relative to that gain. From 50,000 instances on, two classes are trained by Newton's
method on a softened risk (`bagwise.solvers.soft_newton`). Bag features from other models are
out-of-fold. Instances are scaled to unit mean squared norm (``unit_norm``), so that alpha means
the same on all data.

Reference: H. Hajimirsadeghi and G. Mori, "Multi-instance classification by max-margin training of
cardinality-based Markov networks", IEEE T-PAMI 39(9), 2017.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from bagwise._removed import refuse_value
from bagwise._typing import Array
from bagwise.assumptions import (
    AtLeastPotential,
    BinnedPotential,
    CountInference,
    CountPotential,
    as_potential,
)
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.crossfit import CV, check_enough_bags, hold_out_part
from bagwise.errors import Argument, Message, Parameter
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import stack_models, warn_stopped
from bagwise.models.markov.conditioned import Examples, Remains, leave_out_known
from bagwise.models.markov.descents import STARTS, find_idle, rows_of, run_starts
from bagwise.models.markov.inputs import NetworkInputs, models_of
from bagwise.models.markov.risk import MarkovRisk
from bagwise.models.markov.scores import Network, NetworkScores
from bagwise.problems import is_in_doubt
from bagwise.procedures import Run
from bagwise.procedures.run import finish, run_all
from bagwise.solvers.soft_newton import Passes
from bagwise.tolerances import NOTHING, in_threads


class MarkovNetworkClassifier(NetworkScores):
    """Cardinality Markov network, for two classes or more (MIMN, RMIMN, GMIMN).

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, n_mapped_features)
        Instance weights, in the units of the mapped features.
    intercept_ : ndarray of shape (1 or n_classes,)
        Weight of the constant feature; 0 without ``fit_intercept``.
    cardinality_weights_ : ndarray of shape (1 or n_classes, n_weights)
        Weights of the count potential: negative bags' and then positive bags'.
    bag_coef_ : ndarray of shape (1 or n_classes, n_bag_features)
        Weights of the bag features.
    potential_ : CountPotential
        The count potential.
    networks_ : list of one Network
        All weights, and how they were found.
    objective_, gap_ : ndarray of shape (1 or n_classes,)
        The objective reached, and how much one more convex step could lower it at most. A joint
        problem's are repeated for every class.
    n_iter_ : int
        Number of rounds of NRBM and a convex step (the maximum over classes).
    history_ : list of dict
        One record per round (one such list per class for three classes or more).
    starts_ : list of dict
        Name, objective, gap and rounds of every start, and the objective of
        w = 0; with one network against the rest also its class. With ``early_stopping`` also
        ``validation_score`` (accuracy on the held-out bags), ``validation_loss`` (their mean loss)
        and ``stopped_early`` (whether an iterate before the last one was kept).
    instance_weights_ : ndarray of shape (n_instances,) or (n_classes, n_instances)
        1 for the training instances inferred to be of their bag's (positive) class.

    See Also
    --------
    LabelSVC : The alternating approximation of the same idea (mi-SVM).

    Examples
    --------
    >>> model = MarkovNetworkClassifier(alpha=0.1).fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    _follows_rows = True
    _uses_known = True

    def __bag_tags__(self) -> BagTags:
        """The bag's score has potentials in it; inferred labels are not signs of scores."""
        tags = super().__bag_tags__()
        # The descent is not convex: rounding moves its end by more than it moves a convex optimum.
        return replace(
            tags, bag_score=None, signs_are_labels=False, tolerance=1e-3, whole_bag="other"
        )

    # Fitting -------------------------------------------------------------------------------------

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        self._check_choices()
        used = np.flatnonzero(weight)
        train, weight = bags[used], weight[used]
        if levels := self._levels_of_folds():
            check_enough_bags(train, self.classes_[codes[used]], *levels)
        truth = self._truth(codes[used])
        labels = truth[:, 0].astype(int) if truth.shape[1] == 1 else codes[used]
        self.potential_ = self._potential()
        self._keep(*self._fit_network(train, labels, weight))
        self._infer_weights(bags, used, truth)

    def _check_choices(self) -> None:
        known = [isinstance(name, str) and name in STARTS for name in self.init or []]
        if not all(known) or (self.init is not None and not known):
            refuse_value(type(self), "init", self.init)
            raise ValueError(f"init must name some of {sorted(STARTS)}, it is {self.init!r}.")
        models = self.bag_features if isinstance(self.bag_features, list | tuple) else []
        for model in models:
            if not any(hasattr(model, name) for name in ("decision_function", "predict_proba")):
                raise ValueError(f"bag_features contains {model!r}, which is no bag estimator.")

    def _levels_of_folds(self) -> list[tuple[Argument, Any]]:
        """Return what sets the inner folds that are made within each other."""
        calibrated = self.threshold == "calibrated" or self.probability == "sigmoid"
        outer = [(Parameter("calibration_cv", ""), self.calibration_cv)] if calibrated else []
        return [*outer, *([(CV, self.cv)] if models_of(self.bag_features) else [])]

    def _potential(self) -> CountPotential:
        if not isinstance(self.cardinality, str):
            return as_potential(self.cardinality)
        if self.cardinality == "any":
            return AtLeastPotential()
        if self.cardinality == "ratio":
            return AtLeastPotential(positive_fraction=self.positive_fraction)
        return BinnedPotential(self.n_bins)

    def _fit_network(
        self, bags: Bags, labels: Array, weight: Array
    ) -> tuple[NetworkInputs, Network]:
        """Fit a network to the bags that early stopping does not hold out."""
        inputs = NetworkInputs(
            self.feature_map,
            self.bag_features,
            unit_norm=self.unit_norm,
            fit_intercept=self.fit_intercept,
            cv=self.cv,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        held: list[Any]
        if self.early_stopping:
            share = self.early_stopping.validation_fraction
            risks, held = self._split_risks(inputs, share, bags, labels, weight)
        else:
            operator, columns = inputs.fit(bags, labels, weight)
            seen = Examples(operator, bags.offsets, columns, labels, weight)
            risks = self._risks(self._leave_out_known(seen, bags))
            held = [None] * len(risks)
        return inputs, self._descend(list(zip(risks, held, strict=True)))

    def _split_risks(
        self, inputs: NetworkInputs, share: float, bags: Bags, labels: Array, weight: Array
    ) -> tuple[list[MarkovRisk], list[MarkovRisk]]:
        """Return the risks of the bags to train on, and of a share that is held out."""
        name = Parameter("validation_fraction", f"{share:g}")
        train, rest = hold_out_part(bags, labels, share, self.random_state, name)
        trained, held = bags[train], bags[rest]
        operator, columns = inputs.fit(trained, labels[train], weight[train])
        seen = Examples(operator, trained.offsets, columns, labels[train], weight[train])
        risks = self._risks(self._leave_out_known(seen, trained))
        columns = inputs.bag_columns(held)  # judged as new bags are: nothing is known of them
        seen = Examples(inputs.operator(held), held.offsets, columns, labels[rest], weight[rest])
        return risks, self._risks(seen)

    @property
    def _is_joint(self) -> bool:
        return len(self.classes_) == 2 or self.multi_class == "native"

    def _leave_out_known(self, seen: Examples, bags: Bags) -> Examples:
        signs = self._known_signs(bags)
        if signs[0] is None:
            return seen
        known = np.stack(signs)  # type: ignore[arg-type]
        return leave_out_known(seen, bags, known, self.potential_, joint=self._is_joint)

    def _risks(self, seen: Examples) -> list[MarkovRisk]:
        """Return the joint risk, or one per class."""
        instances, kinds = seen.instances, seen.kinds
        if self._is_joint:
            inference = CountInference(self.potential_, seen.offsets, kinds)
            data = seen.columns, seen.labels, len(self.classes_), seen.weight
            return [MarkovRisk(instances, inference, *data)]
        risks = []
        for code in range(len(self.classes_)):
            own = None if kinds is None else kinds[[code]]
            inference = CountInference(self.potential_, seen.offsets, own)
            data = seen.columns, 1 * (seen.labels == code), 2, seen.weight
            risks.append(MarkovRisk(instances, inference, *data))
        return risks

    def _descend(self, problems: list[Any]) -> Network:
        risks = [problem[0] for problem in problems]
        rows = rows_of(risks[0])
        descents = [self._best_start(risk, held) for risk, held in problems]
        if rows is None:
            fits = in_threads(finish, descents, self.n_jobs)
        else:
            fits = run_all(rows, descents)
        runs = [fit[0] for fit in fits]
        starts = [
            {**self._of_class(code, len(risks)), **record}
            for code, (_, records) in enumerate(fits)
            for record in records
        ]
        parts = [risk.split(fit.solution.coef) for risk, fit in zip(risks, runs, strict=True)]
        instance, potential, bag = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Network(float(self.alpha), instance, potential, bag, runs, starts)

    def _of_class(self, code: int, n_problems: int) -> dict[str, Any]:
        return {"class": self.classes_.tolist()[code]} if n_problems > 1 else {}

    def _best_start(
        self, risk: MarkovRisk, held: MarkovRisk | None
    ) -> Passes[tuple[Run, list[dict[str, Any]]]]:
        """Run every start; return the lowest (best on held-out bags), and a record of all."""
        return run_starts(
            list(self.init or self._default_starts(risk)),
            risk,
            float(self.alpha),
            tol=self.tol,
            max_iter=self.max_iter,
            seed=int(check_random_state(self.random_state).randint(2**31)),
            callback=self._report,
            held=held,
            patience=self.early_stopping.n_iter_no_change if self.early_stopping else 1,
        )

    def _default_starts(self, risk: MarkovRisk) -> list[str]:
        other_rule = "half" if risk.inference.at_least_one else "any"
        return ["instances", other_rule, *(["mean"] if risk.n_models > 1 else [])]

    # After the fit -------------------------------------------------------------------------------

    def _keep(self, inputs: NetworkInputs, network: Network) -> None:
        self.inputs_, self.networks_ = inputs, [network]
        features = network.instance[:, :-1] if self.fit_intercept else network.instance
        self.coef_, n_models = inputs.scale * features, len(features)
        self.intercept_ = network.instance[:, -1] if self.fit_intercept else np.zeros(n_models)
        self.cardinality_weights_, self.bag_coef_ = network.potential, network.bag
        runs = network.runs * (n_models if len(network.runs) == 1 else 1)
        self.objective_ = np.array([fit.solution.objective for fit in runs])
        self.gap_ = np.array([fit.solution.gap for fit in runs])
        self.n_iter_ = max(len(fit.history) for fit in runs)
        self.history_ = [fit.history for fit in runs] if n_models > 1 else runs[0].history
        self.starts_ = network.starts
        self._warn_of_early_stops(network.runs)
        self._warn_of_idle(network)

    def _warn_of_early_stops(self, runs: list[Run]) -> None:
        stopped = [fit for fit in runs if self._doubts(fit)]
        if stopped:
            worst = max(stopped, key=lambda fit: fit.solution.gap)
            (reason, remedy), found = self._explain_stop(worst), worst.solution
            warn_stopped(self, reason, found.objective, remedy, gap=found.gap)

    def _doubts(self, fit: Run) -> bool:
        """Return whether a fit was stopped, or has a gap that its tolerance does not explain."""
        early = fit.history[-1].get("stopped_early", False)  # on purpose: its gap may be any
        # NRBM, the convex step after it and the bound on that may each miss as much as tol.
        tol = np.inf if early else max(3 * self.tol, NOTHING)
        found, done = fit.solution, fit.converged
        return is_in_doubt(found.objective, found.gap, converged=done, stopped=not done, tol=tol)

    def _explain_stop(self, fit: Run) -> tuple[str, str]:
        """Say what ended a descent, and what would help."""
        if len(fit.history) >= self.max_iter:
            return f"max_iter={self.max_iter}", "Raise max_iter or tol."
        scaling = (", or scale the features with ", Parameter("unit_norm", "True"))
        return "the most steps of its solver, which are fixed", Message(
            "Raise tol or alpha", *(() if self.unit_norm else scaling), "; max_iter would not help."
        )

    def _warn_of_idle(self, network: Network) -> None:
        for label in find_idle(network.starts):
            which = "" if label is None else f" of class {label!r}"
            warnings.warn(
                f"{type(self).__name__} learned nothing{which} at alpha={network.alpha:g}: it "
                "ended no lower than w = 0, which sees no instance. Lower alpha, try other starts, "
                "or bring features (feature_map, bag_features) that tell the classes apart.",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _infer_weights(self, bags: Bags, used: Array, truth: Array) -> None:
        train = bags[used]
        sides = np.stack([np.zeros(truth.T.shape), truth.T], axis=1)  # negative bags hold none
        weights = np.zeros((len(sides), bags.n_instances))
        rows = np.flatnonzero(expand(np.isin(np.arange(len(bags)), used), bags.offsets))
        weights[:, rows] = self._label_instances(train, sides)
        self.instance_weights_ = stack_models(weights)

    def _label_instances(self, bags: Bags, sides: Array) -> Array:
        """Return the labels of training instances: those that are known, and the best others."""
        signs = self._known_signs(bags)
        if signs[0] is None:
            return self._labelings(bags, sides) >= 0.5
        known = np.stack(signs)  # type: ignore[arg-type]
        remains = Remains.of(bags, known)
        inference = CountInference(self.potential_, remains.offsets, remains.kinds)
        labels, operator = 1.0 * (known > 0), self.inputs_.operator(bags)
        labels[:, remains.rows] = self.networks_[0].labelings(
            operator, inference, sides, remains.rows
        )
        return np.where(known, known > 0, labels >= 0.5)
