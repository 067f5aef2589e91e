"""What the automatic models of classes and of numbers share: candidates raced on shared folds.

1. Candidates of several families (`portfolio`) are fitted on the training parts of shared inner
   folds (`race`), those that cost little first. All that time and memory allow are tried.
2. Out-of-fold scores are calibrated and weighted (`blend`).
3. Members with weight are fitted to all bags.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.catalog import rank_cost
from bagwise.crossfit import folds
from bagwise.crossfit.folds import N_FOLDS, count_fewest, number_folds, number_units
from bagwise.crossfit.scores import bag_scores
from bagwise.errors import Parameter
from bagwise.estimators.covariates import covariate_columns, learn_kinds
from bagwise.estimators.discovery import forget_calibration
from bagwise.estimators.occlusion import occlusion_scores
from bagwise.estimators.params import Words, param, positive, shared
from bagwise.estimators.scoring import BagScores
from bagwise.estimators.tags import BagTags, bag_tags, innermost
from bagwise.kernels import memory_limit
from bagwise.model_selection.auto.blend import Ensemble, Sigmoid, cross_fit
from bagwise.model_selection.auto.portfolio import (
    Candidate,
    at_scales,
    configure,
    name_class,
    name_models,
)
from bagwise.model_selection.auto.race import Track, Trial, forget_shared, results
from bagwise.model_selection.clock import NEVER, Deadline, OutOfTimeError, Probe
from bagwise.model_selection.intervals import Sample, estimate
from bagwise.model_selection.runner import Runner
from bagwise.model_selection.scaling import WORDS, scalings
from bagwise.tolerances import one_blas_thread


class AutoModel(BagScores):
    """Many models raced on shared folds, calibrated and combined.

    Attributes
    ----------
    members_ : list of bag estimators
        The models with weight, fitted to all bags.
    names_ : list of str
        Their names.
    weights_ : ndarray of shape (n_members,)
        Their weights, which sum to one.
    slopes_, midpoints_ : ndarray of shape (n_members,) and (n_members, 1 or n_classes)
        What turns the members' scores into log-odds, or numbers: ``slope * (score - midpoint)``.
    fences_ : ndarray of shape (n_members, 2, 1 or n_classes)
        The lowest and the highest score that count; those beyond count as these.
    results_ : list of dict
        What ``leaderboard_`` shows.
    interrupted_ : bool
        Whether Ctrl-C ended the fit before everything was tried.
    """

    _portfolio: ClassVar[tuple[Candidate, ...]]
    _ensemble: ClassVar[type[Ensemble]]
    _metric: ClassVar[str]  # of the leaderboard
    _covariate_models: ClassVar[dict[str, Any]]

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
    covariates: bool = param(
        False,
        ["boolean"],
        "Try models of ``bags.bag_features`` alone, such as age and stage, beside those of "
        "instances: what both say is combined by weights.",
    )
    verbose: int = shared("verbose")
    callback: Callable[[dict[str, Any]], None] | None = shared("callback")

    def __bag_tags__(self) -> BagTags:
        """Instance scores are exact where members have such, by occlusion where they do not."""
        return BagTags(
            instance_scores="mixed",
            bag_score=None,
            objective=False,
            gap=False,
            instance_weights=False,
            weight_is_repetition=False,
            whole_bag="other",
        )

    def _report(self, record: dict[str, Any]) -> None:
        if self.verbose:
            print(
                "[{}] {model}, fold {fold}: {seconds:.2f} s".format(type(self).__name__, **record)
            )
        if self.callback is not None:
            self.callback(record)

    # What the two kinds add ----------------------------------------------------------------------

    def _settings(self) -> dict[str, Any]:
        """Return parameters that are set in every candidate that has them."""
        return {}

    def _accept(self, trials: list[Trial]) -> list[Trial]:
        """Return the candidates that may be tried."""
        if not trials:
            raise ValueError("models is empty: name at least one model to try.")
        return trials

    def _find_useless(self, track: Track, trials: list[Trial], truth: Array) -> dict[str, str]:
        """Return the names of candidates that need no second fold, with the reason."""
        return {}

    def _look_back(self, trials: list[Trial]) -> None:
        """Say what the comparison teaches."""

    def _n_columns(self) -> int:
        """Return the number of classes, 1 for numbers."""
        return 1

    # Fitting -------------------------------------------------------------------------------------

    def _race(self, bags: Bags, y: Array, truth: Array, weight: Array) -> None:
        """Compare, combine and refit; ``truth`` has one column per model."""
        used, seed = weight > 0, draw_seed(self.random_state)  # without weight, in no fold
        classes = self.task == "classes"
        fewest = count_fewest(bags[used], y[used] if classes else np.zeros(used.sum()))
        cv = max(2, min(N_FOLDS, fewest)) if self.cv is None else self.cv
        splits = folds(bags, y, cv, seed, used, Parameter("cv", ""), ordered=not classes)
        track = Track(bags[used], y[used], weight[used], splits)
        deadline = Deadline.after(self.time_limit)
        trials = self._accept(self._make_trials(track.bags, seed))
        try:
            self._compare(track, trials, truth[used], deadline)
            self._combine(track, trials, truth[used], deadline)
        finally:
            forget_shared()

    def _compare(self, track: Track, trials: list[Trial], truth: Array, deadline: Deadline) -> None:
        """Run all cells; interrupted, it leaves what had finished, if anything had."""
        self.interrupted_ = False
        runner = self._make_runner(track, trials, deadline)
        order = sorted(trials, key=lambda trial: rank_cost(name_class(trial.estimator)))
        try:
            for record in track.run(
                runner, order, partial(self._find_useless, track, trials, truth)
            ):
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

    def _make_trials(self, bags: Bags, seed: int) -> list[Trial]:
        settings = {**self._settings(), "random_state": seed}
        given = (
            {c.name: c for c in self._portfolio}
            if self.models is None
            else name_models(self.models, self._portfolio)
        )
        if self.covariates:
            asked = "covariates=True"
            covariate_columns(bags, asked, learn_kinds(bags, asked))
        if self.scale is not None:
            given = at_scales(given, scalings(bags, self.scale))
        given |= self._covariate_models if self.covariates else {}
        memory, trials = memory_limit() / 2, []
        for name, model in given.items():
            if not isinstance(model, Candidate):
                trials.append(Trial(name, configure(clone(model), **settings)))
            elif not model.refuse(bags, self._n_columns(), memory):
                trials.append(Trial(name, model.build(bags, **settings)))
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
        ensemble = self._ensemble.fit(*given) or self._ensemble.take_chance(*given[:3])
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
        fold = number_folds(track.splits)[seen]
        nested = cross_fit(*given, fold, self._ensemble) if furthest > 1 else self._held_out[0]
        of_names = dict(zip(self.names_, self.weights_.tolist(), strict=True))
        own = self._user_scores(nested), seen
        self.results_ = results(partial(self._judge, track), track.splits, trials, of_names, own)
        self._look_back(trials)

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

    def _take_choices(self, chosen: AutoModel, bags: Bags, y: Array) -> None:
        """Fit the members that another model chose to other bags, and weigh them as it does."""
        self._become(chosen)
        self.members_ = [clone(member).fit(bags, y) for member in chosen.members_]
        forget_calibration(self)

    def _judge(self, track: Track, scores: Array, bags: Array) -> dict[str, float]:
        """Return the metric of the leaderboard, with "low" and "high", of scores of some bags."""
        groups = None if track.bags.groups is None else track.bags.groups[bags]
        classes = np.unique(track.y) if self.task == "classes" else np.empty(0)
        sample = Sample(track.y[bags], classes, len(track.splits), groups, task=self.task)
        found = estimate(self._metric, sample, [scores], [number_folds(track.splits)[bags]])
        return {self._metric: found.value, "low": found.low, "high": found.high}

    @property
    def leaderboard_(self) -> Any:
        """The ensemble, then the models that were tried, the heaviest first: a data frame.

        The metric ("auc" of classes, "r2" of numbers) is that of held-out bags, "low" to "high" its
        95 % interval. That of the ensemble is cross-fitted: for the bags of every fold, the weights
        come from the other folds.
        """
        import pandas as pd

        ensemble, *models = self.results_
        tried = [row for row in models if row["folds"] or row["failure"]]
        tried.sort(key=lambda row: (-row["weight"], -row["folds"], -row[self._metric]))
        return pd.DataFrame([ensemble, *tried])

    # Predicting ----------------------------------------------------------------------------------

    def _bag_scores(self, bags: Bags) -> Array:
        return self._combine_scores([self._opinion(member, bags) for member in self.members_])

    def _combine_scores(self, scores: list[Array]) -> Array:
        """Return the weighted mean of what the members' scores stand for."""
        facts = zip(self.weights_, self.slopes_, self.midpoints_, self.fences_, scores, strict=True)
        return np.sum([w * Sigmoid(a, m, ends)(s) for w, a, m, ends, s in facts], axis=0)

    def _opinion(self, member: Any, bags: Bags) -> Array:
        return self._towards_positive(bag_scores(member, bags).reshape(len(bags), -1))

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


def draw_seed(random_state: Any) -> int:
    """Return a seed that is the same for all candidates."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
