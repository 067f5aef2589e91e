"""A bag is its composition: the shares of kinds of instances, as of cell types in a sample.

Kinds ("words") are the centers of k-means on the training instances. With n_w(B) the number of
instances of bag B that are nearest to word w, the bag becomes the row

    r_w(B) = sqrt(n_w(B) / |B|),        f(B) = sum_w a_w r_w(B) + b,

and (a, b) is a logistic regression: min 1/2 |a|^2 + C sum_i log(1 + exp(-Y_i f(B_i))). Square roots
make rare kinds count (rows have length one, and their distance is Hellinger's). Where a bag is
positive when two kinds occur together, no single instance and no mean says so, but shares do.

`CompositionRegressor` fits ridge regression, with or without a kernel, to the rows.

Departure: words come from at most 20,000 training instances, drawn at random.

Reference: G. Csurka, C. Dance, L. Fan, J. Willamowski, C. Bray, "Visual categorization with bags of
keypoints", ECCV workshop on statistical learning in computer vision 2004.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.designs.nystroem import SAMPLE
from bagwise.designs.sparse import with_short_indices
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.covariates import append_covariates, learn_covariates
from bagwise.estimators.params import integer, param, redeclare, shared
from bagwise.estimators.regressor import RowsRegressor
from bagwise.estimators.scoring import BagScores
from bagwise.estimators.tags import OPAQUE, BagTags
from bagwise.models.meansvc import MeanRegressor, one_row_per_bag
from bagwise.rowstores.base import count_rows


class Composition(BagScores):
    """A bag as the square roots of the shares of its kinds of instances.

    Attributes
    ----------
    words_ : ndarray of shape (n_words, n_features)
        The kinds: centers of the training instances.
    covariate_kinds_, covariate_center_, covariate_scale_ : list, ndarray, ndarray
        With ``covariates``: the categories of each (None of numbers), and by which means and
        standard deviations the columns are standardized.
    """

    covariates: bool = shared("covariates")

    n_words: int = param(32, integer(2), "Number of kinds of instances.")

    def _find_centers(self, bags: Bags, weight: Array) -> None:
        """Let k-means find the words among the instances of bags with weight."""
        learn_covariates(self, bags, weight)
        train, rng = bags[np.flatnonzero(weight)], check_random_state(self.random_state)
        n_drawn = min(SAMPLE, train.n_instances)
        drawn = np.sort(rng.permutation(train.n_instances)[:n_drawn])
        seed = rng.randint(np.iinfo(np.int32).max)
        kmeans = KMeans(min(self.n_words, n_drawn), n_init=1, random_state=seed)
        # One thread, so that their number changes no bit; on busy cores two took 20 times as long.
        with warnings.catch_warnings(), threadpool_limits(1, user_api="openmp"):
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct instances: no harm
            X = train.X[drawn]
            X = with_short_indices(X) if sp.issparse(X) else X
            self.words_ = kmeans.fit(X).cluster_centers_.astype(np.float64)

    def _find_words(self, bags: Bags) -> Array:
        """Return the number of the nearest word of each instance."""
        nearest = np.empty(bags.n_instances, dtype=np.intp)
        half = (self.words_**2).sum(axis=1) / 2
        at_once = count_rows(8 * (bags.n_features + len(half)))
        for begin in range(0, bags.n_instances, at_once):
            rows = slice(begin, begin + at_once)
            nearest[rows] = np.argmax(bags.X[rows] @ self.words_.T - half, axis=1)
        return nearest

    def _count(self, bags: Bags, words: Array) -> Array:
        """Return how many instances of each word a bag has, (n_bags, n_words)."""
        n_words = len(self.words_)
        place = expand(np.arange(len(bags)), bags.offsets) * n_words + words
        return np.bincount(place, minlength=len(bags) * n_words).reshape(len(bags), n_words)

    def _embed(self, bags: Bags) -> Array:
        shares = self._count(bags, self._find_words(bags)) / bags.sizes[:, None]
        return append_covariates(self, np.sqrt(shares), bags)

    def _score_rows(self, rows: Array) -> Array:
        raise NotImplementedError

    def _bag_scores(self, bags: Bags) -> Array:
        return self._score_rows(self._embed(bags))

    def _scores_without_each(self, bags: Bags) -> Array:
        """Score bags without each instance: those of one word in a bag leave the same bag."""
        words = self._find_words(bags)
        counts, left = self._count(bags, words), np.maximum(bags.sizes - 1, 1)
        scores = []
        for word in range(counts.shape[1]):
            fewer = counts - (np.arange(counts.shape[1]) == word)
            rows = np.sqrt(np.maximum(fewer, 0) / left[:, None])
            scores.append(self._score_rows(append_covariates(self, rows, bags)))
        return np.stack(scores, axis=1)[expand(np.arange(len(bags)), bags.offsets), words]


class CompositionLogistic(Composition, BagClassifier):
    """Logistic regression on the shares of kinds of instances, which k-means finds.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, n_words)
        Weights of the square roots of the shares, then of covariates.
    intercept_ : ndarray of shape (1 or n_classes,)
        Intercepts.

    See Also
    --------
    StatisticsLogistic : Statistics of each feature instead of kinds.

    Examples
    --------
    >>> CompositionLogistic(n_words=2, C=10).fit(bags, [1, 0, 1, 0]).predict(bags)
    array([1, 0, 1, 0])
    """

    C: float = shared("C", doc="Weight of the logistic losses.")
    class_weight: Any = shared("class_weight")

    def __bag_tags__(self) -> BagTags:
        """The bag is scored as a whole; words depend on which instances are drawn."""
        return replace(OPAQUE, instance_scores="occlusion", weight_is_repetition=False)

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        self._find_centers(bags, weight)
        used = np.flatnonzero(weight)
        truth = self._truth(codes[used])
        labels = truth[:, 0].astype(int) if truth.shape[1] == 1 else codes[used]
        logistic = LogisticRegression(C=self.C, solver="newton-cg", tol=1e-8)
        logistic.fit(self._embed(bags[used]), labels, sample_weight=weight[used])
        self.coef_, self.intercept_ = logistic.coef_, logistic.intercept_

    def _score_rows(self, rows: Array) -> Array:
        return rows @ self.coef_.T + self.intercept_


class CompositionRegressor(Composition, RowsRegressor):
    """Ridge or support vector regression on the shares of kinds of instances.

    See Also
    --------
    CompositionLogistic : The same for classes.

    Examples
    --------
    >>> model = CompositionRegressor(n_words=2, C=100).fit(bags, [1.5, 0.1, 1.55, 0.2])
    >>> model.predict(bags).round(1)
    array([1.5, 0.2, 1.5, 0.2])
    """

    kernel: Any = redeclare(MeanRegressor, "kernel", default="linear")

    def __bag_tags__(self) -> BagTags:
        """Words depend on which instances are drawn."""
        return replace(super().__bag_tags__(), weight_is_repetition=False)

    def _fit_labels(self, bags: Bags, y: Array, weight: Array) -> None:
        self._find_centers(bags, weight)
        super()._fit_labels(one_row_per_bag(self._embed(bags)), y, weight)

    def _score_rows(self, rows: Array) -> Array:
        return self._instance_scores(one_row_per_bag(rows))
