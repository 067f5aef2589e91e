"""Transformers of bags: scikit-learn's applied to instances, and statistics; pipelines of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin, clone
from sklearn.pipeline import _name_estimators
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, has_fit_parameter

from bagwise._documented import answers
from bagwise._removed import refuse_class
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.checks import check_finite
from bagwise.bags.ids import factorize
from bagwise.bags.segments import expand
from bagwise.bags.statistics import PRESETS, check_statistics, column_names, statistics
from bagwise.crossfit.sites import is_associated
from bagwise.errors import list_names
from bagwise.estimators.input import BagInput, check_weight
from bagwise.estimators.params import Words, param
from bagwise.estimators.pipeline import BagPipeline
from bagwise.models.intersection import IntersectionMap
from bagwise.rows.scaling import as_store, fit_scaler

__all__ = ["BagStatistics", "IntersectionMap", "PerInstance", "make_pipeline"]


_FEWEST_BAGS = 5  # of a site: with fewer, its mean says more about these bags than about it
_OF_LABELS = {
    "y": "One label per bag; a supervised transformer gets the bag's label for every instance.",
    "sample_weight": "One weight per bag, given to its instances, for transformers that take it.",
}
_OF_NAMES = (
    "array-like of str of shape (n_features_in_,)",
    "Names of the features; those seen in fit when None.",
)


def __getattr__(name: str) -> Any:
    """Say what replaces a removed name."""
    refuse_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _can(method: str) -> Callable[[PerInstance], bool]:
    def inner_has(lifted: PerInstance) -> bool:
        return hasattr(getattr(lifted, "transformer_", lifted.transformer), method)

    return inner_has


class PerInstance(TransformerMixin, BagInput, auto_wrap_output_keys=None):
    """Apply a scikit-learn transformer to the instances of bags.

    The transformer is fitted on the instances of all training bags, so large bags count more than
    small ones. ``transform`` returns `Bags` with new instances; bag ids, instance ids, groups and
    all other attributes stay.

    ``StandardScaler`` makes no copy of instances that are not in memory, those of a file or after
    ``bags.to(...)``: one reading gives its statistics, and whoever reads instances scales them.

    With ``by="site"``, a copy is fitted to the instances of each site of ``bags.sites``, such as a
    hospital, so that ``StandardScaler()`` removes what differs between hospitals in mean and
    spread. Statistics are stored: what is predicted for a bag never depends on the other bags that
    it comes with. A site that was not in fit needs `fit_site`, with a few bags of its own.

    Parameters
    ----------
    transformer : transformer
        Anything with ``fit`` and ``transform`` that returns one row per row: a scaler, an imputer,
        PCA, a kernel map, a `~sklearn.pipeline.Pipeline` of these. It gets plain arrays, so a
        ``ColumnTransformer`` must select its columns by number.
    by : "site" or None, default=None
        Whether each site has a copy of its own. Its output must have the same width at all sites.

    Attributes
    ----------
    transformer_ : transformer
        The fitted copy; with ``by="site"`` that of all instances, for the names of features.
    sites_ : list
        With ``by="site"``, the sites whose statistics are known.
    of_sites_ : list of PerInstance
        The transformers of these sites.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the bags have them.

    See Also
    --------
    BagStatistics : One row per bag instead of one row per instance.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bagwise import Bags, PerInstance, WitnessSVC
    >>> bags = Bags.from_list([[[0.0], [30.0]], [[1.0]], [[29.0], [2.0]], [[3.0], [1.0]]])
    >>> scaled = PerInstance(StandardScaler()).fit_transform(bags)
    >>> scaled, abs(scaled.X.mean().round(12))
    (Bags(4 bags, 7 instances, 1 features, 1-2 instances per bag, float64), np.float64(0.0))
    >>> model = make_pipeline(PerInstance(StandardScaler()), WitnessSVC())
    >>> model.fit(bags, [1, 0, 1, 0]).predict(bags)
    array([1, 0, 1, 0])
    """

    _accepts_nan: ClassVar[bool] = True  # the transformer may be an imputer
    sites_: list[Any]
    of_sites_: list[Any]
    transforms_each_instance: ClassVar[bool] = True  # whatever the rest of the bag
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "transformer": [HasMethods(["fit", "transform"])],
        "by": [StrOptions({"site"}), None],
    }

    def __init__(self, transformer, by=None):
        self.transformer = transformer
        self.by = by

    @property
    def _follows_rows(self) -> bool:  # type: ignore[override]
        scales = type(self.transformer) is StandardScaler and self.transformer.with_std
        return bool(scales and self.by is None)

    @answers("self", "The fitted transformer.", **_OF_LABELS)
    def fit(
        self, bags: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> PerInstance:
        """Fit the transformer on all instances."""
        bags, labels, weights = self._fit_arguments(bags, y, sample_weight)
        fresh = clone(self.transformer)
        if self._follows_rows and (rows := as_store(bags.X)) is not None:
            if not rows.is_here:
                check_finite(bags)
            self.transformer_ = fit_scaler(fresh, rows, *weights.values())
            return self
        self.transformer_ = fresh.fit(bags.X, labels, **weights)
        if self.by is not None:
            self._fit_sites(bags, y, sample_weight)
        return self

    @answers("self", "The transformer, which knows one more site.")
    def fit_site(self, bags: Any) -> PerInstance:
        """Learn the statistics of a new site from at least 5 bags, which need no labels."""
        bags = self._check_bags(bags)
        sites = factorize(self._need_sites(bags))[1].tolist()
        if self.by is None or len(sites) != 1 or len(bags) < _FEWEST_BAGS:
            found = f"{len(bags)} bags of the sites {list_names(map(str, sites))}"
            raise ValueError(
                f'fit_site is for by="site" and takes at least {_FEWEST_BAGS} bags of one new site,'
                f" got {found}."
            )
        if sites[0] in self.sites_:
            raise ValueError(f"The statistics of the site {sites[0]!r} are known already.")
        self.of_sites_ = [*self.of_sites_, PerInstance(self.transformer).fit(bags)]
        self.sites_ = [*self.sites_, sites[0]]
        return self

    @answers("Bags", "The same bags with new instances.", **_OF_LABELS)
    def fit_transform(
        self, bags: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Bags:
        """Fit the transformer on all instances and transform them."""
        if self._follows_rows or self.by is not None or not _can("fit_transform")(self):
            return self.fit(bags, y, sample_weight).transform(bags)
        bags, labels, weights = self._fit_arguments(bags, y, sample_weight)
        # Not fit and transform: cross-fitting encoders return something else here.
        self.transformer_ = clone(self.transformer)
        return self._lift(bags, self.transformer_.fit_transform(bags.X, labels, **weights))

    @answers(
        "Bags", "The same bags with new instances, sparse if the transformer returns sparse rows."
    )
    def transform(self, bags: Any) -> Bags:
        """Transform all instances."""
        bags = self._check_bags(bags)
        if self._follows_rows and (rows := as_store(bags.X)) is not None:
            return self._lift(bags, rows.standardize(self.transformer_))
        if self.by is None:
            return self._lift(bags, self.transformer_.transform(bags.X))
        return self._lift(bags, self._apply_by_site(bags, "transform"))

    @available_if(_can("inverse_transform"))
    @answers("Bags", "Bags with the original features.", bags=("Bags", "Transformed bags."))
    def inverse_transform(self, bags: Bags) -> Bags:
        """Undo the transform."""
        check_is_fitted(self)
        if self.by is None:
            rows = _plain_rows(self.transformer_.inverse_transform(bags.X), bags.n_instances)
        else:
            rows = self._apply_by_site(bags, "inverse_transform")
        return bags.replace(X=rows, feature_names=getattr(self, "feature_names_in_", None))

    @available_if(_can("get_feature_names_out"))
    @answers("ndarray of str", "The transformer's own names.", input_features=_OF_NAMES)
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the transformed features."""
        check_is_fitted(self)
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", None)
        return self.transformer_.get_feature_names_out(input_features)

    def _fit_arguments(self, bags: Any, y: Any, sample_weight: Any) -> tuple[Bags, Any, Any]:
        """Return checked bags, one label per instance (or None) and the weights as keywords."""
        self._validate_params()
        bags = self._validate_bags(bags, reset=True)
        if y is not None and len(np.asarray(y)) != len(bags):
            raise ValueError(f"y has {len(y)} labels, there are {len(bags)} bags.")
        labels = None if y is None else expand(np.asarray(y), bags.offsets)
        if sample_weight is None:
            return bags, labels, {}
        if not has_fit_parameter(self.transformer, "sample_weight"):
            raise ValueError(
                f"{type(self.transformer).__name__} takes no sample_weight: leave it out here."
            )
        weight = check_weight(bags, sample_weight)
        if not getattr(bags.X, "is_here", True):  # whoever reads them there takes no weights
            bags = bags.to("host")
        return bags, labels, {"sample_weight": expand(weight, bags.offsets)}

    def _need_sites(self, bags: Bags) -> Array:
        if bags.sites is None:
            raise ValueError('by="site" needs the sites of bags: bags.replace(sites=...).')
        return bags.sites

    def _fit_sites(self, bags: Bags, y: Any, sample_weight: Any) -> None:
        """Fit a copy to each site, and warn where sites tell the label."""
        codes, names = factorize(self._need_sites(bags))
        few = [str(names[k]) for k in np.flatnonzero(np.bincount(codes) < _FEWEST_BAGS)]
        if few:
            least = f"fewer than {_FEWEST_BAGS} bags: {list_names(few)}"
            raise ValueError(f"Statistics of a site are noise with {least}. Leave these sites out.")
        if y is not None and is_associated(bags, np.asarray(y)):
            warnings.warn(
                "Sites and labels are associated: what is removed with the site is in part the "
                "label. Compare with the model without it (bagwise.audit).",
                UserWarning,
                stacklevel=3,
            )
        self.sites_, self.of_sites_ = names.tolist(), []
        for k in range(len(names)):
            own = np.flatnonzero(codes == k)
            given = (None if v is None else np.asarray(v)[own] for v in (y, sample_weight))
            self.of_sites_.append(PerInstance(self.transformer).fit(bags[own], *given))

    def _apply_by_site(self, bags: Bags, method: str) -> Any:
        """Return the instances, each transformed by the copy of its site, in their order."""
        codes, names = factorize(self._need_sites(bags))
        new = [repr(name) for name in names.tolist() if name not in self.sites_]
        if new:
            remedy = f"call fit_site with at least {_FEWEST_BAGS} bags of each, without labels"
            raise ValueError(f"No statistics of the sites {list_names(new)} are known: {remedy}.")
        copies = (self.of_sites_[self.sites_.index(name)] for name in names.tolist())
        own = [np.flatnonzero(codes == k) for k in range(len(names))]
        parts = [getattr(copy, method)(bags[rows]) for copy, rows in zip(copies, own, strict=True)]
        return Bags.concat(parts)[np.argsort(np.concatenate(own))].X

    def _lift(self, bags: Bags, output: Any) -> Bags:
        names = None
        if bags.feature_names is not None and hasattr(self, "get_feature_names_out"):
            names = self.get_feature_names_out(bags.feature_names)
        return bags.replace(X=_plain_rows(output, bags.n_instances), feature_names=names)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.transformer)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.target_tags.required = inner.target_tags.required
        return tags


def _plain_rows(output: Any, n_instances: int) -> Any:
    """Return the output of a transformer as a matrix; data frames become arrays."""
    rows = output.to_numpy() if hasattr(output, "to_numpy") else output
    if rows.shape[0] != n_instances:
        raise ValueError(
            f"The transformer returned {rows.shape[0]} rows for {n_instances} instances; it must "
            "return one row per instance."
        )
    return rows


class _OfBag(TransformerMixin, BagInput):
    """A transformer that looks at each bag on its own, and learns nothing."""

    @answers("self", "The estimator.", y=("object", "Not used."))
    def fit(self, bags: Any, y: Any = None) -> Self:
        """Check the parameters and the bags."""
        self._validate_params()
        self._validate_bags(bags, reset=True)
        return self


class BagStatistics(_OfBag):
    """Describe every bag by statistics of its instances: one plain row per bag.

    Any scikit-learn classifier can follow in a pipeline. With ``statistics=("mean",)`` this is
    SimpleMI; with ``("min", "max")`` a linear or poly kernel on it is the statistic kernel of
    Gärtner, Flach, Kowalczyk & Smola (2002).

    Attributes
    ----------
    n_features_in_ : int
        Number of features of an instance.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the bags have them.

    See Also
    --------
    PerInstance : Applies a transformer to the instances of bags.

    Examples
    --------
    >>> from bagwise import Bags, BagStatistics
    >>> bags = Bags.from_list([[[0.0, 1.0], [4.0, 3.0]], [[5.0, 6.0]]])
    >>> BagStatistics(statistics=["mean", "size"]).fit_transform(bags)
    array([[2., 2., 2.],
           [5., 6., 1.]])
    """

    statistics: Sequence[str] = param(
        ("min", "max", "mean"),
        [Words(*PRESETS), "array-like"],
        'What to compute of every feature, in this order: "min", "max", "mean", "std", quantiles '
        'such as "q25"; "size" is one column, the number of instances. "four" is mean, std, min '
        'and max; "quantiles" is min, q10, q25, q50, q75, q90, max and size.',
        kind='{"four", "quantiles"} or sequence of str',
    )

    def _validate_params(self) -> None:
        super()._validate_params()
        check_statistics(self.statistics)

    @answers(
        "ndarray or csr_array of shape (n_bags, n_columns)",
        "The first statistic of all features, then the second, and so on; sparse if "
        "the instances are sparse.",
    )
    def transform(self, bags: Any) -> Any:
        """Compute the statistics."""
        bags = self._check_bags(bags)
        return statistics(bags, check_statistics(self.statistics))

    @answers("ndarray of str", "One name per column.", input_features=_OF_NAMES)
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the columns: "mean_f0" is the mean of feature "f0"."""
        check_is_fitted(self)
        features = _check_feature_names_in(self, input_features)
        return column_names(check_statistics(self.statistics), features)


def make_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> BagPipeline:
    """Build a pipeline that scores instances, as scikit-learn's ``make_pipeline`` builds others.

    Parameters
    ----------
    *steps : transformer or classifier
        Transformers, and a classifier at the end. Transformers of scikit-learn are applied to
        the instances (`PerInstance`); those that follow a transformer which makes one row per bag,
        such as `BagStatistics`, are applied to these rows.
    memory : str or object with the joblib.Memory interface, default=None
        Where fitted transformers are cached.
    verbose : bool, default=False
        Print the time of every step.

    Returns
    -------
    BagPipeline
        Not fitted.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bagwise import WitnessSVC, make_pipeline
    >>> bags = [[[0.0], [30.0]], [[1.0]], [[29.0], [2.0]], [[3.0], [1.0]]]
    >>> model = make_pipeline(StandardScaler(), WitnessSVC())
    >>> model.fit(bags, [1, 0, 1, 0]).key_instances(bags)
    array([1, 0, 0, 0])
    """
    names = (name for name, _ in _name_estimators(steps))
    named = list(zip(names, _lift_transformers(steps), strict=True))
    return BagPipeline(named, memory=memory, verbose=verbose)


def _lift_transformers(steps: Sequence[Any]) -> list[Any]:
    """Wrap transformers of rows in `PerInstance`, as long as the steps before them return bags."""
    lifted, of_bags = list[Any](), True
    for step in steps:
        is_last_model = len(lifted) == len(steps) - 1 and hasattr(step, "predict")
        of_rows = hasattr(step, "transform") and not isinstance(step, BagInput)
        lifted.append(PerInstance(step) if of_bags and of_rows and not is_last_model else step)
        of_bags &= of_rows or step in (None, "passthrough") or isinstance(step, PerInstance)
    return lifted
