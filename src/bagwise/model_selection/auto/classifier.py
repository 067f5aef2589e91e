"""`AutoBagClassifier`: many models raced on shared folds, calibrated and combined.

1. Candidates of several families (`portfolio`) are fitted on the training parts of shared inner
   folds (`race`), those that cost little first. All that time and memory allow are tried.
2. Out-of-fold scores become log-odds, and log-odds an ensemble (`blend`).
3. Members with weight are fitted to all bags.

Reference: D. H. Wolpert, "Stacked generalization", Neural Networks 5 (1992).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from bagwise._threads import one_blas_thread
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.catalog import rank_cost
from bagwise.crossfit import folds
from bagwise.crossfit.folds import N_FOLDS, number_units
from bagwise.errors import Parameter
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.discovery import forget_calibration
from bagwise.estimators.occlusion import innermost, occlusion_scores
from bagwise.estimators.params import Words, param, positive, shared
from bagwise.estimators.tags import BagTags, bag_tags
from bagwise.kernels import memory_limit
from bagwise.model_selection.auto.blend import Ensemble, Sigmoid, area, cross_fit
from bagwise.model_selection.auto.portfolio import (
    PORTFOLIO,
    Candidate,
    at_scales,
    configure,
    name_class,
    name_models,
)
from bagwise.model_selection.auto.race import Track, Trial, forget_shared, results
from bagwise.model_selection.clock import NEVER, Deadline, OutOfTimeError, Probe
from bagwise.model_selection.runner import Runner
from bagwise.model_selection.scaling import WORDS, scalings


class AutoBagClassifier(BagClassifier):
    """Try many models, and combine those that predict held-out bags best.

    Attributes
    ----------
    members_ : list of bag estimators
        The models with weight, fitted to all bags.
    names_ : list of str
        Their names.
    weights_ : ndarray of shape (n_members,)
        Their weights, which sum to one.
    slopes_, midpoints_ : ndarray of shape (n_members,) and (n_members, 1 or n_classes)
        Sigmoids that turn the members' scores into log-odds: ``slope * (score - midpoint)``.
    fences_ : ndarray of shape (n_members, 2, 1 or n_classes)
        The lowest and the highest score that count; those beyond count as these.
    results_ : list of dict
        What ``leaderboard_`` shows.
    interrupted_ : bool
        Whether Ctrl-C ended the fit before everything was tried.
    hint_ : str
        What to think of where models of the standard assumption do clearly worse; empty otherwise.

    See Also
    --------
    BagEnsemble : Many copies of one model.

    References
    ----------
    .. [1] D. H. Wolpert, "Stacked generalization", Neural Networks 5 (1992).

    Examples
    --------
    >>> from bagwise import AutoBagClassifier
    >>> from bagwise.datasets import make_gaussian_bags
    >>> bags, y = make_gaussian_bags(n_bags=60, shift=4.0, random_state=0)
    >>> model = AutoBagClassifier(models=["MI-SVM", "SimpleMI"]).fit(bags[:40], y[:40])
    >>> model.score(bags[40:], y[40:]) > 0.8
    True
    """

    models: Any = param(
        None,
        ["array-like", None],
        "What is tried: names of methods or bag estimators, also pipelines that end in one. None "
        "is a portfolio of methods that did well elsewhere.",
        kind="sequence of str or estimators",
    )
    scale: str | None = param(
        None,
        [Words(*WORDS), None],
        "How features are scaled. None lets the portfolio decide, and takes ``models`` as they "
        'are; a name is for all candidates; "auto" standardizes for all where the spreads of '
        'features differ by more than a factor of 100; "search" tries all scalings for each. '
        "Names on ``leaderboard_`` say which it was.",
        kind='{"raw", "standard", "robust", "quantile", "auto", "search"}',
    )
    assumption: str = param(
        "any",
        Words("any", "standard"),
        'What may make a bag positive. "standard" tries only models whose score can only rise when '
        "an instance is added: they cannot learn that bags are positive because of what they lack.",
    )
    time_limit: float | None = param(
        60.0,
        [positive(), None],
        "Seconds after which no further model is tried. The result does not depend on the time "
        "unless the limit is reached, which ``leaderboard_`` shows.",
    )
    cv: Any = param(
        None,
        ["cv_object", None],
        "Inner folds, on which the models are compared: 5 when None, fewer where a class has fewer "
        "bags. A number of folds is stratified and keeps ``bags.groups`` together.",
        kind="int, splitter or iterable of folds",
    )
    probability: bool | str = shared("probability", default="sigmoid")
    calibration_cv: Any = shared(
        "calibration_cv",
        default=None,
        doc="Folds of the out-of-fold scores behind ``threshold`` and ``probability``. None takes "
        "the scores of the comparison; anything else repeats the whole comparison in every fold.",
    )
    verbose: int = shared("verbose")
    callback: Callable[[dict[str, Any]], None] | None = shared("callback")
    class_weight: Any = shared("class_weight")

    def __bag_tags__(self) -> BagTags:
        """Instance scores are exact where members have such, by occlusion where they do not."""
        return BagTags(
            instance_scores="mixed",
            bag_score=None,
            objective=False,
            gap=False,
            instance_weights=False,
            weight_is_repetition=False,
            whole_bag="standard" if self.assumption == "standard" else "other",
        )

    def _report(self, record: dict[str, Any]) -> None:
        if self.verbose:
            print("[AutoBagClassifier] {model}, fold {fold}: {seconds:.2f} s".format(**record))
        if self.callback is not None:
            self.callback(record)

    # Fitting -------------------------------------------------------------------------------------

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        deadline = Deadline.after(self.time_limit)
        used = weight > 0  # a bag without weight is in no fold
        seed = _seed(self.random_state)
        cv = self._n_folds(bags[used], codes[used])
        splits = folds(bags, self.classes_[codes], cv, seed, used, Parameter("cv", ""))
        bags, codes, weight = bags[used], codes[used], weight[used]
        y, truth = self.classes_[codes], self._truth(codes)
        trials = self._make_trials(bags, seed)
        track = Track(bags, y, weight, splits)
        try:
            self._compare(track, trials, deadline)
            self._combine(track, trials, truth, deadline)
        finally:
            forget_shared()

    def _compare(self, track: Track, trials: list[Trial], deadline: Deadline) -> None:
        """Run all cells; interrupted, it leaves what had finished, if anything had."""
        self.interrupted_ = False
        runner = self._make_runner(track, trials, deadline)
        order = sorted(trials, key=lambda trial: rank_cost(name_class(trial.estimator)))
        try:
            for record in track.run(runner, order):
                self._report(record)
        except KeyboardInterrupt:
            if not any(trial.cells for trial in trials):
                raise
            self.interrupted_ = True
            warnings.warn(
                "The comparison was interrupted: the model combines what had finished.",
                UserWarning,
                stacklevel=2,
            )
        for trial in trials:
            trial.failure = trial.failure or runner.left_out.get(trial.name, "")
        if not any(trial.cells for trial in trials):
            self._refuse(trials, runner.in_time)

    def _make_runner(self, track: Track, trials: list[Trial], deadline: Deadline) -> Runner:
        memory = memory_limit() / 2  # the bags have the other half
        probes = {t.name: Probe(t.estimator, track.bags, track.y, memory=memory) for t in trials}
        return Runner(Track.judge, lambda _: track, None, deadline, self.n_jobs, probes, n_refits=1)

    def _n_folds(self, bags: Bags, codes: Array) -> Any:
        if self.cv is not None:
            return self.cv
        unit = number_units(bags)
        rarest = min(len(np.unique(unit[codes == k])) for k in range(len(self.classes_)))
        return max(2, min(N_FOLDS, rarest))

    def _make_trials(self, bags: Bags, seed: int) -> list[Trial]:
        settings = {"pos_label": self.pos_label, "random_state": seed}
        given = {c.name: c for c in PORTFOLIO} if self.models is None else name_models(self.models)
        if self.scale is not None:
            given = at_scales(given, scalings(bags, self.scale))
        memory, trials = memory_limit() / 2, []
        for name, model in given.items():
            if not isinstance(model, Candidate):
                trials.append(Trial(name, configure(clone(model), **settings)))
            elif not model.refuse(bags, len(self.classes_), memory):
                trials.append(Trial(name, model.build(bags, **settings)))
        if self.assumption == "standard":
            trials = [trial for trial in trials if trial.assumption == "standard"]
        if not trials:
            of_kind = ' of the standard assumption, or use assumption="any"'
            kind = of_kind if self.assumption == "standard" else ""
            raise ValueError(f"models is empty: name at least one model to try{kind}.")
        return trials

    def _refuse(self, trials: list[Trial], in_time: bool) -> None:
        failed = [trial for trial in trials if trial.failure]
        if in_time and failed:
            raise ValueError(f"{failed[0].name} could not be fitted: {failed[0].failure}")
        raise ValueError(
            f"No model finished within time_limit={self.time_limit:g} seconds: raise it."
        )

    def _combine(self, track: Track, trials: list[Trial], truth: Array, deadline: Deadline) -> None:
        """Weigh the candidates that went furthest, and fit those with weight to all bags."""
        furthest = max(len(trial.cells) for trial in trials)
        final = [trial for trial in trials if len(trial.cells) == furthest]
        every = [
            self._towards_positive(t.gather_scores(track.splits, len(track.bags))) for t in final
        ]
        seen = np.flatnonzero(np.isfinite(every).all(axis=(0, 2)))
        scores, truth, weight = np.stack(every)[:, seen], truth[seen], track.weight[seen]
        given = scores, truth, weight, number_units(track.bags)[seen]
        ensemble = Ensemble.fit(*given) or self._take_chance(scores, truth, weight)
        chosen = [final[i] for i in ensemble.chosen]
        members = self._refit(track, chosen, ensemble.weights, deadline)
        kept = np.array(sorted(members))
        self.members_ = [members[i] for i in kept]
        self.names_ = [final[ensemble.chosen[i]].name for i in kept]
        self.weights_ = ensemble.weights[kept] / ensemble.weights[kept].sum()
        self.slopes_ = np.array([ensemble.sigmoids[i].slope for i in kept])
        self.midpoints_ = np.stack([ensemble.sigmoids[i].midpoints for i in kept])
        self.fences_ = np.stack([ensemble.sigmoids[i].fences for i in kept])
        self._held_out = (
            self._combine_scores([scores[ensemble.chosen[i]] for i in kept]),
            truth,
            weight,
        )
        fold = track.fold_numbers()[seen]
        nested = cross_fit(*given, fold) if furthest > 1 else self._held_out[0]
        of_names = dict(zip(self.names_, self.weights_.tolist(), strict=True))
        self.results_ = results(track, trials, of_names, (self._user_scores(nested), seen))
        self.hint_ = self._compare_assumptions(trials)

    def _compare_assumptions(self, trials: list[Trial]) -> str:
        """Say so where standard models predict held-out bags clearly worse than the ensemble."""
        ensemble, *rows = self.results_
        pairs = zip(rows, trials, strict=True)
        standard = [r for r, t in pairs if t.assumption == "standard" and t.cells]
        best = max(standard, key=lambda row: row["auc"], default=ensemble)
        if not best["high"] < ensemble["low"]:
            return ""
        return (
            f"{best['model']}, the best model of the standard assumption, has an AUC of "
            f"{best['auc']:.2f}, the ensemble {ensemble['auc']:.2f}: the label seems to depend on "
            "the whole bag, or on what negative bags contain. If one instance should make a bag "
            'positive, compare with assumption="standard" before you trust new bags.'
        )

    def _refit(
        self, track: Track, trials: Sequence[Trial], weights: Array, deadline: Deadline
    ) -> dict[int, Any]:
        """Fit members to all bags, the heaviest first; once the time is up, no more of them."""
        members: dict[int, Any] = {}
        for i in np.argsort(-weights, kind="stable"):
            if weights[i] == 0:
                break
            try:
                until = deadline if members else NEVER  # there must be one
                until.check()
                members[int(i)] = track.refit(trials[i], until)
            except (OutOfTimeError, KeyboardInterrupt) as stop:
                if not members:
                    raise
                self.interrupted_ |= isinstance(stop, KeyboardInterrupt)
                break
        return members

    def _take_chance(self, scores: Array, truth: Array, weight: Array) -> Ensemble:
        """Return the best candidate where none predicts held-out bags, and say so."""
        areas = [area(of_one, truth, weight) for of_one in scores]
        warnings.warn(
            "No model predicts held-out bags better than chance (the best has an area under the "
            f"ROC curve of {max(areas):.2f}). The probabilities are the classes' frequencies. "
            "Check the labels, and which label is the positive one.",
            UserWarning,
            stacklevel=2,
        )
        ends = np.full((2, truth.shape[1]), [[-np.inf], [np.inf]])
        flat = Sigmoid(1.0, np.zeros(truth.shape[1]), ends)
        return Ensemble([int(np.argmax(areas))], [flat], np.ones(1))

    def _take_choices(self, chosen: AutoBagClassifier, bags: Bags, y: Array) -> None:
        """Fit the members that another model chose to other bags, and weigh them as it does."""
        self._become(chosen)
        self.members_ = [clone(member).fit(bags, y) for member in chosen.members_]
        forget_calibration(self)

    @property
    def leaderboard_(self) -> Any:
        """The ensemble, then the models that were tried, the heaviest first: a data frame.

        "auc" is that of held-out bags, "low" to "high" its 95 % interval. That of the ensemble is
        cross-fitted: for the bags of every fold, the weights come from the other folds.
        """
        import pandas as pd

        ensemble, *models = self.results_
        tried = [row for row in models if row["folds"] or row["failure"]]
        tried.sort(key=lambda row: (-row["weight"], -row["folds"], -row["auc"]))
        return pd.DataFrame([ensemble, *tried])

    def _calibrate(self, bags: Bags, codes: Array, weight: Array, weighted: Array) -> None:
        """Settle threshold and slope on the ensemble's out-of-fold scores."""
        if self.calibration_cv is not None:
            super()._calibrate(bags, codes, weight, weighted)
            return
        scores, truth, weight = self._held_out
        self._use_held_out(scores, truth, weight, weight)

    # Predicting ----------------------------------------------------------------------------------

    def _bag_scores(self, bags: Bags) -> Array:
        return self._combine_scores([self._opinion(member, bags) for member in self.members_])

    def _combine_scores(self, scores: list[Array]) -> Array:
        """Return the weighted mean of the log-odds that the members' scores stand for."""
        facts = zip(self.weights_, self.slopes_, self.midpoints_, self.fences_, scores, strict=True)
        return np.sum([w * Sigmoid(a, m, ends)(s) for w, a, m, ends, s in facts], axis=0)

    def _opinion(self, member: Any, bags: Bags) -> Array:
        return self._towards_positive(member.decision_function(bags).reshape(len(bags), -1))

    def _raw_instance_scores(self, bags: Bags) -> Array:
        with one_blas_thread():
            parts = [self._point_at(i, bags) for i in range(len(self.members_))]
        weighted = np.tensordot(self.weights_ * self.slopes_, parts, 1)
        return self._finite(weighted, bags, bags.offsets)

    def _point_at(self, number: int, bags: Bags) -> Array:
        """Score instances by one member: on their own where one decides, else by occlusion."""
        model, seen = innermost(self.members_[number], bags)
        if bag_tags(model).one_decides:
            scores = model.instance_decision_function(seen).reshape(bags.n_instances, -1)
            return self._towards_positive(scores) - self.midpoints_[number]
        return self._towards_positive(occlusion_scores(model, seen).reshape(bags.n_instances, -1))


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
