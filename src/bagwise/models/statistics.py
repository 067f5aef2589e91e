"""A bag is a row of statistics, and any scikit-learn classifier or regressor learns from the rows.

Statistics of a bag are, feature by feature, the mean, standard deviation, minimum and maximum of
its instances ("four"), or quantiles and the size of the bag ("quantiles"). Where many instances
make the difference this is a strong baseline; where one instance in many decides, it is not.

`StatisticsForest` grows extremely randomized trees on the rows, `StatisticsSVC` and
`StatisticsLogistic` fit a SVM and a logistic regression to standardized rows.
`StatisticsForestRegressor` grows such trees for numbers.

Reference: L. Dong, "A comparison of multi-instance learning algorithms", MSc thesis, University of
Waikato 2006.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import assert_all_finite, check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import has_fit_parameter

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.bags.statistics import PRESETS, check_statistics, statistics, statistics_without_each
from bagwise.designs.sparse import with_short_indices
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.covariates import append_covariates, learn_covariates
from bagwise.estimators.params import Words, integer, param, redeclare, shared
from bagwise.estimators.regressor import BagRegressor
from bagwise.estimators.scoring import BagScores
from bagwise.estimators.tags import OPAQUE, BagTags
from bagwise.kernels import Kernel, settle_gamma
from bagwise.tolerances import TIE

Rows = dict[tuple[int, tuple[str, ...]], tuple[Bags, Any]]
_shared: ContextVar[Rows | None] = ContextVar("statistics of bags", default=None)
_SOLVED = 1e-8  # tolerance of libsvm: scores of equal problems then agree to four digits
_MOST_STEPS = 1_000_000  # of libsvm, which huge values and large C can make endless


@contextmanager
def share_statistics(kept: Rows) -> Iterator[None]:
    """Let models that see the same `Bags` object compute its statistics once, into ``kept``."""
    token = _shared.set(kept)
    try:
        yield
    finally:
        _shared.reset(token)


class StatisticsModel(BagScores):
    """Base of the models on statistics of bags.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model of rows. With two classes, its label 1 is the positive class.
    scaler_ : StandardScaler
        What standardizes the rows, with ``scale=True``.
    n_columns_ : int
        Number of statistics per bag.
    sparse_ : bool
        Whether the model was fitted to sparse rows.
    covariate_kinds_, covariate_center_, covariate_scale_ : list, ndarray, ndarray
        With ``covariates``: the categories of each (None of numbers), and by which means and
        standard deviations the columns are standardized.
    """

    covariates: bool = shared("covariates")

    statistics: str | Sequence[str] = param(
        "four",
        [Words(*PRESETS, "none"), "array-like"],
        'What describes a bag: "four" is mean, std, min and max of every feature; "quantiles" is '
        "min, q10, q25, q50, q75, q90 and max of every feature, and the size of the bag; or a list "
        'of such names, as in `BagStatistics`. "none" leaves the covariates alone.',
        kind='{"four", "quantiles", "none"} or sequence of str',
    )
    scale: bool = param(
        True,
        ["boolean"],
        "Standardize the statistics on the training bags; sparse ones are divided only.",
    )
    estimator: Any = param(
        None,
        [HasMethods(["fit", "predict"]), None],
        "The model of rows, in place of the default one; any classifier, or for numbers any "
        "regressor, of scikit-learn.",
        kind="estimator",
    )

    def _default(self, rows: Any, weight: Array, seed: Any) -> Any:
        """Return the model that is used if none is given."""
        raise NotImplementedError

    def __bag_tags__(self) -> BagTags:
        """Nothing is said about what the model minimizes, and of how it takes weights."""
        return replace(
            OPAQUE,
            instance_scores="occlusion",
            weight_is_repetition=self.estimator is None,
            tolerance=1e-4,  # libsvm stops earlier than Newton
            whole_bag="standard" if self._is_without_instances else "collective",
        )

    def __sklearn_tags__(self) -> Any:
        """Take over whether the model accepts sparse rows."""
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags

    # Fitting -------------------------------------------------------------------------------------

    def _fit_rows(self, bags: Bags, labels: Array, weight: Array) -> None:
        learn_covariates(self, bags, weight)
        used = np.flatnonzero(weight)
        weight, rows = weight[used], append_covariates(self, self._rows(bags), bags)
        rows = rows if len(used) == len(bags) else rows[used]
        self.n_columns_, self.sparse_ = rows.shape[1], sp.issparse(rows)
        with self._name_overflow():
            if self.scale:
                self.scaler_ = StandardScaler(with_mean=not self.sparse_)
                self.scaler_.fit(rows, sample_weight=weight)
                spreads = np.sqrt(self.scaler_.var_)  # of equal values they are rounding noise
                self.scaler_.scale_[spreads <= TIE * spreads.max()] = 1.0
            rows, weights = self._for_model(rows), self._weights(weight)
            self.estimator_ = self._configure(rows, weight).fit(rows, labels[used], **weights)
        if "n_jobs" in self.estimator_.get_params(deep=False):
            self.estimator_.n_jobs = None  # threads would add up votes in any order

    def _configure(self, rows: Any, weight: Array) -> Any:
        """Return the model of rows with seeds for everything it draws."""
        seed = check_random_state(self.random_state)
        if self.estimator is None:
            return self._default(rows, weight, seed.randint(np.iinfo(np.int32).max))
        chosen = clone(self.estimator)
        open_seeds = [
            name
            for name, value in sorted(chosen.get_params().items())
            if value is None and name.split("__")[-1] == "random_state"
        ]
        seeds = seed.randint(np.iinfo(np.int32).max, size=len(open_seeds))
        return chosen.set_params(**{n: int(s) for n, s in zip(open_seeds, seeds, strict=True)})

    def _weights(self, weight: Array) -> dict[str, Array]:
        if self.estimator is None or has_fit_parameter(self.estimator, "sample_weight"):
            return {"sample_weight": weight}
        if np.ptp(weight) == 0:
            return {}
        raise ValueError(
            f"{type(self.estimator).__name__} takes no sample_weight: leave out sample_weight and "
            "class_weight, or choose another estimator."
        )

    @property
    def _is_without_instances(self) -> bool:
        return isinstance(self.statistics, str) and self.statistics == "none"

    def _rows(self, bags: Bags) -> Any:
        """Return one row of statistics per bag; the row of a bag depends on no other bag."""
        if self._is_without_instances:
            if not self.covariates:
                raise ValueError("statistics='none' describes no bag: set covariates=True.")
            return np.empty((len(bags), 0))
        names, shared = check_statistics(self.statistics), _shared.get()
        if shared is None:
            return statistics(bags, names)
        if (id(bags), names) not in shared:
            shared[id(bags), names] = bags, statistics(bags, names)  # bags stay, and their id
        return shared[id(bags), names][1]

    # Predicting ----------------------------------------------------------------------------------

    def _for_model(self, rows: Any) -> Any:
        if sp.issparse(rows) and not self.sparse_:
            rows = rows.toarray()
        if self.scale:
            rows = self.scaler_.transform(rows)
        return with_short_indices(rows) if sp.issparse(rows) else rows

    def _bag_scores(self, bags: Bags) -> Array:
        return self._row_scores(append_covariates(self, self._rows(bags), bags))

    def _scores_without_each(self, bags: Bags) -> Array:
        owners = expand(np.arange(len(bags)), bags.offsets)
        if self._is_without_instances:
            return self._bag_scores(bags)[owners]
        scores = np.empty((bags.n_instances, len(self.threshold_)))
        for rows, part in statistics_without_each(bags, check_statistics(self.statistics)):
            scores[rows] = self._row_scores(append_covariates(self, part, bags, owners[rows]))
        return scores

    def _row_scores(self, rows: Any) -> Array:
        """Score rows of statistics, one column per model."""
        with self._name_overflow():
            return self._score_rows(self._for_model(rows))

    def _score_rows(self, rows: Any) -> Array:
        raise NotImplementedError

    @contextmanager
    def _name_overflow(self) -> Iterator[None]:
        """Turn the model's error about statistics that overflow into one about the bags."""
        try:
            yield
        except ValueError as error:
            if not any(words in str(error) for words in ("Input X contains", "are not finite")):
                raise
            problem = f"The statistics of the bags are too large for {type(self).__name__}"
            raise ValueError(f"{problem}: scale the features.") from error


class StatisticsClassifier(StatisticsModel, BagClassifier):
    """Base of the classifiers on statistics of bags."""

    class_weight: Any = shared("class_weight")

    def __sklearn_tags__(self) -> Any:
        """Take over whether the classifier accepts several classes."""
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            of_rows = get_tags(self.estimator).classifier_tags
            tags.classifier_tags.multi_class = of_rows.multi_class
        return tags

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        truth = self._truth(codes)
        self._fit_rows(bags, truth[:, 0].astype(int) if truth.shape[1] == 1 else codes, weight)

    def _score_rows(self, rows: Any) -> Array:
        """Return decision values, or where there are none probabilities: of two, minus 1/2."""
        n_classes = len(self.classes_)
        if self._has_kernel_expansion(rows):
            return _kernel_expansion(self.estimator_, rows)
        if hasattr(self.estimator_, "decision_function"):
            return self.estimator_.decision_function(rows).reshape(rows.shape[0], -1)
        if hasattr(self.estimator_, "predict_proba"):
            shares = self.estimator_.predict_proba(rows)
        else:
            shares = np.eye(n_classes)[self.estimator_.predict(rows)]
        return shares if n_classes > 2 else shares[:, 1:] - 0.5

    def _has_kernel_expansion(self, rows: Any) -> bool:
        svm = self.estimator_
        known = isinstance(svm, SVC) and svm.kernel in ("linear", "rbf", "poly")
        return known and len(self.classes_) == 2 and not sp.issparse(rows) and not self.sparse_


def _kernel_expansion(svm: Any, rows: Array) -> Array:
    """Return decision values of two classes by matrix products, several times as fast as libsvm."""
    assert_all_finite(rows, input_name="X")
    if svm.kernel == "linear":
        return rows @ svm.coef_.T + svm.intercept_
    kernel = Kernel(svm.kernel, svm._gamma, svm.degree, svm.coef0)
    return kernel(rows, svm.support_vectors_) @ svm.dual_coef_.T + svm.intercept_


class Forest(StatisticsModel):
    """The parameters of forests on statistics of bags."""

    statistics: str | Sequence[str] = redeclare(StatisticsModel, "statistics", default="quantiles")
    scale: bool = redeclare(StatisticsModel, "scale", default=False)
    n_estimators: int = param(300, integer(), "Number of trees.")
    max_depth: int | None = param(
        None, [integer(), None], "Maximum depth of the trees; None grows them to pure leaves."
    )

    def _trees(self, seed: Any) -> dict[str, Any]:
        """Return the settings of the trees."""
        settings = {"max_depth": self.max_depth, "n_jobs": self.n_jobs, "random_state": seed}
        return {"n_estimators": self.n_estimators, **settings}


class StatisticsForest(Forest, StatisticsClassifier):
    """Extremely randomized trees on statistics of the bags.

    A bag's score is the share of trees for the positive class, minus 1/2.

    See Also
    --------
    StatisticsSVC : A SVM on the same rows.
    BagStatistics : The rows, for a pipeline.

    Examples
    --------
    >>> StatisticsForest(n_estimators=20).fit(bags, [1, 0, 1, 0]).predict(bags)
    array([1, 0, 1, 0])
    """

    def _default(self, rows: Any, weight: Array, seed: Any) -> Any:
        return ExtraTreesClassifier(**self._trees(seed))


class StatisticsForestRegressor(Forest, BagRegressor):
    """Extremely randomized trees on statistics of the bags, for numbers.

    Splits try a third of the statistics, and leaves have two bags or more.

    See Also
    --------
    StatisticsForest : The same for classes.

    Examples
    --------
    >>> model = StatisticsForestRegressor(n_estimators=20).fit(bags, [1.5, 0.1, 1.55, 0.2])
    >>> model.predict(bags).round(1)
    array([1.5, 0.2, 1.5, 0.2])
    """

    def __bag_tags__(self) -> BagTags:
        """Leaves count bags, whatever their weights."""
        return replace(super().__bag_tags__(), weight_is_repetition=False)

    def _default(self, rows: Any, weight: Array, seed: Any) -> Any:
        usual = {"max_features": 1 / 3, "min_samples_leaf": 2}
        return ExtraTreesRegressor(**(usual | self._trees(seed)))

    def _fit_labels(self, bags: Bags, y: Array, weight: Array) -> None:
        self._fit_rows(bags, y, weight)

    def _score_rows(self, rows: Any) -> Array:
        return self.estimator_.predict(rows).astype(np.float64)[:, None]


class StatisticsSVC(StatisticsClassifier):
    """SVM on statistics of the bags.

    See Also
    --------
    MeanSVC : The mean alone, with a certificate.
    BagKernelSVC : ``bag_kernel="statistics"`` compares minima and maxima.

    Examples
    --------
    >>> StatisticsSVC(C=10).fit(bags, [1, 0, 1, 0]).predict(bags)
    array([1, 0, 1, 0])
    """

    C: float = shared("C", doc="Weight of the hinge losses.")
    kernel: str = shared(
        "kernel",
        constraint=Words("linear", "rbf", "poly"),
        doc="Kernel between rows of statistics.",
    )
    gamma: float | str = shared("gamma")

    def _default(self, rows: Any, weight: Array, seed: Any) -> Any:
        gamma = settle_gamma(self.gamma, rows, weight, check_random_state(seed))
        limit = max(_MOST_STEPS, 100 * rows.shape[0])
        return SVC(C=self.C, kernel=self.kernel, gamma=gamma, tol=_SOLVED, max_iter=limit)


class StatisticsLogistic(StatisticsClassifier):
    """Logistic regression on statistics of the bags.

    See Also
    --------
    StatisticsSVC : A SVM on the same rows.

    Examples
    --------
    >>> StatisticsLogistic().fit(bags, [1, 0, 1, 0]).predict(bags)
    array([1, 0, 1, 0])
    """

    C: float = shared("C", doc="Weight of the logistic losses.")

    def _default(self, rows: Any, weight: Array, seed: Any) -> Any:
        return LogisticRegression(C=self.C, solver="newton-cg", tol=1e-2 * _SOLVED, max_iter=100)
