"""How features are scaled before a model: a choice that matters as much as the model.

- "raw": as they are.
- "standard": zero mean and unit variance (sparse instances keep their zeros, and their means).
- "robust": by median and interquartile range, for features with outliers.
- "quantile": each feature becomes normally distributed, for features of very different shapes.

"auto" tries them on the inner folds of a search.
"""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import QuantileTransformer, RobustScaler, StandardScaler

from bagwise.bags import Bags
from bagwise.errors import suggestion
from bagwise.estimators.pipeline import BagPipeline
from bagwise.preprocessing import PerInstance

SCALES = ("raw", "standard", "robust", "quantile")
IMPUTES = ("median", "mean", "most_frequent", "zero")


def scalings(
    bags: Bags, scale: str | None = "auto", *, impute: str | None = None
) -> dict[str, PerInstance | None]:
    """Return transformers of bags by the name of the scaling; None stands for no scaling.

    "auto" means all scalings that suit the bags, None means "raw". ``impute`` says what takes the
    place of missing values, before the scaling. Sparse instances are only left raw or standardized:
    the others would fill them.
    """
    if scale is not None and scale not in (*SCALES, "auto"):
        raise ValueError(f"There is no scale {scale!r}. {suggestion(scale, (*SCALES, 'auto'))}")
    dense = not sp.issparse(bags.X)
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
    known = {name: _lift(imputer, scaler) for name, scaler in transformers.items()}
    if scale == "auto":
        return known if dense else {name: known[name] for name in ("raw", "standard")}
    if not dense and scale in ("robust", "quantile"):
        raise ValueError(f"scale={scale!r} would fill sparse instances: use 'raw' or 'standard'.")
    return {scale or "raw": known[scale or "raw"]}


def _imputer(impute: str | None) -> Any:
    if impute is None:
        return None
    if impute not in IMPUTES:
        raise ValueError(f"There is no imputation {impute!r}. {suggestion(impute, IMPUTES)}")
    how: dict[str, Any] = {"strategy": impute}
    if impute == "zero":
        how = {"strategy": "constant", "fill_value": 0.0}
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
