"""SVMs and regression over kernels between bags: MI-Kernel (NSK, STK), miGraph.

    min 1/2|w|^2 + C sum_i l(Y_i (w.phi(B_i) + b)),   k(B, B') = phi(B).phi(B').

`BagKernelRegressor` predicts numbers: its loss is the squared error beyond ``epsilon``.

- "sum": k = sum_{x in B, x' in B'} k(x, x'), the set kernel of Gaertner et al. 2002, and "mean":
  the same divided by |B||B'| (MI-Kernel, normalized set kernel).
- "statistics": the instance kernel between (min, max) vectors of the bags (STK, same paper).
- "migraph": instances weighted by one over the number of instances near them in the bag, and the
  weights of a bag normalized to one (Zhou, Sun & Li 2009, Eq. 4).
- "distribution": k = exp(-g |m(B) - m(B')|^2) with m the mean embeddings of the bags, whose
  distances are those of "mean", and g = 1 / (2 median^2) of the training bags' (Christmann &
  Steinwart 2010). Unlike "mean" it learns functions of the distribution that are not linear.

"mean", "sum" and "migraph" are weighted sums over instances: an instance has a score of its own,
and the bag's score is the weighted sum of its instances' scores. With a linear instance kernel the
sums are vectors, and no matrix between bags is formed.

References: T. Gaertner, P. Flach, A. Kowalczyk, A. Smola, "Multi-instance kernels", ICML 2002.
Z.-H. Zhou, Y.-Y. Sun, Y.-F. Li, "Multi-instance learning by treating instances as non-i.i.d.
samples", ICML 2009. A. Christmann, I. Steinwart, "Universal kernels on non-standard input spaces",
NIPS 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand, segment_sum
from bagwise.bags.statistics import statistics_without_each
from bagwise.bags.without import sum_without_each
from bagwise.designs import Gram, conditioned_design
from bagwise.errors import Message, Parameter
from bagwise.estimators.params import Words, param, shared
from bagwise.estimators.regressor import RowsRegressor
from bagwise.estimators.rows import MarginClassifier
from bagwise.estimators.scoring import BagScores
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import BLOCK_VALUES, rows_of, stack_models
from bagwise.kernels import (
    Kernel,
    check_kernel_values,
    check_matrix,
    median_gamma,
    settle_gamma,
    squared_norms,
)
from bagwise.kernels.bag import (
    affinity_weights,
    bag_statistics,
    embedding_distances,
    kernel_scores,
    set_kernel,
    set_norms,
    weighted_sums,
)
from bagwise.kernels.instance import MEDIAN_SAMPLE, rbf_slopes
from bagwise.models.meansvc import one_row_per_bag
from bagwise.procedures import Run

_OF_INSTANCES = ("mean", "sum", "migraph")


class BagKernels(BagScores):
    """Kernels between bags, and what is kept of the training bags.

    Attributes
    ----------
    kernel_ : Kernel
        The instance kernel with its width settled.
    support_ : ndarray
        Numbers of the training bags with a coefficient.
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
        Their coefficients.
    support_vectors_, support_offsets_, support_weights_ : ndarray
        Instances of those bags (or their statistics, or with a linear kernel their sums), where
        each bag starts, and the weight of each instance in its bag's sum.
    bag_gamma_ : float
        The width g of ``bag_kernel="distribution"``.
    """

    _never_fitted = ("coef_",)

    bag_kernel: str = param(
        "mean",
        Words("mean", "sum", "statistics", "migraph", "distribution"),
        'How two bags are compared; see the module\'s description. "mean", "sum" and "migraph" '
        "score instances, the others whole bags.",
    )
    kernel: Any = shared(
        "kernel",
        constraint=[Words("linear", "rbf", "poly"), callable],
        doc='Kernel between instances (for "statistics", between min-max vectors).',
    )
    normalize: bool = param(
        False,
        ["boolean"],
        "Divide k(B, B') by sqrt(k(B, B) k(B', B')). For sums over instances and statistics.",
    )
    # What the methods of rows beside it provide.
    _options: ClassVar[Any]
    intercept_: ClassVar[Array]
    _solve_bags: ClassVar[Callable[..., list[Run]]]  # one problem per model, rows stand for bags
    _keep_solutions: ClassVar[Callable[..., Array]]

    def __bag_tags__(self) -> BagTags:
        """Only sums over instances have instance scores, and only plain means are made of them."""
        additive = self.bag_kernel in _OF_INSTANCES
        plain = self.bag_kernel == "mean" and not self.normalize
        return BagTags(
            instance_scores="exact" if additive else "occlusion",
            bag_score=np.mean if plain else None,
            instance_weights=additive,
        )

    # Fitting -------------------------------------------------------------------------------------

    def _keep_bags(self, train: Bags, shares: Array, coef: Array) -> None:
        self.support_: Any = np.flatnonzero(np.any(coef != 0, axis=0))
        self.dual_coef_: Any = coef[:, self.support_]
        support = train[self.support_]
        self.support_vectors_: Any = support.X.copy()
        self.support_offsets_ = support.offsets
        self.support_weights_ = shares[rows_of(train, self.support_)]

    def _fit_bags(self, bags: Bags, target: Array, weight: Array) -> tuple[Array, Array]:
        """Learn; return the numbers of the bags used and the weights of their instances."""
        if self.normalize and self.bag_kernel == "distribution":
            raise ValueError(f"normalize=True is for sums over instances, not {self.bag_kernel!r}.")
        if self._options.approx is not None:
            given = Parameter("kernel_options__approx", repr(self._options.approx))
            raise ValueError(Message(given, " is for kernels of instances; leave it out."))
        used = np.flatnonzero(weight)
        train, weight = self._represent(bags[used]), weight[used]
        self.kernel_ = self._choose_kernel(train, weight)
        shares = self._shares(train)
        if self.bag_kernel == "distribution":
            self.bag_gamma_ = self._settle_width(train, shares, weight)
        if self._sums_vectors():
            self._fit_sums(weighted_sums(train, shares), target[used], weight)
        else:
            self._fit_gram(train, shares, target[used], weight)
        self.support_ = used[self.support_]
        return used, shares

    def _settle_width(self, train: Bags, shares: Array, weight: Array) -> float:
        numbers = np.arange(len(train))
        if len(train) > MEDIAN_SAMPLE:
            seed = check_random_state(self.random_state)
            numbers = np.sort(seed.choice(len(train), MEDIAN_SAMPLE, replace=False))
        part = train[numbers], shares[rows_of(train, numbers)]
        return median_gamma(embedding_distances(self.kernel_, *part, *part), weight[numbers])

    def _fit_gram(self, train: Bags, shares: Array, target: Array, weight: Array) -> None:
        remedy = "Use ", Parameter("kernel", "'linear'"), "."
        check_matrix("The kernel matrix of bags", len(train), len(train), 8, *remedy)
        gram = self._between(train, shares, train, shares)
        gram = check_kernel_values((gram + gram.T) / 2)  # symmetric up to rounding
        fits = self._solve_bags(Gram(gram), one_row_per_bag(gram), target, weight)
        self._keep_bags(train, shares, self._keep_solutions(fits))

    def _fit_sums(self, vectors: Any, target: Array, weight: Array) -> None:
        rows = one_row_per_bag(vectors)
        fits = self._solve_bags(conditioned_design(vectors), rows, target, weight)
        fits = [over_bags(fit, vectors) for fit in fits]
        self._keep_bags(rows, np.ones(len(rows)), self._keep_solutions(fits))

    def _sums_vectors(self) -> bool:
        return self.kernel == "linear" and self.bag_kernel != "distribution"

    def _represent(self, bags: Bags) -> Bags:
        """Return the bags whose weighted sums are compared: for statistics, bags of one vector."""
        if self.bag_kernel != "statistics":
            return bags
        return one_row_per_bag(bag_statistics(bags))

    def _choose_kernel(self, bags: Bags, weight: Array) -> Kernel:
        seed = check_random_state(self.random_state)
        if callable(self.kernel) or self.kernel == "linear":
            return Kernel(self.kernel)
        gamma = settle_gamma(self.gamma, bags.X, expand(weight, bags.offsets), seed)
        return Kernel(self.kernel, gamma, self.degree, self._options.coef0)

    def _shares(self, bags: Bags) -> Array:
        """Return the weight of every instance in its bag's sum."""
        if self.bag_kernel == "migraph":
            shares = affinity_weights(bags)
        elif self.bag_kernel == "sum":
            shares = np.ones(bags.n_instances)
        else:
            shares = expand(1.0 / bags.sizes, bags.offsets)
        if not self.normalize:
            return shares
        if self._sums_vectors():
            norms = np.sqrt(squared_norms(weighted_sums(bags, shares)))
        else:
            norms = set_norms(self.kernel_, bags, shares)
        return shares / expand(np.where(norms > 0, norms, 1.0), bags.offsets)

    def _between(self, A: Bags, shares: Array, B: Bags, other: Array) -> Array:
        if self.bag_kernel == "distribution":
            squared = embedding_distances(self.kernel_, A, shares, B, other)
            return np.exp(-self.bag_gamma_ * squared)
        return set_kernel(self.kernel_, A, shares, B, other)

    # Predicting ----------------------------------------------------------------------------------

    def _instance_scores(self, bags: Bags) -> Array:
        per_row = expand(self.dual_coef_.T, self.support_offsets_) * self.support_weights_[:, None]
        scores = kernel_scores(self.kernel_, bags.X, self.support_vectors_, per_row)
        return scores + self.intercept_

    def _slopes(self, X: Any, column: int) -> Array | None:
        coef = expand(self.dual_coef_[column], self.support_offsets_) * self.support_weights_
        if self.kernel == "linear":
            return np.broadcast_to(self.support_vectors_.T @ coef, X.shape)
        if self.kernel != "rbf":
            return None
        return rbf_slopes(self.kernel_, X, self.support_vectors_, coef)

    def _bag_scores(self, bags: Bags) -> Array:
        return self._scores_of(self._represent(bags))

    def _scores_of(self, bags: Bags) -> Array:
        """Score represented bags."""
        if self.bag_kernel == "distribution":
            size = max(1, BLOCK_VALUES // max(1, len(self.support_)))
            blocks = range(0, len(bags), size)
            parts = [self._pairwise_scores(bags[i : i + size]) for i in blocks]
            return np.concatenate(parts)
        scores = self._instance_scores(bags) - self.intercept_
        shares = self._shares(bags)
        return segment_sum(shares[:, None] * scores, bags.offsets) + self.intercept_

    def _pairwise_scores(self, bags: Bags) -> Array:
        support = Bags(self.support_vectors_, self.support_offsets_)
        kernel = self._between(bags, self._shares(bags), support, self.support_weights_)
        return kernel @ self.dual_coef_.T + self.intercept_

    def _scores_without_each(self, bags: Bags) -> Array:
        if self.bag_kernel == "statistics":
            return self._statistics_without_each(bags)
        if self.bag_kernel not in ("mean", "sum") or self.normalize:
            return super()._scores_without_each(bags)
        sums = sum_without_each(self._instance_scores(bags) - self.intercept_, bags.offsets)
        if self.bag_kernel == "mean":
            sums /= expand(np.maximum(1, bags.sizes - 1), bags.offsets)[:, None]
        return sums + self.intercept_

    def _statistics_without_each(self, bags: Bags) -> Array:
        scores = np.empty((bags.n_instances, len(self.intercept_)))
        for rows, part in statistics_without_each(bags, ("min", "max")):
            scores[rows] = self._scores_of(one_row_per_bag(part))
        return scores


def over_bags(fit: Run, vectors: Any) -> Run:
    """Express a solution over vectors as one over bags: w is the sum of the duals' bags.

    The intercept makes up for the rounding of that sum, which a large offset would magnify.
    """
    dual = fit.solution.dual
    missed = fit.solution.scores - vectors @ (vectors.T @ dual)
    return replace(fit, solution=replace(fit.solution, coef=dual, intercept=float(missed.mean())))


def spread_weights(positive: Array, bags: Bags, used: Array, shares: Array) -> Array:
    """Turn the weights of bags as positives into weights of instances."""
    offsets = bags[used].offsets
    shares = shares / expand(segment_sum(shares, offsets), offsets)
    weights = np.zeros((len(positive), bags.n_instances))
    weights[:, rows_of(bags, used)] = expand(positive.T, offsets).T * shares
    return stack_models(weights)


class BagKernelSVC(BagKernels, MarginClassifier):
    """SVM over a kernel between bags (MI-Kernel, miGraph).

    Attributes
    ----------
    instance_weights_ : ndarray of shape (n_instances,) or (n_classes, n_instances)
        Share of each training instance in its (positive) bag; where there are instance scores.

    See Also
    --------
    MeanSVC : The bag is its mean, in feature space.

    Examples
    --------
    >>> model = BagKernelSVC(bag_kernel="mean", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    _shares_design = False

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        used, shares = self._fit_bags(bags, codes, weight)
        if self.bag_kernel in _OF_INSTANCES:
            positive = self._truth(codes[used]).T
            self.instance_weights_ = spread_weights(1.0 * positive, bags, used, shares)

    def _solve_bags(self, design: Any, rows: Bags, target: Array, weight: Array) -> list[Run]:
        return self._binary_fits(design, rows, target, weight)


class BagKernelRegressor(BagKernels, RowsRegressor):
    """Ridge or support vector regression over a kernel between bags.

    See Also
    --------
    BagKernelSVC : The same for classes.

    Examples
    --------
    >>> model = BagKernelRegressor(C=100).fit(bags, [1.5, 0.1, 1.55, 0.2])
    >>> model.predict(bags).round(1)
    array([1.5, 0.1, 1.5, 0.2])
    """

    def __bag_tags__(self) -> BagTags:
        """There are no weights of instances."""
        return replace(super().__bag_tags__(), instance_weights=False)

    def _fit_labels(self, bags: Bags, y: Array, weight: Array) -> None:
        self._fit_bags(bags, y, weight)

    def _solve_bags(self, design: Any, rows: Bags, target: Array, weight: Array) -> list[Run]:
        return [self._fit_rows(design, rows.offsets, target, self.C * weight)]
