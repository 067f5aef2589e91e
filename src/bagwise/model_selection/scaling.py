"""How features are scaled before a model: a choice that matters as much as the model.

- "raw": as they are.
- "standard": zero mean and unit variance (sparse instances keep their zeros, and their means).
- "robust": by median and interquartile range, for features with outliers.
- "quantile": each feature becomes normally distributed, for features of very different shapes.

"auto" is a rule: standardize where the spreads of features (from the 5th to the 95th percentile,
columns of rounding noise aside) differ by more than a factor of 100, unless 30 % of the values or
more are zero, which counts and indicators have. "search" tries all on the inner folds of a search.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import QuantileTransformer, RobustScaler, StandardScaler

from bagwise.bags import Bags
from bagwise.errors import suggestion
from bagwise.estimators.pipeline import BagPipeline
from bagwise.kernels.instance import MEDIAN_SAMPLE
from bagwise.preprocessing import PerInstance
from bagwise.tolerances import TIE

SCALES = ("raw", "standard", "robust", "quantile")
WORDS = (*SCALES, "auto", "search")
_FAR_APART = 100.0  # ratio of spreads: right on eleven tasks, where it gained 6 to 11 points thrice
_MANY_ZEROS = 0.3  # of the values: standardizing text cost up to 13 points
IMPUTES = ("median", "mean", "most_frequent", "zero")


def scalings(
    bags: Bags, scale: str | None, *, impute: str | None = None
) -> dict[str, PerInstance | None]:
    """Return transformers of bags by the name of the scaling; None stands for no scaling.

    "search" means all scalings that suit the bags, None means "raw". ``impute`` says what takes the
    place of missing values, before the scaling. Sparse instances are only left raw or standardized:
    the others would fill them.
    """
    scale, dense = settle_scale(bags, scale), not sp.issparse(bags.X)
    if not dense and scale in ("robust", "quantile"):
        raise ValueError(f"scale={scale!r} would fill sparse instances: use 'raw' or 'standard'.")
    # scikit-learn's own number; fewer where a fold has fewer instances.
    n_quantiles = min(QuantileTransformer().n_quantiles, bags.n_instances // 2 + 1)
    normal = {"output_distribution": "normal", "n_quantiles": n_quantiles}
    transformers = {
        "raw": None,
        "standard": StandardScaler(with_mean=dense),
        "robust": RobustScaler(with_centering=dense),
        "quantile": QuantileTransformer(random_state=0, **normal),
    }
    imputer = _imputer(impute)
    wanted = [scale] if scale != "search" else SCALES if dense else ("raw", "standard")
    return {name: _lift(imputer, transformers[name]) for name in wanted}


def settle_scale(bags: Bags, scale: str | None) -> str:
    """Return the scaling that "auto" stands for, "raw" for None, and any other name as it is."""
    if scale is not None and scale not in WORDS:
        raise ValueError(f"There is no scale {scale!r}. {suggestion(scale, WORDS)}")
    if scale == "auto":
        return "standard" if _differ_in_spread(bags) else "raw"
    return scale or "raw"


def _differ_in_spread(bags: Bags) -> bool:
    """Return whether features differ so much in their spreads that some would be lost."""
    rows = bags.X[:: -(-bags.n_instances // MEDIAN_SAMPLE)]
    X = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
    X = X[:, ~np.isnan(X).all(axis=0)]
    if not X.size or np.mean(X == 0) >= _MANY_ZEROS:
        return False
    low, high = np.nanpercentile(X, [5, 95], axis=0)
    spreads, size = high - low, np.nanmax(np.abs(X), axis=0)
    varying = spreads[spreads > TIE * np.maximum(size, spreads.max())]
    return len(varying) > 0 and varying.max() > _FAR_APART * varying.min()


def _imputer(impute: str | None) -> Any:
    if impute is None:
        return None
    if impute not in IMPUTES:
        raise ValueError(f"There is no imputation {impute!r}. {suggestion(impute, IMPUTES)}")
    zero: dict[str, Any] = {"strategy": "constant", "fill_value": 0.0}
    how = zero if impute == "zero" else {"strategy": impute}
    # A feature without any value becomes 0 instead of a missing column.
    return SimpleImputer(keep_empty_features=True, **how)


def _lift(imputer: Any, scaler: Any) -> PerInstance | None:
    if imputer is None or scaler is None:
        alone = scaler if imputer is None else imputer
        return None if alone is None else PerInstance(alone)
    return PerInstance(Pipeline([("impute", clone(imputer)), ("scale", scaler)]))


def with_scaler(classifier: Any, scaler: PerInstance | None) -> Any:
    """Return a pipeline of the scaler and the classifier; the classifier where there is none."""
    if scaler is None:
        return classifier
    return BagPipeline([("scale", scaler), ("classify", classifier)])
