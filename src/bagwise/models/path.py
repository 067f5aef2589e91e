"""A parameter chosen by cross-validation along warm-started paths.

Every fold and the final fit follow one path over all values, on parts of one kernel matrix: the
search costs 2 to 6 fits per fold for nine values (docs/results/paths.md).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods

from bagwise._typing import Array
from bagwise.assumptions import Assumption
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.crossfit import folds
from bagwise.designs import Design
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.params import Words, param, shared
from bagwise.estimators.paths import (
    CS,
    follow_path,
    models_at,
    rate_scores,
    score_held_out,
)
from bagwise.estimators.rows import RowsClassifier
from bagwise.estimators.tags import BagTags, bag_tags
from bagwise.estimators.task import rows_of
from bagwise.models.witness import WitnessSVC
from bagwise.rowstores.together import side_by_side


class PathCV(BagClassifier):
    """Choose one parameter of a max-margin model by cross-validation along warm-started paths.

    Attributes
    ----------
    chosen_ : estimator
        The model at the value that was chosen, from the path over all bags.
    best_value_ : float
        That value: of equal ones the first.
    cv_results_ : list of dict
        ``value``, ``score`` (mean over folds) and ``scores`` (one per fold).
    models_ : list of estimators
        The models of the path over all bags, one per value.

    See Also
    --------
    WitnessSVC.path : The path alone.
    AnnealedProportionSVCCV : A grid over three parameters of ALP-SVM.
    GraphSVCCV : A path over C and mu of MILSD.

    Examples
    --------
    >>> from bagwise import LabelSVC, PathCV
    >>> from bagwise.datasets import make_gaussian_bags
    >>> bags, y = make_gaussian_bags(n_bags=30, shift=3.0, random_state=0)
    >>> model = PathCV(estimator=LabelSVC(), values=[0.01, 0.1, 1.0], cv=3).fit(bags, y)
    >>> len(model.cv_results_), model.best_value_ in (0.01, 0.1, 1.0)
    (3, True)
    """

    estimator: Any = param(
        None,
        [HasMethods(["fit", "path"]), None],
        "The model; `WitnessSVC` when None.",
        kind="bag estimator with ``path``",
    )
    name: str = param("C", [str], "The parameter that is chosen.", kind="str")
    values: Any = param(CS, ["array-like"], "Its candidates, in the order of the path.")
    scoring: str = param("accuracy", Words("accuracy", "roc_auc"), "What is maximized.")
    cv: Any = shared("cv")
    class_weight: Any = shared("class_weight")

    def _model(self) -> Any:
        """Return the model with what this estimator decides."""
        model = WitnessSVC() if self.estimator is None else clone(self.estimator)
        shared = ("pos_label", "random_state")
        model.set_params(**{key: getattr(self, key) for key in shared})
        return model.set_params(threshold=0.0, probability=False, class_weight=None)

    def __bag_tags__(self) -> BagTags:
        """The tags of the model."""
        tags = bag_tags(self._model())
        return replace(
            tags, objective=False, gap=False, instance_weights=False, instance_rows=False
        )

    def __sklearn_tags__(self) -> Any:
        """Take over what the model accepts."""
        tags, of_model = super().__sklearn_tags__(), self._model().__sklearn_tags__()
        tags.input_tags.sparse = of_model.input_tags.sparse
        tags.classifier_tags.multi_class = of_model.classifier_tags.multi_class
        return tags

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        base = self._model()
        base.classes_, base.n_features_in_ = self.classes_, self.n_features_in_
        models = models_at(base, self.name, self.values)
        used = np.flatnonzero(weight > 0)  # a bag without weight is in no fold
        numbered = folds(bags, self.classes_[codes], self.cv, self.random_state, weight > 0)
        of_rows = bag_tags(base).instance_rows  # otherwise a network, whose paths share no matrix
        design: Any = base._design(bags, expand(weight, bags.offsets)) if of_rows else None
        fold = partial(self._score_fold, base, models, design) if of_rows else self._score_networks

        def whole() -> list[Any]:
            if not of_rows:
                return self._network_path(bags, codes, weight)
            steps = follow_path(base, models, design, bags, codes, weight)
            return [
                self._settle(model, part) for model, (part, _) in zip(models, steps, strict=True)
            ]

        calls = [
            partial(fold, bags, codes, weight, used[train], used[test]) for train, test in numbered
        ]
        jobs = {"n_jobs": self.n_jobs, "prefer": "threads"}
        *parts, self.models_ = side_by_side(bags.X, [*calls, whole], **jobs)
        scores = np.array(parts)  # (n_folds, n_values)
        self.cv_results_ = [
            {"value": value, "score": float(column.mean()), "scores": column}
            for value, column in zip(self.values, scores.T, strict=True)
        ]
        best = int(np.argmax(scores.mean(axis=0)))
        self.best_value_, self.chosen_ = self.values[best], self.models_[best]

    def _settle(self, model: BagClassifier, part: BagClassifier) -> BagClassifier:
        part._keep_threshold(0.0)
        return model._become(part)

    def _score_fold(
        self,
        base: RowsClassifier,
        models: list[RowsClassifier],
        design: Design,
        bags: Bags,
        codes: Array,
        weight: Array,
        train: Array,
        test: Array,
    ) -> list[float]:
        """Return the score of every value on one fold."""
        train, test = np.sort(train), np.sort(test)  # rows of a subset keep their order
        rows, test_rows, held_out = rows_of(bags, train), rows_of(bags, test), bags[test]
        narrow, found = design.subset(rows), []
        for part, runs in follow_path(
            base, models, narrow, bags[train], codes[train], weight[train]
        ):
            columns = [
                score_held_out(design, rows, test_rows, run.solution) + run.solution.intercept
                for run in runs
            ]
            scores = part._assumption().bag_score(np.stack(columns, axis=1), held_out.offsets)
            found.append(rate_scores(self, scores, codes[test], weight[test]))
        return found

    def _network_path(self, bags: Bags, codes: Array, weight: Array) -> list[Any]:
        given = {"name": self.name, "values": self.values, "sample_weight": weight}
        return self._model().path(bags, self.classes_[codes], **given)

    def _score_networks(
        self, bags: Bags, codes: Array, weight: Array, train: Array, test: Array
    ) -> list[float]:
        models, held_out = self._network_path(bags[train], codes[train], weight[train]), bags[test]
        scores = [model._bag_scores(held_out) for model in models]
        return [rate_scores(self, of_model, codes[test], weight[test]) for of_model in scores]

    # Predicting ----------------------------------------------------------------------------------

    def _assumption(self) -> Assumption:
        return self._model()._assumption()

    def _instance_scores(self, bags: Bags) -> Array:
        return self.chosen_._instance_scores(bags)

    def _bag_scores(self, bags: Bags) -> Array:
        return self.chosen_._bag_scores(bags)

    def _slopes(self, X: Any, column: int) -> Array | None:
        return self.chosen_._slopes(X, column)
