"""Covariates: features of the bag itself, such as age and stage, beside what its instances say."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.ids import name_of
from bagwise.estimators.params import param
from bagwise.estimators.scoring import BagScores


def check_covariates(bags: Bags, asked: str, n_expected: int | None = None) -> Array:
    """Return the bag features; they must be there, finite, and as many as in the fit.

    ``asked`` is the parameter that asks for them.
    """
    if bags.bag_features is None:
        raise ValueError(
            f"{asked} asks for features on the bags, and these have none: pass "
            "Bags(..., bag_features=...), or leave it out."
        )
    given = np.asarray(bags.bag_features, dtype=np.float64).reshape(len(bags), -1)
    if n_expected is not None and given.shape[1] != n_expected:
        raise ValueError(
            f"The bags have {given.shape[1]} bag features, those of fit had {n_expected}."
        )
    bad = np.argwhere(~np.isfinite(given))
    if len(bad):
        i, j = bad[0]
        raise ValueError(f"{name_of(bags.ids, i)} has {given[i, j]} as bag feature {j}: impute it.")
    return given


class CovariateRows(BagScores):
    """What models that make a row of a bag share: covariates beside it.

    Attributes
    ----------
    covariate_center_, covariate_scale_ : ndarray of shape (n_bag_features,)
        With ``covariates``: means and standard deviations, by which they are standardized.
    """

    covariates: bool = param(
        False,
        ["boolean"],
        "Append ``bags.bag_features``, such as age and stage, standardized, to the row of a bag.",
    )

    def _learn_covariates(self, bags: Bags, weight: Array) -> None:
        if self.covariates:
            values = check_covariates(bags[np.flatnonzero(weight)], "covariates=True")
            self.covariate_center_ = np.average(values, axis=0, weights=weight[weight > 0])
            squares = (values - self.covariate_center_) ** 2
            spread = np.sqrt(np.average(squares, axis=0, weights=weight[weight > 0]))
            self.covariate_scale_ = np.where(spread > 0, spread, 1.0)

    def _append_covariates(self, rows: Any, bags: Bags, of: Any = slice(None)) -> Any:
        """Return rows with the covariates of their bags; ``of`` are the bags of the rows."""
        if not self.covariates:
            return rows
        values = check_covariates(bags, "covariates=True", len(self.covariate_center_))
        values = ((values - self.covariate_center_) / self.covariate_scale_)[of]
        if sp.issparse(rows):
            return sp.hstack([rows, sp.csr_array(values)], format="csr")
        return np.hstack([rows, values])
