"""The one list of estimators that the generic checks run over.

A new estimator inherits every check by one line here. What it cannot do is said by its own tags
(`bagwise.tags.BagTags`); a check that it must fail is named here with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bagwise.models import (
    DDSVM,
    EMDD,
    MICA,
    MILES,
    MISSVM,
    ODM,
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedProportionSVCCV,
    AnnealedWitnessSVC,
    BagEnsemble,
    BagKernelSVC,
    CitationKNN,
    DiverseDensity,
    GraphSVC,
    GraphSVCCV,
    InstanceSVC,
    KeyInstanceSVC,
    LabelSVC,
    MarkovNetworkClassifier,
    MeanSVC,
    MILBoost,
    OptimalMarginSVC,
    SemiProximalSVC,
    SparseMIL,
    WitnessSVC,
)

__all__ = ["estimators", "expected_failed_checks"]


@dataclass(frozen=True)
class Listed:
    """An estimator, whether scikit-learn's battery runs over it too, and what it must fail.

    One form of each class goes through scikit-learn's checks; further parameters of the same class
    (``sklearn=False``) go through ours only.
    """

    build: Callable[[], Any]
    sklearn: bool = True
    fails: dict[str, str] = field(default_factory=dict)  # check name -> reason


_RANDOM_DRAWS = {
    "check_order_of_bags": "which bags are drawn depends on their order",
    "check_sample_weight_equivalence_on_dense_data": "draws are random, whatever the weights",
    "check_sample_weight_equivalence_on_sparse_data": "draws are random, whatever the weights",
}

# Pools that grew in another order agree as far as the relaxation was solved; the calibrated
# threshold, their default, follows the folds.
_CLOSED = {"tol": 1e-8, "max_iter": 300, "threshold": 0.0}

_ONE_CV = "cv is the search's too: folds given by bag number cannot be nested"
_OWN_FOLDS = {
    "check_order_of_bags": "the folds follow the order of the bags",
    "check_calibrated_threshold": _ONE_CV,
    "check_inner_folds_keep_groups": _ONE_CV,
}

LISTED = [
    Listed(InstanceSVC),
    Listed(partial(InstanceSVC, vote="majority", kernel="linear"), sklearn=False),
    Listed(partial(InstanceSVC, loss="hinge"), sklearn=False),
    Listed(LabelSVC),
    Listed(partial(LabelSVC, kernel="linear", loss="hinge"), sklearn=False),
    Listed(WitnessSVC),
    Listed(partial(WitnessSVC, kernel="poly", coef0=1.0, start="instances"), sklearn=False),
    Listed(AnnealedLabelSVC),
    Listed(
        partial(AnnealedLabelSVC, kernel="linear", loss="hinge", start="labels", T0=0.1),
        sklearn=False,
    ),
    Listed(AnnealedProportionSVC),
    Listed(partial(AnnealedProportionSVC, 0.3, variance=False, kernel="linear"), sklearn=False),
    Listed(AnnealedWitnessSVC),
    Listed(partial(AnnealedWitnessSVC, 2, newton_steps=1), sklearn=False),
    Listed(
        partial(AnnealedProportionSVCCV, [1.0], [1.0], [0.3, 0.7], cv=2),
        fails={
            **_OWN_FOLDS,
            "check_weight_two_is_the_bag_twice": "a bag that is there twice falls into two folds",
        },
    ),
    Listed(MICA),
    Listed(partial(MICA, kernel="linear", loss="hinge"), sklearn=False),
    Listed(partial(MICA, "l1", kernel="linear"), sklearn=False),
    Listed(partial(MICA, "l1", loss="hinge"), sklearn=False),
    Listed(ODM),
    Listed(partial(OptimalMarginSVC, **_CLOSED)),
    Listed(
        partial(OptimalMarginSVC, k=2, relax=False, kernel="linear", threshold=0.0), sklearn=False
    ),
    Listed(partial(KeyInstanceSVC, refine=True, **_CLOSED)),
    Listed(partial(KeyInstanceSVC, "bags", kernel="linear", **_CLOSED), sklearn=False),
    Listed(SemiProximalSVC),
    Listed(partial(SemiProximalSVC, kernel="rbf"), sklearn=False),
    Listed(GraphSVC),
    Listed(partial(GraphSVC, negatives="instances", fit_intercept=False), sklearn=False),
    Listed(
        partial(GraphSVCCV, Cs=[10.0, 100.0], mus=[0.0], cv=2),
        fails=_OWN_FOLDS,
    ),
    Listed(BagKernelSVC),
    *(
        Listed(partial(BagKernelSVC, kernel), sklearn=False)
        for kernel in ("sum", "max", "statistics", "migraph", "hausdorff")
    ),
    Listed(partial(BagKernelSVC, normalize=True, instance_kernel="linear"), sklearn=False),
    Listed(MeanSVC),
    Listed(partial(MeanSVC, kernel="linear"), sklearn=False),
    Listed(MILES),
    Listed(
        MarkovNetworkClassifier,
        fails={
            "check_attributes": "at tol=0.01, the default, the gap is one percent",
            "check_order_of_instances": "at tol=0.01 rounding decides where a descent stops",
        },
    ),
    Listed(partial(MarkovNetworkClassifier, "ratio", tol=1e-5), sklearn=False),
    Listed(
        partial(DiverseDensity, n_starts=2),
        fails={
            "check_class_weight_classifiers": "of three classes each has its own concept and "
            "scales: a weight moves a concept, not the comparison of distances"
        },
    ),
    Listed(partial(DiverseDensity, "most_likely_cause", n_starts=2), sklearn=False),
    Listed(partial(EMDD, n_starts=2)),
    Listed(CitationKNN),
    Listed(partial(CitationKNN, 3, 3, distance="average"), sklearn=False),
    Listed(SparseMIL),
    Listed(partial(SparseMIL, "transductive", kernel="linear"), sklearn=False),
    Listed(partial(SparseMIL, "balanced"), sklearn=False),
    Listed(MISSVM),
    Listed(partial(MISSVM, 0.5, kernel="linear"), sklearn=False),
    Listed(partial(DDSVM, n_starts=2)),
    Listed(partial(MILBoost, 4)),
    Listed(partial(BagEnsemble, n_estimators=3), fails=_RANDOM_DRAWS),
]


def estimators(*, sklearn: bool = False) -> list[Any]:
    """Return one fresh instance of every listed estimator.

    Parameters
    ----------
    sklearn : bool, default=False
        Only those that scikit-learn's ``check_estimator`` runs over: one a class.

    Returns
    -------
    list of BagClassifier
        Not fitted.

    Examples
    --------
    >>> from bagwise.testing import estimators
    >>> estimators(sklearn=True)[0]
    InstanceSVC()
    """
    return [listed.build() for listed in LISTED if listed.sklearn or not sklearn]


def expected_failed_checks(estimator: Any) -> dict[str, str]:
    """Name the checks, scikit-learn's or ours, that an estimator is known to fail.

    Parameters
    ----------
    estimator : BagClassifier
        A listed estimator.

    Returns
    -------
    dict of str to str
        Check names and reasons; pass it on to ``check_estimator`` or `check_bag_estimator`.

    Examples
    --------
    >>> from bagwise import LabelSVC
    >>> from bagwise.testing import expected_failed_checks
    >>> expected_failed_checks(LabelSVC())
    {}
    """
    told = repr(estimator)
    return next((listed.fails for listed in LISTED if repr(listed.build()) == told), {})
