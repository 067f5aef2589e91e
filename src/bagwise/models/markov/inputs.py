"""What a Markov network sees of bags: mapped instances, and features of whole bags.

Bag features made of other models' scores must be out-of-fold on the training bags: in-sample
scores are nearly always right there, and the network collapses onto them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.crossfit import bag_scores, fit_weighted, folds, out_of_fold_scores
from bagwise.designs import matrix_design
from bagwise.errors import SCALE, Message
from bagwise.estimators.covariates import Kinds, covariate_columns, learn_kinds
from bagwise.models.bagkernel import BagKernelSVC
from bagwise.models.markov.risk import InstanceOperator


def kernel_models(C: float = 10.0) -> list[Any]:
    """Return the models behind ``bag_features="kernels"``: cosine, mean, min-max statistics."""
    return [
        BagKernelSVC(bag_kernel="mean", normalize=True, C=C),
        BagKernelSVC(bag_kernel="mean", C=C),
        BagKernelSVC(bag_kernel="statistics", C=C),
    ]


_ASKED = "bag_features='bags'"


class NetworkInputs:
    """Fitted on training bags, applied to any; the parameters are those of a network."""

    def __init__(
        self,
        feature_map: Any,
        bag_features: Any = None,
        *,
        unit_norm: bool,
        fit_intercept: bool,
        cv: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.feature_map = None if feature_map is None else _plain_output(clone(feature_map))
        self.models = [clone(model) for model in models_of(bag_features)]
        self.from_bags = isinstance(bag_features, str) and bag_features == "bags"
        self.unit_norm, self.fit_intercept = unit_norm, fit_intercept
        self.cv, self.random_state, self.n_jobs = cv, random_state, n_jobs
        self.scale = 1.0
        self.kinds: Kinds = []

    def fit(self, bags: Bags, y: Array, weight: Array) -> tuple[InstanceOperator, Array]:
        """Fit all parts; return the training bags' operator and out-of-fold bag features."""
        X = bags.X if self.feature_map is None else self.feature_map.fit_transform(_here(bags))
        design = matrix_design(X)
        if self.unit_norm:
            rows = expand(weight, bags.offsets)
            with np.errstate(over="ignore"):
                squared = float(design.weighted_squares(rows).sum() / rows.sum())
            if not np.isfinite(squared):
                what = "The squared norms of the instances overflow: scale the features with "
                raise ValueError(Message(what, SCALE, ", or use float64."))
            self.scale = 1.0 / np.sqrt(squared) if squared > 0 else 1.0
        self.kinds = learn_kinds(bags, _ASKED) if self.from_bags else []
        columns = [self._given(bags)]
        if self.models:
            splits = folds(bags, y, self.cv, self.random_state)
            for model in self.models:
                scores = out_of_fold_scores(model, bags, y, weight, splits, self.n_jobs)
                columns.append(scores.reshape(len(bags), -1))
                fit_weighted(model, bags, y, weight)
        return InstanceOperator(design, self.scale, self.fit_intercept), np.hstack(columns)

    def operator(self, bags: Bags) -> InstanceOperator:
        """Return the instances of new bags as the network sees them."""
        X = bags.X if self.feature_map is None else self.feature_map.transform(_here(bags))
        return InstanceOperator(matrix_design(X), self.scale, self.fit_intercept)

    def bag_columns(self, bags: Bags) -> Array:
        """Return the bag features of new bags."""
        scores = [bag_scores(model, bags) for model in self.models]
        return np.hstack([self._given(bags), *(s.reshape(len(bags), -1) for s in scores)])

    def _given(self, bags: Bags) -> Array:
        if not self.from_bags:
            return np.empty((len(bags), 0))
        n_of_old = getattr(self, "n_given", None)  # of files of 0.2: all were numbers
        kinds: Kinds = self.kinds if n_of_old is None else [None] * n_of_old
        return covariate_columns(bags, _ASKED, kinds)


def _here(bags: Bags) -> Any:
    return bags.to("host").X


def _plain_output(feature_map: Any) -> Any:
    """Ask a transformer for arrays, whatever scikit-learn's configuration says of frames."""
    if hasattr(feature_map, "set_output"):
        feature_map.set_output(transform="default")
    return feature_map


def models_of(bag_features: Any) -> list[Any]:
    """Return the estimators whose scores are the bag features."""
    if bag_features is None or (isinstance(bag_features, str) and bag_features == "bags"):
        return []
    if isinstance(bag_features, str):
        return kernel_models()
    return list(bag_features) if isinstance(bag_features, list | tuple) else [bag_features]
