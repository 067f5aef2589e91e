"""`BagInput`: what classifiers and transformers of bags share, checked bags of the fitted width."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from bagwise.bags import Bags, check_bags
from bagwise.bags.checks import warn_of_single_instances
from bagwise.bags.forms import is_plain_table
from bagwise.estimators.params import Parameters


def _name_learned(estimator: Any) -> list[str]:
    """Name what an estimator has learned: the attributes whose names end in an underscore."""
    return [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]


class BagInput(Parameters):
    """What classifiers and transformers of bags share: checked bags of the fitted width."""

    _accepts_nan: ClassVar[bool] = False
    _follows_rows: ClassVar[bool] = False  # whether it works where the rows are

    def _unfitted(self) -> Self:
        return type(self)(**self.get_params(deep=False))

    def _become(self, other: BagInput) -> Self:
        """Replace everything learned so far by what ``other`` has learned."""
        for name in _name_learned(self):
            delattr(self, name)
        for name in _name_learned(other):
            setattr(self, name, getattr(other, name))
        return self

    def _checked(self, bags: Any) -> Bags:
        check_is_fitted(self)
        return self._validate_bags(bags, reset=False)

    def _validate_bags(self, bags: Any, reset: bool) -> Bags:
        """Return checked bags and compare their width (and names) with those seen in fit."""
        if isinstance(bags, Bags) and not self._follows_rows:
            bags = bags.to("host")
        if not isinstance(bags, Bags) and is_plain_table(bags):
            X = validate_data(
                self,
                bags,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32, np.float16],
                ensure_all_finite=False,
            )
            warn_of_single_instances(X.shape[0])
            bags = Bags(X, np.arange(X.shape[0] + 1))
            return check_bags(bags, finite=not self._accepts_nan)
        bags = check_bags(bags, finite=not self._accepts_nan)
        if reset:
            self.n_features_in_ = bags.n_features
            if hasattr(self, "feature_names_in_"):  # of an earlier fit
                delattr(self, "feature_names_in_")
            if bags.feature_names is not None:
                self.feature_names_in_ = bags.feature_names
        elif bags.n_features != self.n_features_in_:
            raise ValueError(
                f"The bags have {bags.n_features} features, but {type(self).__name__} was fitted "
                f"with {self.n_features_in_} features as input."
            )
        else:
            self._check_names(bags)
        return bags

    def _check_names(self, bags: Bags) -> None:
        names = getattr(self, "feature_names_in_", None)
        if names is None or bags.feature_names is None:
            return
        wrong = np.flatnonzero(names != bags.feature_names)
        if len(wrong):
            i = wrong[0]
            raise ValueError(
                f"Feature {i} is called {bags.feature_names[i]!r} here and was {names[i]!r} in "
                "fit: bring the columns in the same order."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
