"""One vector per bag, one SVM over the vectors; the mean of its instances: "SimpleMI" (Dong 2006).

    min 1/2|w|^2 + C sum_i l(Y_i f(mean of bag i)),   f(x) = w.phi(x) + b.

`MeanRegressor` predicts numbers instead: l is the squared error beyond ``epsilon``. The mean is
taken in input space, before the kernel; `BagKernelSVC(bag_kernel="mean")` takes it in feature
space. With a linear kernel the two are the same, and this one never forms a Gram matrix.

Reference: L. Dong, "A comparison of multi-instance learning algorithms", MSc thesis, University of
Waikato 2006.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand, segment_mean
from bagwise.bags.statistics import statistics_without_each
from bagwise.bags.without import score_without_each
from bagwise.estimators.params import Words, shared
from bagwise.estimators.regressor import RowsRegressor
from bagwise.estimators.rows import MarginClassifier
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import stack_models

_KERNEL = {
    "constraint": [Words("linear", "rbf", "poly"), callable],
    "doc": "Kernel between the vectors of bags. A callable takes two matrices.",
}


# What classifiers and regressors over one vector per bag take over.


def _score_embedded(model: Any, bags: Bags) -> Array:
    return model._score_rows(one_row_per_bag(model._embed(bags)))


def _score_embedded_without_each(model: Any, bags: Bags) -> Array:
    vectors = model._embed_without_each(bags)
    if vectors is None:
        return score_without_each(model._bag_scores, bags)
    return model._score_rows(one_row_per_bag(vectors))


class EmbeddingSVC(MarginClassifier):
    """SVM over one vector per bag.

    A method adds ``_embed(bags)``, and ``_fit_embedding`` where there is something to learn first;
    ``_embed_without_each(bags)`` where the vectors of bags without each of their instances can be
    updated.
    """

    kernel: Any = shared("kernel", **_KERNEL)

    _shares_design = False
    _bag_scores = _score_embedded
    _scores_without_each = _score_embedded_without_each
    _score_rows = MarginClassifier._instance_scores

    def __bag_tags__(self) -> BagTags:
        """An instance is scored by what the bag's score is without it."""
        return replace(super().__bag_tags__(), instance_scores="occlusion", bag_score=None)

    def _fit_embedding(self, bags: Bags, codes: Array, weight: Array) -> None:
        """Learn what the embedding needs."""

    def _embed(self, bags: Bags) -> Any:
        raise NotImplementedError

    def _embed_without_each(self, bags: Bags) -> Any:
        return None

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        self._fit_embedding(bags, codes, weight)
        super()._fit_classes(one_row_per_bag(self._embed(bags)), codes, weight)
        of_bags = np.atleast_2d(self.instance_weights_)
        spread = expand(of_bags.T / bags.sizes[:, None], bags.offsets).T
        self.instance_weights_ = stack_models(spread)


def one_row_per_bag(X: Any) -> Bags:
    """Return every row as a bag of one."""
    return Bags(X, np.arange(X.shape[0] + 1))


def bag_means(bags: Bags) -> Any:
    """Return the mean of each bag's instances, sparse where they are."""
    if not sp.issparse(bags.X):
        dtype = np.float32 if bags.X.dtype == np.float16 else bags.X.dtype
        return segment_mean(np.asarray(bags.X, dtype=dtype), bags.offsets)
    shares = expand(1.0 / bags.sizes, bags.offsets)
    return sp.csr_array((shares, np.arange(bags.n_instances), bags.offsets)) @ bags.X


def _embed_mean(_: Any, bags: Bags) -> Any:
    return bag_means(bags)


def _embed_mean_without_each(_: Any, bags: Bags) -> Any:
    stack = sp.vstack if sp.issparse(bags.X) else np.vstack
    return stack([means for _, means in statistics_without_each(bags, ("mean",))])


def _score_as_means(model: Any, bags: Bags) -> Array:
    return model._bag_scores(one_row_per_bag(bags.X))


def _describe_mean(tags: BagTags, kernel: Any) -> BagTags:
    """Say that only a linear score of the mean is the mean of the scores."""
    if kernel == "linear":
        return replace(tags, instance_scores="exact", bag_score=np.mean)
    return replace(tags, instance_scores="occlusion", bag_score=None)


class MeanSVC(EmbeddingSVC):
    """SVM on the bags' means (SimpleMI).

    With a linear kernel, a bag's score is the mean of its instances' scores. With other kernels, an
    instance's score is the change of the bag's score when the instance is taken out.

    See Also
    --------
    BagKernelSVC : The mean in the kernel's feature space, and other kernels between bags.

    Examples
    --------
    >>> model = MeanSVC(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    _embed = _embed_mean
    _embed_without_each = _embed_mean_without_each
    _instance_scores = _score_as_means

    def __bag_tags__(self) -> BagTags:
        """Only a linear score of the mean is the mean of the scores."""
        return _describe_mean(super().__bag_tags__(), self.kernel)


class MeanRegressor(RowsRegressor):
    """Ridge or support vector regression on the bags' means.

    With a linear kernel, a bag's number is the mean of those of its instances. With other kernels,
    an instance's score is the change of the bag's number when the instance is taken out.

    See Also
    --------
    WitnessRegressor : The largest of the instances' numbers instead of the mean.

    Examples
    --------
    >>> model = MeanRegressor(kernel="linear", C=100).fit(bags, [1.5, 0.1, 1.55, 0.2])
    >>> model.predict(bags).round(1)
    array([1.5, 0.1, 1.5, 0.2])
    """

    kernel: Any = shared("kernel", **_KERNEL)

    _embed = _embed_mean
    _embed_without_each = _embed_mean_without_each
    _bag_scores = _score_embedded
    _scores_without_each = _score_embedded_without_each
    _score_rows = RowsRegressor._instance_scores
    _instance_scores = _score_as_means

    def __bag_tags__(self) -> BagTags:
        """Only a linear score of the mean is the mean of the scores."""
        return _describe_mean(super().__bag_tags__(), self.kernel)

    def _fit_labels(self, bags: Bags, y: Array, weight: Array) -> None:
        super()._fit_labels(one_row_per_bag(self._embed(bags)), y, weight)
